"""Stored verdicts lose the number that was not certain: "With max_tokens ≥ N it would have taken one call" was said
after hints, failed calls and estimates too (design §3.9).

It stays where every continuation was a prefill (of a dialect of which each model takes one), the provider counted all
tokens, no call failed or was repaired, and the answer ended by itself. Turns are read in the order of their ids, so it
can be ended at any point and begun again.
"""

from uuid import UUID

from django.db import migrations

AT_ONCE = 5_000  #: turns that are looked at by one statement
SAID = r" (With|One call would have needed) max_tokens ≥ .*$"
UNSAY = """
WITH looked AS (SELECT id FROM turns_turn WHERE id > %(after)s ORDER BY id LIMIT %(most)s),
     unsaid AS (
        UPDATE turns_turn turn SET verdict = regexp_replace(verdict, %(said)s, '')
          FROM looked
         WHERE turn.id = looked.id AND verdict LIKE 'Completed after %%' AND verdict ~ %(said)s
           AND NOT (setup -> 'setup' -> 'extra' -> 'prefill' IS NOT DISTINCT FROM 'true'::jsonb
                    AND provider NOT IN ('anthropic', 'bedrock', 'cohere', 'openai_responses')
                    AND NOT tokens_estimated AND attempts = continuations + 1 AND error_type IS NULL
                    AND lint = '[]'::jsonb
                    AND coalesce(model_stop_reason, '') IN ('end_turn', 'tool_call')))
SELECT id FROM looked ORDER BY id DESC LIMIT 1
"""


def unsay(_apps, schema_editor) -> None:
    last = UUID(int=0)
    with schema_editor.connection.cursor() as cursor:
        while True:
            cursor.execute(UNSAY, {"after": last, "most": AT_ONCE, "said": SAID})
            if (row := cursor.fetchone()) is None:
                return
            (last,) = row


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("turns", "0010_acted")]
    operations = [migrations.RunPython(unsay, migrations.RunPython.noop)]
