"""Which limit ended a turn: a column, and with the terminal reason a facet of the timeline.

Cohorts are told apart by both from now on. Most stay as they are, for turns that are alike in all other facets mostly
ended alike: a cohort takes the terminal reason of most of its turns, and only the others of them are written again, as
are the turns that a limit ended. The text index is left as it was.

All but a moment of it goes on beside readers and writers: what most turns of a cohort ended for is counted first; then
columns, cohorts and trigger change in one short transaction; then turns are written in ranges of ids, each by itself. It
can be ended at any point and begun again.
"""

from django.db import migrations, models, transaction

COHORT = """
CREATE OR REPLACE FUNCTION whystop_cohort() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    digest uuid := md5(jsonb_build_array(
        NEW.project_id, NEW.stop_reason, NEW.model_stop_reason, NEW.status, NEW.provider, NEW.model, NEW.agent_name,
        NEW.error_type, NEW.continuations > 0, NEW.tool_repairs > 0, NEW.envelope_retries > 0,
        NEW.terminal_reason, NEW.resource)::text)::uuid;
BEGIN
    SELECT cohort.id INTO NEW.cohort FROM turns_cohort cohort WHERE cohort.key = digest;
    IF NEW.cohort IS NULL THEN
        INSERT INTO turns_cohort (project_id, stop_reason, model_stop_reason, status, provider, model, agent_name,
                                  error_type, continuation, repair, envelope_retry, terminal_reason, resource, key)
        VALUES (NEW.project_id, NEW.stop_reason, NEW.model_stop_reason, NEW.status, NEW.provider, NEW.model,
                NEW.agent_name, NEW.error_type, NEW.continuations > 0, NEW.tool_repairs > 0, NEW.envelope_retries > 0,
                NEW.terminal_reason, NEW.resource, digest)
        ON CONFLICT (key) DO NOTHING;
        SELECT cohort.id INTO STRICT NEW.cohort FROM turns_cohort cohort WHERE cohort.key = digest;
    END IF;
    RETURN NEW;
END
$$;
"""
COHORT_BEFORE = """
CREATE OR REPLACE FUNCTION whystop_cohort() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    digest uuid := md5(jsonb_build_array(
        NEW.project_id, NEW.stop_reason, NEW.model_stop_reason, NEW.status, NEW.provider, NEW.model, NEW.agent_name,
        NEW.error_type, NEW.continuations > 0, NEW.tool_repairs > 0, NEW.envelope_retries > 0)::text)::uuid;
BEGIN
    SELECT cohort.id INTO NEW.cohort FROM turns_cohort cohort WHERE cohort.key = digest;
    IF NEW.cohort IS NULL THEN
        INSERT INTO turns_cohort (project_id, stop_reason, model_stop_reason, status, provider, model, agent_name,
                                  error_type, continuation, repair, envelope_retry, key)
        VALUES (NEW.project_id, NEW.stop_reason, NEW.model_stop_reason, NEW.status, NEW.provider, NEW.model,
                NEW.agent_name, NEW.error_type, NEW.continuations > 0, NEW.tool_repairs > 0, NEW.envelope_retries > 0,
                digest)
        ON CONFLICT (key) DO NOTHING;
        SELECT cohort.id INTO STRICT NEW.cohort FROM turns_cohort cohort WHERE cohort.key = digest;
    END IF;
    RETURN NEW;
END
$$;
"""
#: Going back, every turn goes to a cohort of the coarser kind; those of the finer kind are left by all, and go.
REGROUP = """
SET CONSTRAINTS ALL IMMEDIATE;
UPDATE turns_turn SET cohort = NULL;
DELETE FROM turns_cohort cohort WHERE NOT EXISTS (SELECT FROM turns_turn turn WHERE turn.cohort = cohort.id)
"""

RANGE = 10_000  #: turns that are looked at by one statement
#: Where the range after an id ends; nothing where it is the last.
BOUND = "SELECT id FROM turns_turn WHERE id > %s ORDER BY id OFFSET %s LIMIT 1"
FIRST = "00000000-0000-0000-0000-000000000000"
LAST = "ffffffff-ffff-ffff-ffff-ffffffffffff"

