-- The views of `whystop`, for analysts (docs/how-to/sql.md). What follows `--` after a column is its comment in the database.
-- Names and meanings stay; what they are read from may change.

-- view turns: One user input until the final answer: one row a turn.
SELECT turn.id, -- Id; ids sort by the time the turn was made.
       coalesce(turn.run_id, turn.id) AS run_id, -- The run it is of: the id of the run's first turn.
       turn.follows, -- The turn whose answer its conversation goes on from; null: it begins a run.
       turn.parent_id, -- The turn that it is a re-run or a fork of.
       turn.conversation_id, -- The conversation with an agent that it is of.
       project.name AS project, -- Name of the project.
       turn.agent_name AS agent, -- Name of the agent; of a gateway call without one, of the model asked for.
       turn.provider, -- The dialect of the API that was asked.
       turn.model, -- Name of the model.
       turn.status, -- Where it stands: queued, running, held, completed, partial, aborted, failed, cancelled, interrupted.
       turn.stop_reason, -- Why the agent stopped; null while it has not.
       turn.model_stop_reason, -- Why the model stopped, normalized.
       turn.raw_stop_reason, -- The provider's own word for it.
       turn.terminal_reason, -- Why it ended, finer than why the agent stopped.
       turn.resource, -- The limit that ended it.
       turn.error_type, -- Type of its last failure, also where it got over it.
       turn.error_code, -- Code of the error that ended it.
       turn.error_message, -- Message of that error.
       turn.verdict, -- Why it stopped, in a sentence, by its recording alone. The limit that other turns or re-runs show is `suggestion` in the API: it is computed, not stored.
       turn.input_text, -- What was asked, as lists show it.
       turn.output_text, -- The answer, as far as it came.
       turn.input_tokens, -- Input tokens of all its calls.
       turn.output_tokens, -- Output tokens of all its calls, reasoning included.
       turn.tokens, -- Both together.
       turn.tokens_estimated, -- Whether some of these were not counted by the provider, and are estimates.
       turn.max_tokens, -- Output tokens that its first call was allowed; null: no limit was sent.
       turn.attempts, -- Calls of the model.
       turn.continuations, -- Calls that continued a cut answer.
       turn.tool_repairs, -- Calls that repaired a broken tool call.
       turn.envelope_retries, -- Calls that asked again for a structured answer.
       ARRAY(SELECT jsonb_array_elements_text(turn.lint)) AS lint, -- Signs that its stop reason hides a cut.
       turn.tags, -- Tags that operators gave it.
       policy.name AS policy, -- Name of the policy it ran under; null: defaults.
       version.version AS policy_version, -- The version of that policy.
       made.username AS created_by, -- Who started it.
       coalesce(turn.call_caller, called.caller) AS caller, -- Name of the gateway key or token it was asked with; null: it did not come by the gateway.
       coalesce(turn.call_client_finish_reason, called.client_finish_reason) AS client_finish_reason, -- The finish_reason that the gateway's caller was told.
       turn.created_at, -- When it was made.
       turn.started_at, -- When its first step was taken.
       turn.finished_at, -- When it ended.
       turn.duration_ms -- Milliseconds from its first step to its end.
  FROM turns_turn turn
  JOIN agents_project project ON project.id = turn.project_id
  LEFT JOIN agents_policyversion version ON version.id = turn.policy_version_id
  LEFT JOIN agents_policy policy ON policy.id = version.policy_id
  LEFT JOIN accounts_user made ON made.id = turn.created_by_id
  LEFT JOIN gateway_gatewaycall called ON called.turn_id = turn.id;

