"""RFC 0033 §A: when an envelope is complete, and which of two faults it has when it is not."""

import pytest

from agentcore import AttemptKind, NormalizedStopReason, StopReason, TurnStatus
from agentcore.events import Event
from agentcore.providers import get_provider
from tests.agentcore.playbook import Playbook, ended, finish, responded, started, stopped, truncated, unknown
from tests.spec.rfc_0033.envelopes import CUT, INVALID, VALID, asked, events, names
from tests.spec.rules import Kind, rule
from tests.spec.stop_reason_state_machine.answers import whole

A = "rfc-0033 §A"
R = NormalizedStopReason


@rule(A, "A clean stop with a valid payload is complete")
def test_a_natural_end_with_a_valid_payload_is_complete() -> None:
    story = asked() >> ended(VALID)
    assert story << finish(VALID, StopReason.COMPLETED, TurnStatus.COMPLETED, envelope={"steps": ["one"]})
    assert events(story) == []


@rule(A, "Each vendor's word for a clean stop is a clean stop")
@pytest.mark.parametrize(
    ("provider", "word"), [("openai", "stop"), ("anthropic", "end_turn"), ("gemini", "STOP"), ("bedrock", "end_turn")]
)
def test_each_vendors_natural_end_counts_as_one(provider: str, word: str) -> None:
    response = whole(provider, word)
    assert get_provider(provider).normalize(word) is R.END_TURN
    assert names(asked() >> responded(response)) == ["envelope.retry.attempted"]
    assert events(asked() >> responded(response))[0][1]["reason"] == "parse-error"


@rule(A, "A valid payload without a clean stop is not complete")
@pytest.mark.parametrize("answer", [truncated(VALID), stopped(R.CANCELLED, "cancelled", VALID)])
def test_a_valid_payload_alone_is_not_enough(answer: Event) -> None:
    story = asked() >> answer
    assert story.snapshot.end is None or story.end.status is TurnStatus.FAILED
    assert "envelope.truncated" in names(story)


@rule(A, "A clean stop with a payload that violates the schema or is not JSON is not complete")
@pytest.mark.parametrize("text", [INVALID, '{"steps": "one"}', "[]", "no JSON at all", ""])
def test_a_natural_end_alone_is_not_enough(text: str) -> None:
    story = asked() >> ended(text)
    assert story.snapshot.end is None
    assert names(story) == ["envelope.retry.attempted"]


@rule(A, "A payload is validated after the host's own normalization")
def test_a_fenced_payload_is_validated_without_its_fence() -> None:
    assert asked() >> ended(f"```json\n{VALID}\n```") << finish(envelope={"steps": ["one"]})


@rule(A, "A truncation emits `envelope.truncated`")
def test_a_truncation_is_reported_as_one() -> None:
    seen = dict(events(asked() >> truncated(CUT, tokens=100)))["envelope.truncated"]
    assert seen == {
        "nodeId": "turn",
        "provider": "openai",
        "model": "m",
        "stopReason": "length",
        "partialPayloadAvailable": True,
        "outputTokenCount": 100,
    }


@rule(A, "A truncation may be retried", Kind.MAY)
def test_a_truncation_is_retried() -> None:
    assert (asked() >> truncated(CUT)).command.kind is AttemptKind.ENVELOPE_RETRY


@rule(A, "A truncation retry never has a corrective fragment")
@pytest.mark.parametrize("text", [CUT, INVALID, "", VALID])
def test_a_truncation_gets_no_corrective_fragment(text: str) -> None:
    story = asked(system_prompt="Be terse.") >> truncated(text)
    assert story.command.request.system_prompt == "Be terse."


@rule(A, "A violation may be retried with a corrective fragment", Kind.MAY)
def test_a_violation_is_retried_with_a_fragment() -> None:
    story = asked(system_prompt="Be terse.") >> ended(INVALID)
    assert story.command.kind is AttemptKind.ENVELOPE_RETRY
    assert story.command.request.system_prompt != "Be terse."


@rule(A, "`envelope.retry.attempted` precedes every call except the first")
def test_every_call_but_the_first_is_announced() -> None:
    story = asked(schema_rounds=5) >> ended(INVALID) >> truncated(CUT) >> ended(INVALID) >> ended(VALID)
    attempts = [fields["attempt"] for name, fields in events(story) if name == "envelope.retry.attempted"]
    assert attempts == [2, 3, 4]
    assert story.snapshot.spent.attempts == 4
    assert events(asked()) == []


@rule(A, "Routing and events distinguish truncation from violation")
def test_the_two_faults_differ_in_routing_and_reporting() -> None:
    cut, wrong = asked() >> truncated(CUT), asked() >> ended(INVALID)
    assert names(cut) == ["envelope.truncated", "envelope.retry.attempted"]
    assert names(wrong) == ["envelope.retry.attempted"]
    assert [dict(events(s))["envelope.retry.attempted"]["reason"] for s in (cut, wrong)] == [
        "truncation",
        "schema-violation",
    ]
    assert cut.command.request.max_tokens > wrong.command.request.max_tokens


@rule(A, "A payload with both faults is a truncation")
@pytest.mark.parametrize("text", [CUT, INVALID, '{"steps": 1', "Sorry, "])
def test_truncation_takes_precedence_over_violation(text: str) -> None:
    story = asked() >> truncated(text)
    assert names(story) == ["envelope.truncated", "envelope.retry.attempted"]
    assert events(story)[1][1]["reason"] == "truncation"


@rule(A, "An unknown reason with an invalid payload is a truncation; with a valid payload it is complete", Kind.MAY)
def test_an_unknown_reason_is_judged_by_its_payload() -> None:
    assert names(asked() >> unknown("strange", CUT))[0] == "envelope.truncated"
    assert asked() >> unknown("strange", VALID) << finish(envelope={"steps": ["one"]})


@rule(A, "None of this applies to a turn without an envelope")
def test_a_plain_turn_has_no_envelope_events() -> None:
    story = Playbook() >> started() >> truncated(CUT)
    assert names(story) == []
    assert story.command.kind is AttemptKind.CONTINUATION
