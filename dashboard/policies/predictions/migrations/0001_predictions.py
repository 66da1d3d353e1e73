"""Predictions, and the runs of `calibrate` that made some of them.

What was predicted stands: the database refuses to have it changed. What came of it is written once, and the reason of a
failure once it can be told.
"""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import dashboard.platform.fields
import dashboard.platform.ids

STANDS = """
CREATE TRIGGER refuse_update BEFORE UPDATE ON predictions_prediction FOR EACH ROW WHEN (
    to_jsonb(OLD) - ARRAY['created_by_id', 'calibration_id', 'compared_at', 'not_compared', 'came_true', 'actual',
                          'differences', 'reason']
        <> to_jsonb(NEW) - ARRAY['created_by_id', 'calibration_id', 'compared_at', 'not_compared', 'came_true',
                                 'actual', 'differences', 'reason']
    OR (OLD.compared_at IS NOT NULL AND to_jsonb(OLD) - ARRAY['created_by_id', 'calibration_id', 'reason']
        <> to_jsonb(NEW) - ARRAY['created_by_id', 'calibration_id', 'reason'])
    OR (OLD.reason <> '' AND NEW.reason <> OLD.reason)
) EXECUTE FUNCTION whystop_refuse_change('predictions_prediction')
"""
GO_WITH = """
ALTER TABLE predictions_prediction
    ADD CONSTRAINT predictions_of_parent FOREIGN KEY (parent_id) REFERENCES turns_turn (id)
        ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    ADD CONSTRAINT predictions_of_child FOREIGN KEY (child_id) REFERENCES turns_turn (id)
        ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    ADD CONSTRAINT predictions_check_of FOREIGN KEY (checks_id) REFERENCES predictions_prediction (id)
        ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
"""
STAYS = """
ALTER TABLE predictions_prediction DROP CONSTRAINT predictions_of_parent, DROP CONSTRAINT predictions_of_child,
    DROP CONSTRAINT predictions_check_of
"""


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("agents", "0011_version_backtest"),
        ("turns", "0010_acted"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Calibration",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=dashboard.platform.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("key", models.TextField()),
                ("trials", dashboard.platform.fields.ExactJSONField(default=list)),
                ("skipped", dashboard.platform.fields.ExactJSONField(default=dict)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("finished_at", models.DateTimeField(null=True)),
                ("project", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to="agents.project")),
            ],
        ),
        migrations.CreateModel(
            name="Prediction",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=dashboard.platform.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "kind",
                    models.TextField(
                        choices=[
                            ("rerun", "Rerun"),
                            ("shadow", "Shadow"),
                            ("continued", "Continued"),
                            ("calibration", "Calibration"),
                            ("check", "Check"),
                        ]
                    ),
                ),
                ("provider", models.TextField()),
                ("model", models.TextField()),
                ("connection", models.TextField()),
                ("from_record", models.PositiveIntegerField(null=True)),
                ("overrides", dashboard.platform.fields.ExactJSONField(default=dict)),
                (
                    "certainty",
                    models.TextField(
                        choices=[
                            ("recorded", "recorded"),
                            ("certain", "certain"),
                            ("estimated", "estimated"),
                            ("undecidable", "undecidable"),
                        ]
                    ),
                ),
                ("assumes", dashboard.platform.fields.ExactJSONField(default=list)),
                ("endings", dashboard.platform.fields.ExactJSONField(default=list)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("compared_at", models.DateTimeField(null=True)),
                (
                    "not_compared",
                    models.TextField(
                        blank=True,
                        choices=[
                            ("cancelled", "Cancelled"),
                            ("interrupted", "Interrupted"),
                            ("operator", "Operator"),
                            ("nothing_predicted", "Nothing Predicted"),
                        ],
                        default="",
                    ),
                ),
                ("came_true", models.BooleanField(null=True)),
                ("actual", dashboard.platform.fields.ExactJSONField(null=True)),
                ("differences", dashboard.platform.fields.ExactJSONField(default=list)),
                (
                    "reason",
                    models.TextField(
                        blank=True,
                        choices=[
                            ("provider_failed", "Provider Failed"),
                            ("provider_differs", "Provider Differs"),
                            ("defect", "Defect"),
                            ("assumption", "Assumption"),
                        ],
                        default="",
                    ),
                ),
                ("place", models.PositiveIntegerField(null=True)),
                (
                    "calibration",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="predictions",
                        to="predictions.calibration",
                    ),
                ),
                (
                    "checks",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="checked_by",
                        to="predictions.prediction",
                    ),
                ),
                (
                    "child",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="prediction",
                        to="turns.turn",
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "parent",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="turns.turn",
                    ),
                ),
                ("project", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to="agents.project")),
            ],
        ),
        migrations.AddConstraint(
            model_name="calibration",
            constraint=models.UniqueConstraint(
                condition=models.Q(("finished_at", None)),
                fields=("project", "key"),
                name="predictions_calibration_one_unfinished",
            ),
        ),
        migrations.AddIndex(
            model_name="prediction",
            index=models.Index(fields=["project", "model", "certainty"], name="predictions_model"),
        ),
        migrations.AddIndex(
            model_name="prediction",
            index=models.Index(condition=models.Q(("compared_at", None)), fields=["child"], name="predictions_open"),
        ),
        migrations.AddIndex(
            model_name="prediction",
            index=models.Index(
                condition=models.Q(("came_true", False)), fields=["project", "-id"], name="predictions_failed"
            ),
        ),
        migrations.AddConstraint(
            model_name="prediction",
            constraint=models.UniqueConstraint(fields=("calibration", "place"), name="predictions_one_of_a_trial"),
        ),
        # The database itself sees to it that a prediction goes with its turns, whoever deletes them.
        migrations.RunSQL(GO_WITH, STAYS),
        migrations.RunSQL(STANDS, "DROP TRIGGER refuse_update ON predictions_prediction"),
    ]
