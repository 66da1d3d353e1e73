"""finish-reason-canonicalization: several sources of a reason, their priority, and what is told of it."""

import json

import pytest

from agentcore import ChatResponse, NormalizedStopReason, serial
from agentcore.events import ModelResponded
from agentcore.messages import CallIssue
from agentcore.providers import get_provider
from dashboard.metrics.counters import REGISTRY
from tests.agentcore.playbook import Playbook, finish, responded, started
from tests.agentcore.providers.wires import read
from tests.dashboard.driving import Play
from tests.spec.rules import rule
from tests.spec.stop_reason_state_machine.answers import openai_stream

R = NormalizedStopReason
TRACKER = "finish-reason-canonicalization §Tracker"
TELEMETRY = "finish-reason-canonicalization §Telemetry"


def answer(label: str | None, *, cap: int | None = None, stream: bool = False, **choice: object) -> ChatResponse:
    """A chat completion with this `finish_reason`, and whatever else stands in its choice."""
    said = {"role": "assistant", "content": "Hi", **choice.pop("message", {})}  # type: ignore[dict-item]
    body = {"choices": [{"index": 0, "message": said, "finish_reason": label, **choice}]}
    body["usage"] = {"prompt_tokens": 3, "completion_tokens": 9}  # type: ignore[assignment]
    return get_provider("openai").decode_response(body, max_tokens=cap)


@rule(TRACKER, "Every source of a reason is kept with its word, meaning and priority")
def test_every_received_reason_is_kept_with_its_source_and_priority() -> None:
    trail = answer("tool_calls", native_finish_reason="max_output_tokens").reason_trail
    assert [(seen.source, seen.raw, seen.normalized) for seen in trail] == [
        ("finish_reason", "tool_calls", R.TOOL_CALL),
        ("native_finish_reason", "max_output_tokens", R.MAX_TOKENS),
    ]
    assert trail[0].priority < trail[1].priority


@rule(TRACKER, "The source with the highest priority wins: error, block, truncation, tool call, natural end")
@pytest.mark.parametrize(
    ("label", "native", "wins"),
    [
        ("stop", "length", "length"),
        ("length", "stop", "length"),
        ("tool_calls", "length", "length"),
        ("length", "content_filter", "content_filter"),
        ("content_filter", "length", "content_filter"),
        ("stop", "tool_calls", "tool_calls"),
    ],
)
def test_the_most_severe_source_wins_at_any_position(label: str, native: str, wins: str) -> None:
    call = {"tool_calls": [{"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}]}
    assert answer(label, native_finish_reason=native, message=call).raw_stop_reason == wins


@rule(TRACKER, "A refusal in the message is a source and counts as a block")
def test_a_refusal_overrides_the_reason() -> None:
    response = answer("stop", message={"content": None, "refusal": "No."})
    assert (response.stop_reason, response.raw_stop_reason) == (R.SAFETY_BLOCKED, "stop")
    assert {seen.source for seen in response.reason_trail} == {"finish_reason", "refusal"}


@rule(TRACKER, "An error object outweighs an earlier reason")
def test_an_error_overrides_every_reason() -> None:
    stream = openai_stream("length").replace(b"data: [DONE]", b'data: {"error": {"message": "Lost", "code": 500}}')
    response = read("openai", stream)
    assert response.error is not None
    assert max(seen.priority for seen in response.reason_trail) == response.reason_trail[-1].priority
    assert response.reason_trail[-1].source == "error"


@rule(TRACKER, "The trail is stored with the answer and read back unchanged")
def test_the_trail_survives_storage() -> None:
    event = ModelResponded(1.0, answer("tool_calls", native_finish_reason="length"))
    stored = json.loads(json.dumps(serial.event_to_json(event)))
    assert serial.event_from_json(stored) == event
    assert len(stored["response"]["reason_trail"]) == 2


@rule(
    TRACKER, "An answer without a closing event is `length` if its tokens show the truncation, and never a natural end"
)
def test_an_answer_without_its_end_is_never_a_natural_end() -> None:
    cut = b'data: {"choices":[{"index":0,"delta":{"content":"Hi"}}],"usage":{"completion_tokens":%d}}\n\n'
    at_cap = read("openai", cut % 9, cap=9)
    assert (at_cap.stop_reason, at_cap.incomplete_stream) == (R.MAX_TOKENS, True)
    short = read("openai", cut % 3, cap=9)
    assert (short.stop_reason, short.incomplete_stream, short.text) == (R.UNKNOWN, True, "Hi")


@rule(TRACKER, "The text of a blocked answer is withheld from the user")
def test_the_text_of_a_blocked_answer_is_withheld() -> None:
    story = Playbook() >> started() >> responded(answer("content_filter"))
    assert story << finish("", terminal="safety_blocked")


@rule(TRACKER, "A truncated call under `length` is marked as truncated")
def test_an_unclosed_call_beside_length_is_truncated() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": '{"where": "K'}}
    (broken,) = answer("length", message={"tool_calls": [call]}).broken_tool_calls
    assert broken.issue is CallIssue.TRUNCATED


def counted(reason: str, model: str) -> float:
    labels = {"provider": "openai", "model": model, "reason": reason}
    return REGISTRY.get_sample_value("whystop_stop_reasons_total", labels) or 0.0


@rule(TELEMETRY, "Reasons are counted by provider and model, unknown ones included")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("model", "reason"),
    [("sim-script", "end_turn"), ("sim-refuse", "safety_blocked"), ("sim-odd", "unknown")],
)
def test_every_reason_is_counted(play: Play, model: str, reason: str) -> None:
    before = counted(reason, model)
    play(model)
    assert counted(reason, model) == before + 1


@rule(TELEMETRY, "An unknown word is recorded with the answer it ended")
@pytest.mark.django_db(transaction=True)
def test_an_unknown_reason_is_reported_for_the_turn(play: Play) -> None:
    turn = play("sim-odd")
    assert (turn.model_stop_reason, turn.raw_stop_reason) == ("unknown", "solar_flare")
    assert "solar_flare" in turn.verdict
