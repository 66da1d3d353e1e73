"""What turns have alike as nodes: setups and requests of their calls.

The column comes without a value, its key is checked after it is made and the index is made beside readers and writers.
"""

from importlib import import_module

from django.db import migrations, models

import dashboard.turns.shared_values

nodes = import_module("dashboard.turns.migrations.0015_nodes")


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("turns", "0015_nodes")]
    operations = [
        migrations.SeparateDatabaseAndState(
            [nodes.refers("turns_turn", "shared_id"), nodes.found("turns_turn", "shared_id")],
            [
                migrations.AddField("turn", "shared", nodes.key("+")),
                migrations.AddIndex(
                    "turn",
                    models.Index(fields=["shared"], condition=models.Q(shared__isnull=False), name="turns_turn_shared"),
                ),
            ],
        ),
        migrations.SeparateDatabaseAndState(
            [],  # what a column may hold is told apart by who reads it
            [
                migrations.AlterField("turn", "setup", dashboard.turns.shared_values.BeginningField(default=dict)),
                migrations.AlterField("record", "event", dashboard.turns.shared_values.BeginningField()),
                migrations.AlterField("attempt", "request", dashboard.turns.shared_values.RequestField()),
            ],
        ),
    ]
