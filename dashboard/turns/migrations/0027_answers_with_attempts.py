"""Answers that are kept whole stand in the rows of their attempts, and a view tells them with those kept in pieces.

Columns come without a value, and pieces that are here already stay as they are: the view tells both.
"""

from django.db import migrations, models

import dashboard.platform.fields
import dashboard.turns.record_compression

COLUMNS = """
ALTER TABLE turns_attempt ADD COLUMN IF NOT EXISTS raw bytea NULL, ADD COLUMN IF NOT EXISTS raw_text text NULL,
                          ADD COLUMN IF NOT EXISTS raw_at timestamptz NULL
"""
VIEW = """
CREATE OR REPLACE VIEW turns_piece AS
SELECT turn_id, index AS attempt, 1 AS n, raw, raw_text AS text, raw_at AS at FROM turns_attempt WHERE raw IS NOT NULL
 UNION ALL SELECT turn_id, attempt, n, raw, text, at FROM turns_attemptchunk
"""
#: An attempt that has ended may lose its raw answer, where the transaction says that it erases.
ENDED = """
DROP TRIGGER IF EXISTS refuse_change_once_ended ON turns_attempt;
CREATE TRIGGER refuse_change_once_ended BEFORE UPDATE ON turns_attempt FOR EACH ROW WHEN (
    OLD.duration_ms IS NOT NULL {but})
    EXECUTE FUNCTION whystop_refuse_change('An attempt that has ended');
"""
BUT = "AND (NEW.raw IS NOT NULL OR current_setting('whystop.erasing', true) IS DISTINCT FROM 'on')"
BACK = """
INSERT INTO turns_attemptchunk (turn_id, attempt, n, raw, text, at)
SELECT turn_id, index, 1, raw, raw_text, raw_at FROM turns_attempt WHERE raw IS NOT NULL;
DROP VIEW turns_piece;
ALTER TABLE turns_attempt DROP COLUMN raw, DROP COLUMN raw_text, DROP COLUMN raw_at;
"""
IN_ATTEMPT = (
    "SELECT coalesce(call.text, (SELECT turn.output_text FROM turns_turn turn WHERE turn.id = call.turn_id)) "
    "FROM turns_attempt call WHERE call.turn_id = {row}.turn_id AND call.index = {row}.attempt"
)


class Migration(migrations.Migration):
    dependencies = [("turns", "0026_judgements_in_records")]
    operations = [
        migrations.SeparateDatabaseAndState(
            [
                migrations.RunSQL(f"{COLUMNS}; {VIEW}", BACK),
                migrations.RunSQL(ENDED.replace("{but}", BUT), ENDED.replace("{but}", "")),
            ],
            [
                migrations.AddField("attempt", "raw", models.BinaryField(null=True)),
                migrations.AddField("attempt", "raw_text", models.TextField(null=True)),
                migrations.AddField("attempt", "raw_at", models.DateTimeField(null=True)),
                migrations.CreateModel(
                    name="Piece",
                    fields=[
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "turn_id", "attempt", "n", blank=True, editable=False, primary_key=True
                            ),
                        ),
                        ("turn_id", models.UUIDField()),
                        ("attempt", models.PositiveIntegerField()),
                        ("n", models.PositiveIntegerField()),
                        ("raw", dashboard.turns.record_compression.RawField()),
                        (
                            "text",
                            dashboard.platform.fields.KeptOnceField(
                                blank=True, default="", elsewhere=IN_ATTEMPT, null=True
                            ),
                        ),
                        ("at", models.DateTimeField()),
                    ],
                    options={
                        "db_table": "turns_piece",
                        "managed": False,
                        "ordering": ["turn_id", "attempt", "n"],
                    },
                ),
            ],
        ),
    ]
