"""Suggestions that were told are rows, so that a re-run tests them also where another process is asked for it."""

import django.db.models.deletion
from django.db import migrations, models

import dashboard.platform.fields
import dashboard.platform.ids

#: The database itself sees to it that they go with their turn, whoever deletes the turn.
GO_WITH = """
ALTER TABLE suggesting_toldsuggestion ADD CONSTRAINT suggesting_told_of_turn
    FOREIGN KEY (turn_id) REFERENCES turns_turn (id) ON DELETE CASCADE
"""


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("agents", "0014_project_changes"),
        ("turns", "0032_permission_names"),
    ]

    operations = [
        migrations.CreateModel(
            name="ToldSuggestion",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=dashboard.platform.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("limit", models.TextField()),
                ("value", models.FloatField()),
                ("basis", models.TextField()),
                ("said", dashboard.platform.fields.ExactJSONField()),
                ("told_at", models.DateTimeField()),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="agents.project",
                    ),
                ),
                (
                    "turn",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="turns.turn",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["told_at"], name="suggesting_told_at")],
                "constraints": [
                    models.UniqueConstraint(fields=("turn", "limit", "value", "basis"), name="suggesting_told_once")
                ],
            },
        ),
        migrations.RunSQL(GO_WITH, "ALTER TABLE suggesting_toldsuggestion DROP CONSTRAINT suggesting_told_of_turn"),
    ]
