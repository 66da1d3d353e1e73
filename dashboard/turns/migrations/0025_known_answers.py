"""What SQL reads answers of criteria by, however the row of a judgement holds them (`dashboard.turns.known_answers`).

What a column may hold is told apart by who reads it, so no row is written anew. The lines are those of
`known_answers.txt` when this was written. One that was added later is made known by a later migration in the same way.
"""

from pathlib import Path

from django.db import migrations

import dashboard.turns.known_answers

LINES = 82


def function(lines: int) -> str:
    """Its definition with the first so many lines of the file."""
    known = Path(dashboard.turns.known_answers.__file__).with_suffix(".txt").read_text(encoding="ascii").splitlines()
    listed = ",\n".join("'{}'".format(line.replace("'", "''")) for line in known[:lines])
    return f"""
CREATE OR REPLACE FUNCTION whystop_answer(held jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $body$
    SELECT CASE WHEN jsonb_typeof(held) <> 'string' THEN held ELSE format((ARRAY[
{listed}
    ])[split_part(held #>> '{{}}', ' ', 1)::integer], VARIADIC (string_to_array(held #>> '{{}}', ' '))[2:])::jsonb END
$body$
"""  # noqa: S608 - made of lines of ours


class Migration(migrations.Migration):
    dependencies = [("turns", "0024_rules_shared")]
    operations = [
        migrations.RunSQL(function(LINES), "DROP FUNCTION whystop_answer(jsonb)"),
        migrations.SeparateDatabaseAndState(
            [],
            [migrations.AlterField("outcome", "evaluations", dashboard.turns.known_answers.AnswersField(default=list))],
        ),
    ]
