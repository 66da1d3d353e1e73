"""Policies, and who said what in them, as nodes. What a column may hold is told apart by who reads it, so no row is
written anew."""

from django.db import migrations

import dashboard.turns.shared_values


class Migration(migrations.Migration):
    dependencies = [("turns", "0023_texts_once")]
    operations = [
        migrations.SeparateDatabaseAndState(
            [],
            [
                migrations.AlterField("turn", "policy", dashboard.turns.shared_values.RulesField(default=dict)),
                migrations.AlterField("turn", "policy_sources", dashboard.turns.shared_values.RulesField(null=True)),
            ],
        )
    ]