-- view attempts: One call of the model: one row an attempt.
SELECT attempt.turn_id, -- The turn it is of.
       attempt.index AS attempt, -- Its number in the turn, from 1.
       attempt.kind, -- What it was for: initial, after_tools, continuation, resume, tool_repair, envelope_retry, error_retry, requested.
       attempt.iteration, -- The cycle of thinking and acting that it is in, from 1.
       attempt.provider, -- The dialect of the API that was asked.
       attempt.model, -- Name of the model.
       attempt.max_tokens, -- Output tokens that it was allowed; null: no limit was sent.
       attempt.status_code, -- HTTP status of the answer; null: none came.
       attempt.stop_reason, -- Why the model stopped, normalized.
       attempt.raw_stop_reason, -- The provider's own word for it.
       (attempt.usage ->> 'input_tokens')::bigint AS input_tokens, -- Input tokens that the provider counted; null: it did not.
       (attempt.usage ->> 'output_tokens')::bigint AS output_tokens, -- Output tokens that it counted, reasoning included.
       (attempt.usage ->> 'reasoning_tokens')::bigint AS reasoning_tokens, -- Of these, tokens of reasoning.
       (attempt.usage ->> 'cached_tokens')::bigint AS cached_tokens, -- Of the input tokens, those that were read from a cache.
       length(coalesce(attempt.text, turn.output_text)) AS characters, -- Characters of the answer.
       coalesce(attempt.text, turn.output_text) AS text, -- The answer.
       jsonb_array_length(attempt.tool_calls) AS tool_calls, -- Tool calls in the answer.
       attempt.error ->> 'type' AS error_type, -- Type of its failure; null: it did not fail.
       attempt.error ->> 'kind' AS error_kind, -- The same, finer.
       attempt.error ->> 'code' AS error_code, -- The provider's own code.
       attempt.error ->> 'message' AS error_message, -- The provider's words, without secrets.
       (attempt.error ->> 'retry_after')::double precision AS retry_after, -- Seconds after which the provider would be asked again.
       attempt.started_at, -- When it was sent.
       attempt.first_token_ms, -- Milliseconds until the first token; null: it was no stream, or none came.
       attempt.duration_ms -- Milliseconds until it ended; null: it has not.
  FROM turns_attempt attempt
  LEFT JOIN turns_turn turn ON turn.id = attempt.turn_id;

-- view judgements: What all criteria together said at one moment: one row a judgement.
SELECT outcome.turn_id, -- The turn that was judged.
       outcome.seq, -- The record of its history at which it was judged.
       outcome.position, -- Its place among the transitions of that record, from 0.
       outcome.state, -- The state of the machine that judged.
       outcome.decision, -- What was decided: request, allow, stop, forbid.
       outcome.resolved_by, -- The criterion whose word decided; aggregate: none alone.
       outcome.stop_reason, -- Why the agent would stop.
       outcome.error_type, -- Type of the failure that was judged; null: none was.
       outcome.handling -- What the error policy did about it.
  FROM turns_judgement outcome WHERE outcome.state <> 'abort_partial';

