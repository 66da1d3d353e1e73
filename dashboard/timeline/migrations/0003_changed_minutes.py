"""Minutes whose turns changed, noted for the metrics board when their changes are folded, by whichever version folds.

A turn that has ended may still change what is summed of it (its trace comes in pieces), as may what came of a
prediction: that is told as a change of no turns.
"""

import django.db.models.deletion
from django.db import migrations, models

NOTES = """
CREATE FUNCTION whystop_note_minutes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO timeline_changedminute (project_id, minute) SELECT DISTINCT project_id, minute FROM folded
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;
CREATE FUNCTION whystop_count_again() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO timeline_change (project_id, minute, cohort, count)
    VALUES (NEW.project_id, whystop_minute(NEW.id), NEW.cohort, 0);
    RETURN NULL;
END
$$;
CREATE FUNCTION whystop_count_prediction() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO timeline_change (project_id, minute, cohort, count)
    SELECT project_id, whystop_minute(id), cohort, 0 FROM turns_turn WHERE id = NEW.child_id AND cohort IS NOT NULL;
    RETURN NULL;
END
$$;
CREATE TRIGGER note_minutes AFTER DELETE ON timeline_change REFERENCING OLD TABLE AS folded
    FOR EACH STATEMENT EXECUTE FUNCTION whystop_note_minutes();
CREATE TRIGGER count_again AFTER UPDATE ON turns_turn FOR EACH ROW
    WHEN (NEW.status NOT IN ('queued', 'running', 'held') AND OLD.cohort = NEW.cohort AND OLD.id = NEW.id
      AND (OLD.input_tokens, OLD.output_tokens, OLD.continuations, OLD.duration_ms, OLD.lint)
          IS DISTINCT FROM (NEW.input_tokens, NEW.output_tokens, NEW.continuations, NEW.duration_ms, NEW.lint))
    EXECUTE FUNCTION whystop_count_again();
CREATE TRIGGER count_prediction AFTER UPDATE ON predictions_prediction FOR EACH ROW
    WHEN (OLD.came_true IS DISTINCT FROM NEW.came_true) EXECUTE FUNCTION whystop_count_prediction();
INSERT INTO timeline_changedminute (project_id, minute) SELECT project_id, start FROM timeline_rollup WHERE seconds = 60
    GROUP BY 1, 2;
"""
DROP_NOTES = """
DROP TRIGGER count_prediction ON predictions_prediction;
DROP TRIGGER count_again ON turns_turn;
DROP TRIGGER note_minutes ON timeline_change;
DROP FUNCTION whystop_count_prediction();
DROP FUNCTION whystop_count_again();
DROP FUNCTION whystop_note_minutes();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("predictions", "0001_predictions"),
        ("turns", "0027_answers_with_attempts"),
        ("agents", "0012_connection_probe"),
        ("timeline", "0002_kind_raw"),
    ]

    operations = [
        migrations.CreateModel(
            name="ChangedMinute",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "project_id", "minute", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("minute", models.DateTimeField(db_index=True)),
                (
                    "project",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="agents.project",
                    ),
                ),
            ],
        ),
        migrations.RunSQL(NOTES, DROP_NOTES),
    ]
