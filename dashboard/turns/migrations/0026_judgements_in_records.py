"""Judgements stand in the rows of their records, and a view tells them one by one.

What is here already is carried over in ranges of turns, each a transaction by itself, beside readers and writers; the
view tells both forms, so nothing is missing meanwhile. It can be ended at any point and begun again. The table stays
for processes of the version before, which write to it until they are ended.
"""

from django.db import migrations, models, transaction

import dashboard.platform.fields
import dashboard.turns.known_answers

COLUMN = "ALTER TABLE turns_record ADD COLUMN IF NOT EXISTS judged jsonb NULL"
VALUES = "seq, position, state, decision, resolved_by, stop_reason, error_type, handling, evaluations"
VIEW = f"""
CREATE OR REPLACE VIEW turns_judgement AS
SELECT record.turn_id, (said ->> 0)::integer AS seq, (said ->> 1)::integer AS position, said ->> 2 AS state,
       said ->> 3 AS decision, said ->> 4 AS resolved_by, said ->> 5 AS stop_reason, said ->> 6 AS error_type,
       said ->> 7 AS handling, said -> 8 AS evaluations
  FROM turns_record record CROSS JOIN LATERAL jsonb_array_elements(
       CASE WHEN jsonb_typeof(record.judged) = 'array' THEN record.judged END) held (said)
 UNION ALL SELECT turn_id, {VALUES} FROM turns_outcome
"""  # noqa: S608 - made of constants
#: The function as it is, and as it lets this migration alone change a row.
REFUSE = """
CREATE OR REPLACE FUNCTION whystop_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN{more}
    IF TG_OP = 'DELETE' AND current_setting('whystop.erasing', true) = 'on' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION '% is append-only: % was refused', TG_ARGV[0], TG_OP
        USING ERRCODE = 'restrict_violation', HINT = 'History is only added to; a turn is erased by the service for it.';
END
$$
"""
CARRYING = """
    IF TG_OP = 'UPDATE' AND current_setting('whystop.carrying', true) = 'on' THEN
        RETURN NEW;
    END IF;"""

RANGE = 20_000  #: judgements that are carried over by one statement, about
#: Where the range after an id ends; nothing where it is the last.
BOUND = "SELECT turn_id FROM turns_outcome WHERE turn_id > %s ORDER BY turn_id OFFSET %s LIMIT 1"
FIRST = "00000000-0000-0000-0000-000000000000"
LAST = "ffffffff-ffff-ffff-ffff-ffffffffffff"
ALLOWED = "SET LOCAL whystop.erasing = 'on'; SET LOCAL whystop.carrying = 'on'"
CARRY = f"""
WITH taken AS (
    DELETE FROM turns_outcome outcome USING turns_record record
     WHERE outcome.turn_id > %(low)s AND outcome.turn_id <= %(high)s
       AND record.turn_id > %(low)s AND record.turn_id <= %(high)s
       AND record.turn_id = outcome.turn_id AND record.seq = outcome.seq RETURNING outcome.*),
told AS (
    SELECT turn_id, seq, jsonb_agg(jsonb_build_array({VALUES}) ORDER BY position) AS judged
      FROM taken GROUP BY turn_id, seq)
UPDATE turns_record record SET judged = told.judged FROM told
 WHERE record.turn_id > %(low)s AND record.turn_id <= %(high)s
   AND record.turn_id = told.turn_id AND record.seq = told.seq
"""  # noqa: S608 - made of constants
BACK = f"""
INSERT INTO turns_outcome (turn_id, {VALUES})
SELECT turn_id, {VALUES} FROM turns_judgement ON CONFLICT DO NOTHING
"""  # noqa: S608 - made of constants


def carry_over(_apps, schema_editor) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(REFUSE.replace("{more}", CARRYING))
        for low, high in ranges(cursor):
            with transaction.atomic(schema_editor.connection.alias):
                cursor.execute(ALLOWED)
                cursor.execute(CARRY, {"low": low, "high": high})
        cursor.execute(REFUSE.replace("{more}", ""))


def carry_back(_apps, schema_editor) -> None:
    with transaction.atomic(schema_editor.connection.alias), schema_editor.connection.cursor() as cursor:
        cursor.execute(BACK)
        cursor.execute("DROP VIEW turns_judgement; ALTER TABLE turns_record DROP COLUMN judged")


def ranges(cursor):
    """`(low, high)`: ids above the first, up to the second."""
    low = FIRST
    while low != LAST:
        cursor.execute(BOUND, [low, RANGE - 1])
        (high,) = cursor.fetchone() or (LAST,)
        yield low, high
        low = high


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("turns", "0025_known_answers")]
    operations = [
        migrations.SeparateDatabaseAndState(
            [
                migrations.RunSQL(f"{COLUMN}; {VIEW}", migrations.RunSQL.noop),
                migrations.RunPython(carry_over, carry_back),
            ],
            [
                migrations.AddField("record", "judged", dashboard.platform.fields.ExactJSONField(null=True)),
                migrations.RenameModel("Outcome", "StrayOutcome"),
                migrations.AlterModelTable("strayoutcome", "turns_outcome"),
                migrations.CreateModel(
                    name="Outcome",
                    fields=[
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "turn_id", "seq", "position", blank=True, editable=False, primary_key=True
                            ),
                        ),
                        ("turn_id", models.UUIDField()),
                        ("seq", models.PositiveIntegerField()),
                        ("position", models.PositiveIntegerField()),
                        ("state", models.TextField()),
                        ("decision", models.TextField()),
                        ("resolved_by", models.TextField()),
                        ("stop_reason", models.TextField()),
                        ("error_type", models.TextField(null=True)),
                        ("handling", models.TextField(null=True)),
                        ("evaluations", dashboard.turns.known_answers.AnswersField(default=list)),
                    ],
                    options={
                        "db_table": "turns_judgement",
                        "managed": False,
                        "ordering": ["turn_id", "seq", "position"],
                    },
                ),
            ],
        ),
    ]
