"""evaluate_envelope among pauses, calls and errors; and what may never be told of an answer (design §3.7)."""

import json
from functools import partial

import pytest

from agentcore import (
    AttemptKind,
    ChatResponse,
    ErrorPolicy,
    ErrorType,
    NormalizedStopReason,
    ProviderError,
    StopReason,
    TurnStatus,
    serial,
)
from agentcore.policy import Limits, Policy, Violation
from tests.agentcore.playbook import (
    Playbook,
    broken,
    call,
    call_model,
    called,
    cut_call,
    ended,
    error,
    finish,
    paused,
    responded,
    run_tools,
    started,
    stopped,
    tools_returned,
    truncated,
    unknown,
    usage,
    woke_up,
)
from tests.together import together

R = NormalizedStopReason
SCHEMA = {"type": "object", "required": ["answer"]}
VALID = '{"answer": 42}'
RETRY = ErrorPolicy.retry_all()


def asked(**more):
    return Playbook(envelope_schema=SCHEMA, max_tokens=100, **more) >> started()


def envelope_events(story):
    return [(o.type, o.fields) for step in story.steps for o in step.observed if o.type.startswith(("envelope", "cap"))]


def test_an_envelope_paused_in_the_middle_is_read_whole():
    story = asked() >> paused('{"answer"', echo=["block"]) << call_model(AttemptKind.RESUME, continuation=None)
    story = story >> ended(": 42}")
    assert story << finish(VALID, StopReason.COMPLETED, TurnStatus.COMPLETED, envelope={"answer": 42})
    assert envelope_events(story) == []


def test_text_before_a_pause_is_not_part_of_an_envelope_that_follows_it_whole():
    story = asked() >> paused("Let me search. ") >> ended(VALID)
    assert story << finish(VALID, envelope={"answer": 42})
    assert envelope_events(story) == []


def test_an_object_inside_a_paused_envelope_is_not_read_as_the_envelope():
    story = asked() >> paused('{"answer": ') >> ended('{"answer": 1}}')
    assert story << finish('{"answer": {"answer": 1}}', envelope={"answer": {"answer": 1}})


def test_a_truncation_after_a_pause_repeats_the_original_request():
    story = asked() >> paused('{"answer"', echo=["block"]) >> truncated(": 4")
    assert story << call_model(AttemptKind.ENVELOPE_RETRY, max_tokens=200, continuation=None, system_prompt="")
    assert story.command.request.messages == story.steps[0].command.request.messages
    assert story >> ended(VALID) << finish(VALID, envelope={"answer": 42})


def test_a_plain_answer_to_a_repair_is_read_as_the_envelope_together_with_the_text_before_the_call():
    story = asked() >> cut_call('{"answer"') << call_model(AttemptKind.TOOL_REPAIR) >> ended(": 42}")
    assert story << finish(VALID, envelope={"answer": 42})
    assert asked() >> cut_call("I look. ") >> ended(VALID) << finish(VALID, envelope={"answer": 42})


@pytest.mark.parametrize("raw", [None, "", "strange"])
def test_an_unknown_reason_is_truncation_with_an_invalid_payload_and_complete_with_a_valid_one(raw):
    story = asked() >> unknown(raw, "{}") << call_model(AttemptKind.ENVELOPE_RETRY, max_tokens=200, system_prompt="")
    assert envelope_events(story)[0][1]["stopReason"] == "unknown"
    assert asked() >> unknown(raw, VALID) << finish(VALID, envelope={"answer": 42})


def test_an_envelope_cancelled_by_the_provider_counts_as_truncated_whatever_its_content():
    story = asked() >> stopped(R.CANCELLED, "cancelled", VALID)
    assert story << call_model(AttemptKind.ENVELOPE_RETRY, max_tokens=200)
    assert envelope_events(story)[0][0] == "envelope.truncated"


def test_before_rules_were_numbered_a_truncation_by_error_repeated_the_request_with_twice_the_cap():
    cut = error(stop_reason=R.MAX_TOKENS, partial='{"answer"')
    old = partial(asked, revision=None)
    for story in (old() >> cut, old() >> cut_call("text ") >> cut, old(system_prompt="") >> ended("{}") >> cut):
        assert story << call_model(AttemptKind.CONTINUATION, continuation=None, system_prompt="")
        assert story.command.request.messages == story.steps[0].command.request.messages
        assert story.command.request.max_tokens in (200, 386)
        assert story >> ended(VALID) << finish(VALID, envelope={"answer": 42})


def test_before_rules_were_numbered_a_second_truncation_by_error_ended_an_envelope_turn_as_a_repetition():
    cut = error(stop_reason=R.MAX_TOKENS, partial='{"answer"')
    story = asked(revision=None) >> cut >> cut
    assert story << finish("", StopReason.GUARD, TurnStatus.PARTIAL, "repetition", envelope=None)


def test_the_character_cap_does_not_split_an_envelope():
    assert asked(max_total_output_chars=3) >> ended(VALID) << finish(VALID, StopReason.COMPLETED, TurnStatus.COMPLETED)


