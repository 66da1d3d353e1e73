"""The suggested limit that a re-run tries is stored with its prediction, and compared.

Readers and writers wait a moment for the columns; the index is made beside them. It can be ended at any point and begun
again. Webhooks and the metrics board are told of a suggestion that failed as of any other prediction.
"""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

import dashboard.platform.fields

REASONS = ["provider_failed", "provider_differs", "defect", "assumption"]
COLUMNS = """
ALTER TABLE predictions_prediction ADD COLUMN IF NOT EXISTS suggested jsonb NULL,
    ADD COLUMN IF NOT EXISTS suggested_came_true boolean NULL,
    ADD COLUMN IF NOT EXISTS suggested_reason text DEFAULT '' NOT NULL;
"""
COLUMNS_BEFORE = """
ALTER TABLE predictions_prediction DROP COLUMN IF EXISTS suggested, DROP COLUMN IF EXISTS suggested_came_true,
    DROP COLUMN IF EXISTS suggested_reason;
"""
_STANDS = """
DROP TRIGGER IF EXISTS refuse_update ON predictions_prediction;
CREATE TRIGGER refuse_update BEFORE UPDATE ON predictions_prediction FOR EACH ROW WHEN (
    to_jsonb(OLD) - ARRAY[{of_turn}] <> to_jsonb(NEW) - ARRAY[{of_turn}]
    OR (OLD.compared_at IS NOT NULL AND to_jsonb(OLD) - ARRAY[{of_check}] <> to_jsonb(NEW) - ARRAY[{of_check}])
    OR (OLD.reason <> '' AND NEW.reason <> OLD.reason){more}
) EXECUTE FUNCTION whystop_refuse_change('predictions_prediction');
"""
_OF_CHECK = "'created_by_id', 'calibration_id', 'reason'"
_OF_TURN = f"{_OF_CHECK}, 'compared_at', 'not_compared', 'came_true', 'actual', 'differences'"
STANDS_BEFORE = _STANDS.format(of_turn=_OF_TURN, of_check=_OF_CHECK, more="")
STANDS = _STANDS.format(
    of_turn=f"{_OF_TURN}, 'suggested_reason', 'suggested_came_true'",
    of_check=f"{_OF_CHECK}, 'suggested_reason'",
    more=" OR (OLD.suggested_reason <> '' AND NEW.suggested_reason <> OLD.suggested_reason)",
)
_NOTES = """
DROP TRIGGER IF EXISTS note_prediction ON predictions_prediction;
CREATE TRIGGER note_prediction AFTER UPDATE ON predictions_prediction FOR EACH ROW
    WHEN ((NEW.came_true IS FALSE AND OLD.came_true IS DISTINCT FROM NEW.came_true){noted})
    EXECUTE FUNCTION whystop_note_prediction();
DROP TRIGGER IF EXISTS count_prediction ON predictions_prediction;
CREATE TRIGGER count_prediction AFTER UPDATE ON predictions_prediction FOR EACH ROW
    WHEN (OLD.came_true IS DISTINCT FROM NEW.came_true{counted}) EXECUTE FUNCTION whystop_count_prediction();
"""
NOTES_BEFORE = _NOTES.format(noted="", counted="")
_CHANGED = "OLD.suggested_came_true IS DISTINCT FROM NEW.suggested_came_true"
NOTES = _NOTES.format(noted=f" OR (NEW.suggested_came_true IS FALSE AND {_CHANGED})", counted=f" OR {_CHANGED}")
#: What an attempt before this one may have left unfinished.
LEFT = "DROP INDEX CONCURRENTLY IF EXISTS predictions_suggested;"


class Migration(migrations.Migration):
    atomic = False
    dependencies = [
        ("predictions", "0002_unanswered"),
        ("webhooks", "0001_initial"),
        ("timeline", "0003_changed_minutes"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(COLUMNS, COLUMNS_BEFORE)],
            state_operations=[
                migrations.AddField("prediction", "suggested", dashboard.platform.fields.ExactJSONField(null=True)),
                migrations.AddField("prediction", "suggested_came_true", models.BooleanField(null=True)),
                migrations.AddField(
                    "prediction",
                    "suggested_reason",
                    models.TextField(
                        blank=True,
                        choices=[(word, word.replace("_", " ").title()) for word in REASONS],
                        default="",
                        db_default="",
                    ),
                ),
            ],
        ),
        migrations.RunSQL(STANDS, STANDS_BEFORE),
        migrations.RunSQL(NOTES, NOTES_BEFORE),
        migrations.RunSQL(LEFT, migrations.RunSQL.noop),
        AddIndexConcurrently(
            "prediction",
            models.Index(
                fields=["project", "model"],
                condition=models.Q(suggested__isnull=False),
                name="predictions_suggested",
            ),
        ),
    ]
