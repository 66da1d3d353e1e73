"""Streams of any events, cut anywhere and delivered in any pieces: what the client hears is what the bytes mean."""

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentcore.errors import DecodeError
from agentcore.messages import ChatResponse
from agentcore.providers import get_provider
from agentcore.reasons import NormalizedStopReason as Reason
from tests.dashboard.gateway.served.client_results import heard
from tests.dashboard.gateway.served.gate import Gate
from tests.dashboard.gateway.served.odd_answers import SSE
from tests.dashboard.gateway.served.raw_provider import CUT, DONE, RawProvider, data, event
from tests.examples import examples
from tests.golden.contract import REASONS

WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
NUMBERS = st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False)
ANYTHING = st.recursive(
    st.none() | st.booleans() | NUMBERS | WORDS,
    lambda held: st.lists(held, max_size=3) | st.dictionaries(WORDS, held, max_size=3),
    max_leaves=6,
)
ENDS = st.sampled_from([*sorted(REASONS), "solar_flare", "error", "", None])
#: Names that a stream of this API uses, so that chance meets what is looked at.
FIELDS = st.sampled_from(["content", "refusal", "role", "tool_calls", "function_call", "reasoning_content", "audio"])
EVENTS = st.one_of(
    WORDS.map(lambda word: event({"content": word})),
    ENDS.map(lambda end: event({}, end)),
    st.dictionaries(FIELDS, ANYTHING, max_size=2).map(event),
    ANYTHING.map(lambda end: event({"content": "x"}, end)),
    st.fixed_dictionaries({"choices": ANYTHING}, optional={"usage": ANYTHING, "error": ANYTHING}).map(data),
    ANYTHING.map(data),
    st.binary(max_size=20).map(lambda noise: b"data: " + noise + b"\n\n"),
    st.binary(max_size=20),
    st.just(b": comment\n\n"),
    st.just(DONE),
)


@st.composite
def deliveries(draw: st.DrawFn) -> tuple[bytes, list[Any]]:
    """The bytes of a stream, and the steps in which they are sent."""
    body = b"".join(draw(st.lists(EVENTS, max_size=8)))
    body = body[: draw(st.integers(0, len(body)))] if draw(st.booleans()) else body + event({}, "stop") + DONE
    cuts = sorted(draw(st.lists(st.integers(0, len(body)), max_size=4)))
    pieces = [body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    return body, [SSE, *pieces, *([CUT] if draw(st.booleans()) else [])]


def meant(body: bytes) -> ChatResponse | None:
    """What the bytes mean, as they are read in one piece; None: nothing."""
    decoder = get_provider("openai").stream_decoder(max_tokens=60)
    try:
        decoder.feed(body)
        return decoder.close()
    except DecodeError:
        return None


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(deliveries())
def test_any_upstream_stream_keeps_its_meaning(gate: Gate, raw: RawProvider, delivery: tuple[bytes, list[Any]]):
    body, steps = delivery
    raw.streams["odd"] = raw.bodies["odd"] = steps
    told, whole = gate.ask(model="continue", stream=True), gate.ask(model="continue", stream=False)
    assert 500 not in {told.status, whole.status}
    words = heard(told)
    response = meant(body)
    if response is None:
        assert "error" in words
    elif response.stop_reason is Reason.MAX_TOKENS:
        assert words.startswith("length: ") or "error" in words
    elif response.stop_reason is Reason.SAFETY_BLOCKED:
        assert words.startswith("content_filter: ")
    elif words.startswith("stop: "):
        assert response.stop_reason in {Reason.END_TURN, Reason.UNKNOWN, Reason.TOOL_CALL}
        assert not response.incomplete_stream
        assert words == f"stop: {response.text}"


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300) | ANYTHING.map(lambda value: json.dumps(value).encode()))
def test_no_complete_upstream_answer_causes_a_500(gate: Gate, raw: RawProvider, body: bytes):
    head = SSE.replace(b"text/event-stream", b"application/json")
    raw.bodies["odd"] = [head + body]
    assert gate.ask(model="continue").status in {200, 502}
    assert gate.ask(model="observe").status in {200, 502}