def test_a_finish_reason_check_changes_only_the_stop_reason_of_a_valid_envelope():
    story = asked(finish_reasons=(R.END_TURN,)) >> ended(VALID)
    assert story << finish(VALID, StopReason.FINISH_REASON, TurnStatus.COMPLETED, "completed", envelope={"answer": 42})


def test_a_second_violation_is_corrected_only_by_its_own_fragment():
    story = asked(system_prompt="Be terse.") >> ended("{}") >> ended("no json")
    prompt = story.command.request.system_prompt
    assert prompt.count("did not validate") == 1
    assert "/required" not in prompt
    assert "not JSON" in prompt


def test_a_failed_correction_is_repeated_with_its_fragment():
    story = asked(error_policy=RETRY) >> ended("{}") >> error(ErrorType.TIMEOUT, partial="half") >> woke_up()
    assert story << call_model(AttemptKind.ERROR_RETRY, continuation=None, max_tokens=100)
    assert "/required" in story.command.request.system_prompt


def test_rounds_are_counted_and_numbered_over_the_whole_turn():
    story = asked() >> ended("{}") >> called(call()) << run_tools("calculator") >> tools_returned() >> truncated("{")
    attempts = [fields["attempt"] for name, fields in envelope_events(story) if name == "envelope.retry.attempted"]
    assert attempts == [2, 3]
    assert story.snapshot.iteration == 2


def test_a_fractional_multiplier_gives_whole_tokens():
    story = (
        asked(truncation_budget_multiplier=1.5)
        >> truncated("{")
        << call_model(AttemptKind.ENVELOPE_RETRY, max_tokens=150)
    )
    assert type(story.command.request.max_tokens) is int


@pytest.mark.parametrize(("before", "offset"), [("", 0), ("é ", 3), ("😀 → ", 9)])
def test_a_recovery_reports_its_offset_in_utf_8_bytes(before, offset):
    story = asked() >> ended(f"{before}{VALID}!")
    recovered = {"nodeId": "turn", "path": "brace-walker", "byteOffset": offset}
    assert envelope_events(story) == [("envelope.recovery.applied", recovered)]


def leaks(schema, value):
    """A validator that says all it knows of the instance, as some do."""
    return [Violation("/secret/leak", "/additionalProperties", "additionalProperties", "“secret” is leak")]


def exposed_texts(story):
    """All that leaves the machine but the answer's own text: transitions, observations, the next command."""
    told = [serial.transition_to_json(t) for step in story.steps for t in step.transitions]
    told += [serial.observation_to_json(o) for step in story.steps for o in step.observed]
    told += [serial.command_to_json(step.command) for step in story.steps]
    return json.dumps(told)


def test_no_text_of_an_invalid_answer_is_exposed():
    policy = Policy(validate=leaks, limits=Limits(schema_rounds=1))
    story = Playbook(policy=policy, envelope_schema={}) >> started() >> ended('{"secret": "leak"}') >> ended('["leak"]')
    assert story << finish("", error_code="envelope_invalid")
    assert "secret" not in exposed_texts(story)
    assert "leak" not in exposed_texts(story)


REFUSED = ChatResponse(
    "secret text",
    usage=usage(5),
    stop_reason=R.SAFETY_BLOCKED,
    raw_stop_reason="refusal",
    refusal="secret refusal",
    reasoning_content="secret thought",
)
FILTERED = ProviderError(ErrorType.MODEL, "content_filter", "Filtered.", stop_reason=R.SAFETY_BLOCKED, retryable=False)


@together
@pytest.mark.parametrize("envelope_schema", [SCHEMA, None])
@pytest.mark.parametrize(
    "events",
    [
        (responded(REFUSED),),
        (truncated("fine "), responded(REFUSED)),
        (cut_call("fine "), responded(REFUSED)),
        (responded(ChatResponse("secret", usage=usage(5), error=FILTERED)),),
        (error(stop_reason=R.SAFETY_BLOCKED, partial="secret"),),
    ],
    ids=["answer", "after a cut", "repair", "error inside", "error with text"],
)
def test_no_text_of_a_refusal_is_exposed_and_it_is_never_retried(events, envelope_schema):
    story = Playbook(envelope_schema=envelope_schema, error_policy=RETRY) >> started()
    for event in events:
        story = story >> event
    assert story << finish(None, StopReason.FINISH_REASON)
    assert "secret" not in exposed_texts(story)
    if envelope_schema:
        assert (story.end.status, story.end.error_code) == (TurnStatus.FAILED, "envelope_refusal")
        refusal = {"nodeId": "turn", "provider": "openai", "model": "m", "refusalText": None, "safetyCategory": None}
        assert envelope_events(story)[-1] == ("envelope.refusal", refusal)
    else:
        assert (story.end.status, story.end.terminal_reason) == (TurnStatus.ABORTED, "safety_blocked")


def test_a_refused_call_also_blocks_an_envelope_turn():
    both = ChatResponse("secret", (call(),), (broken(),), usage(5), stop_reason=R.SAFETY_BLOCKED)
    assert asked() >> responded(both) << finish("", StopReason.FINISH_REASON, TurnStatus.ABORTED, "safety_blocked")
