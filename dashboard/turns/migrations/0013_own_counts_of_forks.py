"""The rows of forks count what the fork used itself, without what its parent had used before it.

Forks from before this rule have no `inherited` in their base snapshot: it is what the base had spent, less the call that
was pending there, which the fork makes itself. A fork that has it already is left as it is.
"""

from django.db import migrations

PENDING = ("request", "request_continuation", "request_tool_repair", "request_envelope_retry")
COUNTED = {
    "continuation": "continuations",
    "resume": "continuations",
    "tool_repair": "tool_repairs",
    "envelope_retry": "envelope_retries",
}
COLUMNS = ("input_tokens", "output_tokens", "attempts", "continuations", "tool_repairs", "envelope_retries")

OWN = f"""
WITH fork AS (
    SELECT id, base_snapshot AS base, base_snapshot -> 'spent' AS spent,
           base_snapshot ->> 'state' IN ({", ".join(f"'{state}'" for state in PENDING)}) AS pending,
           CASE base_snapshot -> 'call' ->> 'kind'
                {" ".join(f"WHEN '{kind}' THEN '{column}'" for kind, column in COUNTED.items())} END AS kind
      FROM turns_turn
     WHERE jsonb_typeof(base_snapshot -> 'spent') = 'object'
       AND coalesce(base_snapshot -> 'inherited', 'null') = 'null'),
begun AS (
    SELECT id, base, CASE WHEN NOT pending THEN spent
           ELSE spent || jsonb_build_object('attempts', (spent ->> 'attempts')::int - 1)
                || CASE WHEN kind IS NULL THEN '{{}}'::jsonb
                   ELSE jsonb_build_object(kind, (spent ->> kind)::int - 1) END END AS inherited
      FROM fork)
UPDATE turns_turn turn
   SET base_snapshot = jsonb_set(begun.base, '{{inherited}}', begun.inherited),
       {", ".join(f"{name} = greatest(0, turn.{name} - (begun.inherited ->> '{name}')::int)" for name in COLUMNS)}
  FROM begun
 WHERE turn.id = begun.id
"""  # noqa: S608 - made of the names above alone


class Migration(migrations.Migration):
    dependencies = [("turns", "0012_harmless_words")]
    operations = [migrations.RunSQL(OWN, migrations.RunSQL.noop)]
