"""RFC 0033 §F, §G and §H: the error codes, the order of the flow, and what may never be told."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from agentcore import ChatResponse, ErrorPolicy, NormalizedStopReason
from agentcore.events import Event
from tests.agentcore.playbook import Playbook, blocked, call, called, cut_call, ended, responded, truncated, unknown
from tests.spec.rfc_0033.envelopes import CUT, EVENTS, INVALID, MODELS_WORDS, VALID, asked, events, names
from tests.spec.rules import Kind, rule

F, G, H = "rfc-0033 §F", "rfc-0033 §G", "rfc-0033 §H"

#: Each error code, an answer that leads to it without a round left, and the events it comes with.
CODES = {
    "envelope_truncation_unrecoverable": (
        truncated(CUT),
        ["envelope.truncated", "envelope.retry.exhausted", "cap.breached"],
    ),
    "envelope_invalid": (ended(INVALID), ["envelope.retry.exhausted", "cap.breached"]),
    "envelope_refusal": (blocked("No."), ["envelope.refusal"]),
}


@rule(F, "Each of the three error codes comes with its events")
@pytest.mark.parametrize("code", CODES)
def test_each_error_code_comes_with_its_events(code: str) -> None:
    answer, told = CODES[code]
    story = asked(schema_rounds=0) >> answer
    assert (story.end.error_code, names(story)) == (code, told)


@rule(F, "Each error code comes with its events, whichever limit of the turn ended it")
@pytest.mark.parametrize("limit", [{"max_total_tokens": 1}, {"max_seconds": 0.5}])
@pytest.mark.parametrize("code", CODES)
def test_each_error_code_comes_with_its_events_at_every_limit(code: str, limit: Mapping[str, Any]) -> None:
    answer, told = CODES[code]
    story = asked(**limit) >> answer
    assert (story.end.error_code, names(story)) == (code, told)


@rule(F, "The longer names from before the renaming are not used")
@pytest.mark.parametrize("code", CODES)
def test_the_former_codes_no_longer_exist(code: str) -> None:
    told = json.dumps([record.command for record in (asked(schema_rounds=0) >> CODES[code][0]).stored().records])
    assert "envelope_payload_invalid" not in told
    assert "envelope_refused_by_provider" not in told


@rule(G, "Recovery precedes the judgement, and its event precedes that of the fault")
@pytest.mark.parametrize(
    ("answer", "faults"),
    [
        (ended(f"```json\n{INVALID}\n```"), ["envelope.retry.attempted"]),
        (unknown("strange", f"```json\n{INVALID}\n```"), ["envelope.truncated", "envelope.retry.attempted"]),
    ],
)
def test_recovery_is_reported_before_the_fault(answer: Event, faults: list[str]) -> None:
    assert names(asked() >> answer) == ["envelope.recovery.applied", *faults]


@rule(G, "Truncation: the truncated event is followed by a retry, or by exhausted and a breached cap")
def test_the_flow_of_a_truncation_is_as_specified() -> None:
    assert names(asked() >> truncated(CUT)) == ["envelope.truncated", "envelope.retry.attempted"]
    story = asked(schema_rounds=0) >> truncated(CUT)
    assert names(story) == ["envelope.truncated", "envelope.retry.exhausted", "cap.breached"]


@rule(G, "Violation: a retry follows, or exhausted and a breached cap")
def test_the_flow_of_a_violation_is_as_specified() -> None:
    assert names(asked() >> ended(INVALID)) == ["envelope.retry.attempted"]
    assert names(asked(schema_rounds=0) >> ended(INVALID)) == ["envelope.retry.exhausted", "cap.breached"]


@rule(G, "A payload that is not JSON at a clean stop ends with the final reason `parse-error`")
def test_text_without_json_ends_as_a_parse_error() -> None:
    told = dict(events(asked(schema_rounds=0) >> ended("no JSON")))["envelope.retry.exhausted"]
    assert told["finalReason"] == "parse-error"


@rule(G, "A refusal emits its event at any point of the flow")
@pytest.mark.parametrize("before", [(), (truncated(CUT),), (ended(INVALID),), (ended(INVALID), truncated(CUT))])
def test_a_refusal_is_reported_wherever_it_occurs(before: tuple[Event, ...]) -> None:
    story = asked(schema_rounds=9)
    for answer in before:
        story = story >> answer
    assert names(story >> blocked())[-1] == "envelope.refusal"


@rule(G, "A valid envelope is accepted after any retry")
@pytest.mark.parametrize("before", [truncated(CUT), ended(INVALID), ended("no JSON")])
def test_a_valid_envelope_is_accepted_after_a_retry(before: Event) -> None:
    assert (asked() >> before >> ended(VALID)).end.envelope == {"steps": ["one"]}


@rule(G, "The error policy does not retry an exhausted envelope: the rounds are its inner loop", Kind.SHOULD)
def test_an_exhausted_envelope_does_not_involve_the_error_policy() -> None:
    story = asked(schema_rounds=0, error_policy=ErrorPolicy.retry_all()) >> ended(INVALID)
    assert story.end.error_code == "envelope_invalid"


@rule(G, "A truncated tool call in an envelope turn is handled as a tool call, not as an envelope", Kind.MAY)
def test_a_truncated_call_is_not_a_truncated_envelope() -> None:
    story = asked() >> cut_call()
    assert names(story) == []
    assert names(asked() >> called(call())) == []


def everything_reported(story: Playbook) -> str:
    """Events, the error, the notice: all that leaves the turn besides the answer itself."""
    return json.dumps([dict(fields) for _, fields in events(story)]) + story.end.error_message + story.end.notice


@rule(H, "No event and no error message contains a refusal's text")
def test_a_refusal_is_reported_without_its_text() -> None:
    no = ChatResponse("The secret word", refusal="The secret word", stop_reason=NormalizedStopReason.SAFETY_BLOCKED)
    story = asked() >> responded(no)
    assert "secret" not in everything_reported(story)
    assert "secret" not in story.end.output_text
    assert dict(events(story))["envelope.refusal"]["refusalText"] is None


@rule(H, "No event and no error message contains any part of the payload")
@pytest.mark.parametrize("answer", [ended(INVALID), truncated(INVALID), ended(f"```json\n{INVALID}\n```")])
def test_no_event_contains_text_of_the_model(answer: Event) -> None:
    story = asked(schema_rounds=1) >> answer >> answer
    assert not any(word in everything_reported(story) for word in MODELS_WORDS)


@rule(H, "An envelope emits only the events of RFC 0032")
def test_there_are_no_other_envelope_events() -> None:
    story = asked(schema_rounds=1) >> truncated(CUT) >> ended(f"```\n{INVALID}\n```")
    told = {o.type for step in story.steps for o in step.observed if o.type.startswith(("envelope.", "cap."))}
    assert told == {*EVENTS} - {"envelope.refusal"}


#: The fields each event must have, and those it may have besides.
FIELDS = {
    "envelope.truncated": ("nodeId provider model stopReason", "partialPayloadAvailable outputTokenCount"),
    "envelope.retry.attempted": ("nodeId attempt reason", "previousError"),
    "envelope.retry.exhausted": ("nodeId totalAttempts finalReason", "finalError"),
    "envelope.refusal": ("nodeId provider model", "refusalText safetyCategory"),
    "envelope.recovery.applied": ("nodeId path", "byteOffset"),
    "cap.breached": ("kind limit observed", "nodeId"),
}


@rule(H, "Each event has exactly the fields of RFC 0032")
@pytest.mark.parametrize("event", EVENTS)
def test_each_event_has_exactly_its_fields(event: str) -> None:
    stories = (
        asked(schema_rounds=1) >> truncated(CUT) >> ended(f"```\n{INVALID}\n```"),
        asked() >> blocked(),
    )
    told = [fields for story in stories for name, fields in events(story) if name == event]
    required, optional = (set(names.split()) for names in FIELDS[event])
    assert told
    assert all(required <= set(fields) <= required | optional for fields in told)