#: One by one, for Django would not add a column that an attempt before this one has added.
COLUMNS = """
ALTER TABLE turns_turn ADD COLUMN IF NOT EXISTS resource text NULL;
ALTER TABLE turns_cohort ADD COLUMN IF NOT EXISTS terminal_reason text NULL;
ALTER TABLE turns_cohort ADD COLUMN IF NOT EXISTS resource text NULL;
"""
COLUMNS_BEFORE = """
ALTER TABLE turns_cohort DROP COLUMN resource;
ALTER TABLE turns_cohort DROP COLUMN terminal_reason;
ALTER TABLE turns_turn DROP COLUMN resource;
"""
#: The terminal reason of most turns of each cohort.
MOST = """
SELECT DISTINCT ON (cohort) cohort, terminal_reason
  FROM (SELECT cohort, terminal_reason, count(*) AS turns FROM turns_turn GROUP BY 1, 2) counted
 WHERE cohort IS NOT NULL ORDER BY cohort, turns DESC
"""
#: A cohort's terminal reason is that of most of its turns; no resource is known yet. Of cohorts that were made since they
#: were counted, few turns are; and one whose key has its new form is left as it is.
SETTLE = """
UPDATE turns_cohort cohort SET terminal_reason = most.terminal_reason, key = md5(jsonb_build_array(
        cohort.project_id, cohort.stop_reason, cohort.model_stop_reason, cohort.status, cohort.provider, cohort.model,
        cohort.agent_name, cohort.error_type, cohort.continuation, cohort.repair, cohort.envelope_retry,
        most.terminal_reason, NULL::text)::text)::uuid
  FROM (SELECT * FROM unnest(%(cohorts)s::int[], %(reasons)s::text[])
        UNION ALL
        SELECT made.id, own.terminal_reason FROM turns_cohort made CROSS JOIN LATERAL (
               SELECT turn.terminal_reason FROM turns_turn turn WHERE turn.cohort = made.id
                GROUP BY 1 ORDER BY count(*) DESC LIMIT 1) own
         WHERE made.id <> ALL(%(cohorts)s::int[])) most (id, terminal_reason)
 WHERE most.id = cohort.id AND cohort.key = md5(jsonb_build_array(
        cohort.project_id, cohort.stop_reason, cohort.model_stop_reason, cohort.status, cohort.provider, cohort.model,
        cohort.agent_name, cohort.error_type, cohort.continuation, cohort.repair, cohort.envelope_retry)::text)::uuid
"""
#: Those that ended otherwise; the trigger finds their cohort.
MOVE = """
UPDATE turns_turn turn SET cohort = NULL FROM turns_cohort cohort
 WHERE turn.id > %(low)s AND turn.id <= %(high)s
   AND cohort.id = turn.cohort AND cohort.terminal_reason IS DISTINCT FROM turn.terminal_reason
"""
#: What `agentcore.resource` says, of the last judgement of each turn that a limit may have ended.
BACKFILL = """
UPDATE turns_turn turn SET resource = found.resource FROM (
    SELECT ended.id, CASE said.criterion
        WHEN 'StepsLimit' THEN 'max_steps'
        WHEN 'TokenUsageLimit' THEN 'max_total_tokens'
        WHEN 'ExecutionTimeLimit' THEN 'max_seconds'
        WHEN 'ErrorPolicyCriterion' THEN CASE WHEN ended.stop_reason = 'retry_limit' THEN 'max_retries' END
        WHEN 'EnvelopeCriterion' THEN CASE
            WHEN said.reason = format('%%s of %%s envelope retries used', said.context->>'used', said.context->>'limit')
            THEN 'schema_rounds'
            WHEN said.context->>'fault' = 'truncation'
             AND ended.model_stop_reason IS DISTINCT FROM 'context_window_exceeded' THEN 'max_output_tokens' END
        WHEN 'TruncationCriterion' THEN CASE
            WHEN ended.terminal_reason = 'tool_repair_failed' THEN 'max_tool_repair_attempts'
            WHEN said.context->>'bound' = 'retry_limit' THEN 'max_continuations'
            WHEN said.context->>'bound' = 'output_cap' THEN 'max_total_output_chars'
            WHEN said.context->>'bound' <> 'budget_exhausted' THEN NULL
            WHEN (said.context->>'tokensLimit')::bigint - (said.context->>'tokensUsed')::bigint
                 < greatest(1, coalesce((ended.setup->>'output_floor')::bigint, 1)) THEN 'max_total_completion_tokens'
            ELSE 'max_total_tokens' END
        END AS resource
      FROM turns_turn ended
     CROSS JOIN LATERAL (SELECT outcome.resolved_by, outcome.evaluations FROM turns_outcome outcome
                          WHERE outcome.turn_id = ended.id ORDER BY outcome.seq DESC, outcome.position DESC LIMIT 1) last
     CROSS JOIN LATERAL (SELECT evaluation->>'criterion' AS criterion, evaluation->>'reason' AS reason,
                                evaluation->>'decision' AS decision, evaluation->'context' AS context
                           FROM jsonb_array_elements(last.evaluations) evaluation
                          WHERE evaluation->>'criterion' = last.resolved_by LIMIT 1) said
     WHERE ended.id > %(low)s AND ended.id <= %(high)s AND said.decision = 'forbid' AND ended.terminal_reason IN (
        'retry_limit', 'budget_exhausted', 'output_cap', 'repetition', 'tool_repair_failed', 'forbidden',
        'provider_error', 'envelope_invalid', 'envelope_truncation_unrecoverable')
) found WHERE found.id = turn.id AND found.resource IS NOT NULL AND found.resource IS DISTINCT FROM turn.resource
"""


def settle(_apps, schema_editor) -> None:
    """What readers and writers wait for: a moment."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(MOST)
        most = cursor.fetchall()
    cohorts, reasons = [cohort for cohort, _ in most], [reason for _, reason in most]
    with transaction.atomic(schema_editor.connection.alias), schema_editor.connection.cursor() as cursor:
        cursor.execute(COLUMNS)
        cursor.execute(SETTLE, {"cohorts": cohorts, "reasons": reasons})
        cursor.execute(COHORT)


def unsettle(_apps, schema_editor) -> None:
    with transaction.atomic(schema_editor.connection.alias), schema_editor.connection.cursor() as cursor:
        for statement in (COHORT_BEFORE, REGROUP, COLUMNS_BEFORE):
            cursor.execute(statement)


def write(_apps, schema_editor) -> None:
    """Range by range; what is written already is not written again."""
    with schema_editor.connection.cursor() as cursor:
        for statement in (MOVE, BACKFILL):
            for low, high in ranges(cursor):
                cursor.execute(statement, {"low": low, "high": high})


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
    dependencies = [("turns", "0006_policy_sources")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(settle, unsettle)],
            state_operations=[
                migrations.AddField("turn", "resource", models.TextField(null=True)),
                migrations.AddField("cohort", "terminal_reason", models.TextField(null=True)),
                migrations.AddField("cohort", "resource", models.TextField(null=True)),
            ],
        ),
        migrations.RunPython(write, migrations.RunPython.noop),
    ]
