"""evaluate_envelope: truncation gets a larger budget, a violation a word of ours, a refusal nothing (design §3.7)."""

import json

import pytest

from agentcore import AttemptKind, ErrorPolicy, ErrorType, NormalizedStopReason, StopReason, Trigger, TurnStatus
from agentcore.serial import snapshot_from_json, to_json
from agentcore.snapshot import Snapshot
from tests.agentcore.playbook import (
    Playbook,
    blocked,
    call,
    call_model,
    called,
    cut_call,
    ended,
    error,
    finish,
    interrupted,
    paused,
    run_tools,
    started,
    stopped,
    tools_returned,
    truncated,
    unknown,
    woke_up,
)
from tests.together import together

SCHEMA = {"type": "object", "required": ["answer"]}
VALID = '{"answer": 42}'
INVALID = '{"secret-of-the-model": "leak"}'

#: design §3.7, the table: every field allowed, and those required.
FIELDS = {
    "envelope.truncated": (
        {"nodeId", "provider", "model", "stopReason"},
        {"partialPayloadAvailable", "outputTokenCount"},
    ),
    "envelope.retry.attempted": ({"nodeId", "attempt", "reason"}, {"previousError"}),
    "envelope.retry.exhausted": ({"nodeId", "totalAttempts", "finalReason"}, {"finalError"}),
    "envelope.refusal": ({"nodeId", "provider", "model"}, {"refusalText", "safetyCategory"}),
    "envelope.recovery.applied": ({"nodeId", "path"}, {"byteOffset"}),
    "cap.breached": ({"kind", "limit", "observed"}, {"nodeId"}),
}


def asked(**more):
    return Playbook(envelope_schema=SCHEMA, max_tokens=100, **more) >> started()


def events(story):
    """The envelope events of a story, each checked against the table."""
    seen = [(o.type, dict(o.fields)) for step in story.steps for o in step.observed if o.type in FIELDS]
    for name, fields in seen:
        required, optional = FIELDS[name]
        assert required <= set(fields) <= required | optional
        assert fields.get("nodeId", "turn") == "turn"
        assert "leak" not in json.dumps(fields)
        assert "secret" not in json.dumps(fields)
    return seen


def names(story):
    return [name for name, _ in events(story)]


def test_a_natural_end_with_a_valid_payload_completes_and_keeps_the_value():
    story = asked() >> ended(VALID)
    assert story << finish(VALID, StopReason.COMPLETED, TurnStatus.COMPLETED, "completed", envelope={"answer": 42})
    assert events(story) == []


def test_a_truncated_envelope_is_retried_with_a_larger_budget_and_no_other_change():
    story = asked() >> truncated('{"answer": 4', tokens=100) << call_model(AttemptKind.ENVELOPE_RETRY, max_tokens=200)
    first, second = story.steps[0].command.request, story.command.request
    assert (second.messages, second.system_prompt, second.continuation) == (first.messages, first.system_prompt, None)
    assert events(story) == [
        (
            "envelope.truncated",
            {
                "nodeId": "turn",
                "provider": "openai",
                "model": "m",
                "stopReason": "length",
                "partialPayloadAvailable": True,
                "outputTokenCount": 100,
            },
        ),
        (
            "envelope.retry.attempted",
            {
                "nodeId": "turn",
                "attempt": 2,
                "reason": "truncation",
                "previousError": "the answer was cut before its end",
            },
        ),
    ]
    assert story >> ended(VALID) << finish(VALID, StopReason.COMPLETED, envelope={"answer": 42})


def test_a_schema_violation_is_retried_with_the_hosts_correction_and_the_same_budget():
    story = asked(system_prompt="Be terse.") >> ended(INVALID) << call_model(AttemptKind.ENVELOPE_RETRY, max_tokens=100)
    prompt = story.command.request.system_prompt
    assert prompt.startswith("Be terse.\n\n")
    assert "required property 'answer' is missing (schema /required)" in prompt
    assert "leak" not in prompt
    assert "secret" not in prompt
    assert events(story)[0][1] == {
        "nodeId": "turn",
        "attempt": 2,
        "reason": "schema-violation",
        "previousError": "required property 'answer' is missing (schema /required)",
    }


def test_truncation_takes_precedence_when_the_truncated_payload_is_also_invalid():
    story = asked() >> truncated(INVALID)
    assert names(story) == ["envelope.truncated", "envelope.retry.attempted"]
    assert story << call_model(AttemptKind.ENVELOPE_RETRY, max_tokens=200, system_prompt="")