-- view criteria: What one criterion said at one judgement: one row an answer.
SELECT outcome.turn_id, -- The turn that was judged.
       outcome.seq, -- The record at which it was judged.
       outcome.position, -- The judgement's place in that record.
       said.n::integer AS n, -- Its place among the criteria of this judgement, from 1.
       said.value ->> 'criterion' AS criterion, -- Name of the criterion.
       said.value ->> 'decision' AS decision, -- What it said: request, allow, stop, forbid.
       said.value ->> 'reason' AS reason, -- Why, in a sentence.
       CASE WHEN jsonb_typeof(said.value #> '{context,used}') = 'number' THEN (said.value #>> '{context,used}')::numeric END AS used, -- What of its limit was used; null: it has none.
       CASE WHEN jsonb_typeof(said.value #> '{context,limit}') = 'number' THEN (said.value #>> '{context,limit}')::numeric END AS allowed -- Its limit; null: it has none.
  FROM turns_judgement outcome
 CROSS JOIN LATERAL jsonb_array_elements(outcome.evaluations) WITH ORDINALITY held (value, n)
 CROSS JOIN LATERAL (SELECT whystop_answer(held.value) AS value, held.n OFFSET 0) said
 WHERE outcome.state <> 'abort_partial';

-- view errors: A failure that was judged, with its numbers: one row a failure.
SELECT outcome.turn_id, -- The turn that failed.
       outcome.seq, -- The record at which it was judged.
       outcome.position, -- The judgement's place in that record.
       outcome.error_type, -- Type of the failure.
       outcome.handling, -- What the error policy did about it: retry, stop, ignore and so on.
       (said.value #>> '{context,consecutiveFailures}')::integer AS consecutive_failures, -- Failures running, this one included.
       (said.value #>> '{context,totalFailures}')::integer AS total_failures, -- Failures of the turn so far.
       (said.value #>> '{context,maxRetries}')::integer AS max_retries, -- The failures in a row at which retries stop.
       said.value #>> '{context,toolName}' AS tool, -- The tool that failed; null: it was the model.
       said.value ->> 'reason' AS reason, -- What was said of it, in a sentence.
       outcome.decision -- What was decided.
  FROM turns_judgement outcome
 CROSS JOIN LATERAL jsonb_array_elements(outcome.evaluations) held (value)
 CROSS JOIN LATERAL (SELECT whystop_answer(held.value) AS value OFFSET 0) said
 WHERE outcome.state <> 'abort_partial' AND outcome.error_type IS NOT NULL
   AND said.value ->> 'criterion' = 'ErrorPolicyCriterion';

-- view continuations: A call that continued a cut answer, with the call before it: one row a continuation.
SELECT attempt.turn_id, -- The turn it is of.
       attempt.index AS attempt, -- Its number in the turn.
       row_number() OVER (PARTITION BY attempt.turn_id ORDER BY attempt.index)::integer AS continuation, -- Its number among the turn's continuations, from 1.
       attempt.kind, -- continuation, or resume after a pause or a crash.
       before.stop_reason AS cut_by, -- Why the call before it stopped.
       before.raw_stop_reason AS cut_by_raw, -- The provider's own word for that.
       (before.usage ->> 'output_tokens')::bigint AS tokens_before, -- Output tokens of the call before it.
       length(coalesce(before.text, turn.output_text)) AS characters_before, -- Characters of the answer before it.
       (attempt.usage ->> 'input_tokens')::bigint AS input_tokens, -- Input tokens of the continuation.
       (attempt.usage ->> 'output_tokens')::bigint AS output_tokens, -- Output tokens of the continuation.
       length(coalesce(attempt.text, turn.output_text)) AS characters, -- Characters that came with it, before a repeat at the seam is dropped.
       attempt.stop_reason, -- Why the model stopped this time.
       attempt.duration_ms -- Milliseconds that it took.
  FROM turns_attempt attempt
  LEFT JOIN turns_turn turn ON turn.id = attempt.turn_id
  LEFT JOIN turns_attempt before ON before.turn_id = attempt.turn_id AND before.index = attempt.index - 1
 WHERE attempt.kind IN ('continuation', 'resume');

-- view runs: Turns that go on from one another: one row a run; a turn that is alone is one.
SELECT coalesce(turn.run_id, turn.id) AS id, -- Id of the run: of its first turn.
       count(*) AS turns, -- Its turns, branches and re-runs included.
       count(*) FILTER (WHERE turn.model_stop_reason IN ('max_tokens', 'context_window_exceeded')) AS cut, -- Of these, turns whose last answer was cut.
       count(*) FILTER (WHERE turn.status = 'failed') AS failed, -- Of these, turns that failed.
       sum(turn.attempts)::bigint AS attempts, -- Calls of the model.
       sum(turn.input_tokens)::bigint AS input_tokens, -- Input tokens of all its turns.
       sum(turn.output_tokens)::bigint AS output_tokens, -- Output tokens of all its turns.
       bool_or(turn.tokens_estimated) AS tokens_estimated, -- Whether some of these are estimates.
       min(turn.created_at) AS started_at, -- When its first turn was made.
       max(coalesce(turn.finished_at, turn.created_at)) AS last_at, -- When its last turn ended, or was made.
       (array_agg(turn.agent_name ORDER BY turn.id))[1] AS agent, -- The agent that its first turn asked.
       (array_agg(turn.model ORDER BY turn.id))[1] AS model -- The model that its first turn asked.
  FROM turns_turn turn GROUP BY coalesce(turn.run_id, turn.id);
