"""Which limit ended a turn: a column, and with the terminal reason a facet of the timeline.

Cohorts are told apart by both from now on. Most stay as they are, for turns that are alike in all other facets mostly
ended alike: a cohort takes the terminal reason of most of its turns, and only the others of them are written again, as
are the turns that a limit ended. The text index is left as it was.
"""

from django.db import migrations, models

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

#: A cohort's terminal reason is that of most of its turns; no resource is known yet.
SETTLE = """
UPDATE turns_cohort cohort SET terminal_reason = most.terminal_reason, key = md5(jsonb_build_array(
        cohort.project_id, cohort.stop_reason, cohort.model_stop_reason, cohort.status, cohort.provider, cohort.model,
        cohort.agent_name, cohort.error_type, cohort.continuation, cohort.repair, cohort.envelope_retry,
        most.terminal_reason, NULL::text)::text)::uuid
  FROM (SELECT DISTINCT ON (cohort) cohort, terminal_reason
          FROM (SELECT cohort, terminal_reason, count(*) AS turns FROM turns_turn GROUP BY 1, 2) counted
         ORDER BY cohort, turns DESC) most
 WHERE most.cohort = cohort.id
"""
#: Those that ended otherwise; the trigger finds their cohort.
MOVE = """
SET CONSTRAINTS ALL IMMEDIATE;
UPDATE turns_turn turn SET cohort = NULL FROM turns_cohort cohort
 WHERE cohort.id = turn.cohort AND cohort.terminal_reason IS DISTINCT FROM turn.terminal_reason
"""
#: What `agentcore.resource` says, of the last judgement of each turn that a limit may have ended.
BACKFILL = """
SET CONSTRAINTS ALL IMMEDIATE;
UPDATE turns_turn turn SET resource = found.resource FROM (
    SELECT ended.id, CASE said.criterion
        WHEN 'StepsLimit' THEN 'max_steps'
        WHEN 'TokenUsageLimit' THEN 'max_total_tokens'
        WHEN 'ExecutionTimeLimit' THEN 'max_seconds'
        WHEN 'ErrorPolicyCriterion' THEN CASE WHEN ended.stop_reason = 'retry_limit' THEN 'max_retries' END
        WHEN 'EnvelopeCriterion' THEN CASE
            WHEN said.reason = format('%s of %s envelope retries used', said.context->>'used', said.context->>'limit')
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
     WHERE said.decision = 'forbid' AND ended.terminal_reason IN (
        'retry_limit', 'budget_exhausted', 'output_cap', 'repetition', 'tool_repair_failed', 'forbidden',
        'provider_error', 'envelope_invalid', 'envelope_truncation_unrecoverable')
) found WHERE found.id = turn.id AND found.resource IS NOT NULL
"""


class Migration(migrations.Migration):
    dependencies = [("turns", "0006_policy_sources")]

    operations = [
        migrations.AddField("turn", "resource", models.TextField(null=True)),
        migrations.AddField("cohort", "terminal_reason", models.TextField(null=True)),
        migrations.AddField("cohort", "resource", models.TextField(null=True)),
        migrations.RunSQL(migrations.RunSQL.noop, REGROUP),
        migrations.RunSQL(COHORT, COHORT_BEFORE),
        migrations.RunSQL(SETTLE, migrations.RunSQL.noop),
        migrations.RunSQL(MOVE, migrations.RunSQL.noop),
        migrations.RunSQL(BACKFILL, migrations.RunSQL.noop),
    ]