def test_a_complete_payload_under_max_tokens_still_counts_as_truncation():
    assert names(asked() >> truncated(VALID))[0] == "envelope.truncated"


def test_invalid_json_at_a_natural_end_is_a_parse_error_and_handled_like_a_violation():
    story = asked() >> ended("Sorry, here you go:") << call_model(AttemptKind.ENVELOPE_RETRY, max_tokens=100)
    assert events(story)[0][1]["reason"] == "parse-error"
    assert "not JSON" in story.command.request.system_prompt


def test_a_truncation_after_a_violation_drops_the_correction():
    story = asked(system_prompt="Be terse.") >> ended(INVALID) >> truncated("{")
    assert story << call_model(AttemptKind.ENVELOPE_RETRY, max_tokens=200, system_prompt="Be terse.")


@pytest.mark.parametrize(
    ("answer", "reason", "code"),
    [
        (truncated("{"), "truncation", "envelope_truncation_unrecoverable"),
        (ended(INVALID), "schema-violation", "envelope_invalid"),
        (ended("no json"), "parse-error", "envelope_invalid"),
    ],
)
def test_truncations_and_violations_share_the_rounds_and_end_with_both_terminal_events(answer, reason, code):
    story = asked(schema_rounds=2) >> answer >> answer >> answer
    assert story << finish("", StopReason.RETRY_LIMIT, TurnStatus.FAILED, code, error_code=code)
    exhausted, breached = events(story)[-2:]
    assert exhausted[0] == "envelope.retry.exhausted"
    assert (exhausted[1]["totalAttempts"], exhausted[1]["finalReason"]) == (3, reason)
    assert breached == ("cap.breached", {"nodeId": "turn", "kind": "schema", "limit": 2, "observed": 3})
    assert names(story).count("envelope.retry.attempted") == 2
    assert "leak" not in story.end.error_message


def test_a_mix_of_truncations_and_violations_shares_the_same_rounds():
    story = asked(schema_rounds=2) >> truncated("{") >> ended(INVALID) >> truncated("{")
    assert story << finish("", terminal="envelope_truncation_unrecoverable")


def test_zero_rounds_mean_one_call():
    story = asked(schema_rounds=0) >> ended(INVALID) << finish("", error_code="envelope_invalid")
    assert names(story) == ["envelope.retry.exhausted", "cap.breached"]


def test_a_budget_clamped_at_the_ceiling_is_tried_once_before_the_turn_ends():
    story = asked(ceiling=150) >> truncated("{") << call_model(AttemptKind.ENVELOPE_RETRY, max_tokens=150)
    story = story >> truncated("{")
    assert story << finish("", StopReason.RETRY_LIMIT, TurnStatus.FAILED, "envelope_truncation_unrecoverable")
    assert names(story)[-3:] == ["envelope.truncated", "envelope.retry.exhausted", "cap.breached"]


def test_a_truncated_correction_at_the_ceiling_also_ends_the_turn():
    story = (
        asked(ceiling=150) >> truncated("{") >> ended(INVALID) << call_model(AttemptKind.ENVELOPE_RETRY, max_tokens=150)
    )
    assert story >> truncated("{") << finish("", error_code="envelope_truncation_unrecoverable")


def test_the_multiplier_comes_from_the_policy():
    story = asked(truncation_budget_multiplier=4.0) >> truncated("{")
    assert story << call_model(AttemptKind.ENVELOPE_RETRY, max_tokens=400)


def test_a_refusal_is_not_retried_and_its_text_is_not_exposed():
    story = asked() >> blocked("I will not tell the secret")
    assert story << finish(
        "", StopReason.FINISH_REASON, TurnStatus.FAILED, "envelope_refusal", error_code="envelope_refusal"
    )
    assert names(story) == ["envelope.refusal"]
    assert "secret" not in story.end.error_message + story.end.notice


def test_a_refusal_reported_as_an_error_is_also_a_refusal():
    story = asked() >> error(stop_reason=NormalizedStopReason.SAFETY_BLOCKED)
    assert story << finish(
        "", StopReason.FINISH_REASON, TurnStatus.FAILED, "envelope_refusal", error_code="envelope_refusal"
    )
    assert names(story) == ["envelope.refusal"]


@pytest.mark.parametrize(
    ("text", "path", "offset"),
    [
        (f"```json\n{VALID}\n```", "markdown-fence", 8),
        (f"Hé! {VALID} Bye.", "brace-walker", 5),
        (f"```\n{VALID}```", "markdown-fence", 4),
    ],
)
def test_local_recovery_uses_no_retry_and_is_observed(text, path, offset):
    story = asked(schema_rounds=0) >> ended(text)
    assert story << finish(text, StopReason.COMPLETED, envelope={"answer": 42})
    assert events(story) == [("envelope.recovery.applied", {"nodeId": "turn", "path": path, "byteOffset": offset})]


def test_a_recovered_payload_that_does_not_validate_is_a_violation():
    story = asked() >> ended(f"```json\n{INVALID}\n```")
    assert names(story) == ["envelope.recovery.applied", "envelope.retry.attempted"]


@together
@pytest.mark.parametrize(
    ("event", "said"),
    [
        (stopped(NormalizedStopReason.END_TURN, "stop_sequence", "{"), "stop_sequence"),
        (unknown("strange", "{"), "unknown"),
        (truncated("{"), "length"),
        (stopped(NormalizedStopReason.MAX_TOKENS, "MAX_TOKENS", "{"), "max_tokens"),
        (stopped(NormalizedStopReason.MAX_TOKENS, "max_output_tokens", "{"), "max_tokens"),
        (stopped(NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED, "model_context_window_exceeded", "{"), "unknown"),
    ],
)
def test_the_stop_reason_of_a_truncation_is_the_raw_value_if_the_enum_has_it(event, said):
    assert events(asked() >> event)[0][1]["stopReason"] == said


def test_a_stop_sequence_or_an_unknown_reason_with_a_valid_payload_completes():
    assert asked() >> stopped(NormalizedStopReason.END_TURN, "stop_sequence", VALID) << finish(envelope={"answer": 42})
    assert asked() >> unknown("strange", VALID) << finish(envelope={"answer": 42})


def test_a_full_context_is_a_truncation_without_a_retry():
    story = asked() >> stopped(NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED, "full", "{")
    assert story << finish("", error_code="envelope_truncation_unrecoverable")
    assert "envelope.retry.attempted" not in names(story)


def test_envelope_retries_are_not_bound_by_the_continuation_limits():
    story = asked(max_continuations=0, max_total_completion_tokens=1) >> truncated("{", tokens=100)
    assert story << call_model(AttemptKind.ENVELOPE_RETRY)


@pytest.mark.parametrize(
    ("limit", "stop_reason"),
    [({"max_total_tokens": 10}, StopReason.TOKEN_LIMIT), ({"max_seconds": 0.5}, StopReason.TIME_LIMIT)],
)
def test_envelope_retries_are_bound_by_total_tokens_and_seconds(limit, stop_reason):
    story = asked(**limit) >> truncated("{")
    assert story << finish("", stop_reason, TurnStatus.FAILED, "forbidden")
    assert Trigger.FORBIDDEN in story.triggers


def test_a_final_valid_envelope_completes_even_with_exhausted_limits():
    assert asked(max_total_tokens=1) >> ended(VALID) << finish(VALID, StopReason.COMPLETED)


def test_tool_calls_and_pauses_are_handled_before_the_envelope():
    story = asked() >> called(call()) << run_tools("calculator") >> tools_returned() >> ended(VALID)
    assert story << finish(VALID, envelope={"answer": 42})
    assert asked() >> paused() << call_model(AttemptKind.RESUME)
    assert asked() >> cut_call() << call_model(AttemptKind.TOOL_REPAIR)


def test_partial_answers_of_an_envelope_turn_are_kept_on_their_attempts():
    story = asked(error_policy=ErrorPolicy.retry_all()) >> error(ErrorType.MODEL, partial='{"answer') >> woke_up()
    assert story << call_model(AttemptKind.ERROR_RETRY, continuation=None, max_tokens=100)
    assert asked() >> interrupted('{"answer') << call_model(AttemptKind.INITIAL, continuation=None)


def test_a_failed_envelope_retry_is_repeated_as_the_same_kind_of_call():
    story = asked(error_policy=ErrorPolicy.retry_all()) >> truncated("{") >> error() >> woke_up()
    assert story.moves[-1][1] is Trigger.RETRY_ENVELOPE
    assert story << call_model(AttemptKind.ERROR_RETRY, max_tokens=200)


@pytest.mark.parametrize("value", ["{}", "[]", "[1]"])
def test_an_empty_envelope_is_a_value_and_is_stored(value):
    story = Playbook(envelope_schema={"type": "object"}) >> started() >> ended(value)
    assert story << finish(value, StopReason.COMPLETED, envelope=json.loads(value))
    stored: Snapshot = snapshot_from_json(json.loads(json.dumps(to_json(story.snapshot))))
    assert stored.end is not None
    assert stored.end.envelope == json.loads(value)
