"""A streamed answer of Cohere, and that nothing a provider sends raises anything but `DecodeError`."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.errors import DecodeError
from agentcore.messages import CallIssue, ChatResponse, TokenUsage
from agentcore.providers import get_provider
from agentcore.reasons import NormalizedStopReason as Reason
from tests.agentcore.providers.codec_laws import (
    FOREIGN,
    is_refused_in_any_chunking,
    never_ends_naturally,
    reader,
    reads_the_same_in_any_chunking,
)
from tests.agentcore.time_growth import grows_linearly
from tests.together import together

COHERE = get_provider("cohere")
USAGE = {"billed_units": {"input_tokens": 4, "output_tokens": 2}, "tokens": {"input_tokens": 9, "output_tokens": 3}}


def event(kind: str, message: dict | None = None, index: int = 0, **fields) -> bytes:
    payload = {"type": kind, "index": index, **fields}
    if message is not None:
        payload["delta"] = {"message": message}
    return f"event: {kind}\ndata: ".encode() + json.dumps(payload).encode() + b"\n\n"


def content(index: int = 0, **part) -> bytes:
    return event("content-delta", {"content": part}, index)


def plan(said: str) -> bytes:
    return event("tool-plan-delta", {"tool_plan": said})


def opened(index: int, arguments: str = "") -> bytes:
    function = {"name": "look", "arguments": arguments}
    return event(
        "tool-call-start", {"tool_calls": {"id": f"c{index}", "type": "function", "function": function}}, index
    )


def arguments(said: str, index: int = 0) -> bytes:
    return event("tool-call-delta", {"tool_calls": {"function": {"arguments": said}}}, index)


def ended(reason: object = "COMPLETE", **fields) -> bytes:
    return event("message-end", delta={"finish_reason": reason, "usage": USAGE, **fields})


START = event("message-start", {"role": "assistant", "content": []}, id="a-1")


read = reader("cohere")


def decode(*chunks: bytes, cap: int | None = None) -> ChatResponse:
    return read(*chunks, cap=cap)[0]


def test_a_stream_is_shown_as_it_arrives_and_reads_like_the_complete_answer():
    stream = [
        START,
        event("content-start", {"content": {"type": "thinking", "thinking": ""}}),
        content(thinking="H"),
        content(thinking="m."),
        event("content-end"),
        content(1, text="So"),
        content(1, text="."),
        event("citation-start", {"citations": {"start": 0}}),
        plan("I will "),
        plan("look."),
        opened(0),
        arguments('{"a"'),
        arguments(": 1}"),
        event("tool-call-end"),
        opened(1, "{}"),
    ]
    response, deltas = read(*stream, ended("TOOL_CALL"), b"data: [DONE]\n\n")
    assert "".join(delta.text for delta in deltas) == response.text == "So."
    assert [delta.reasoning for delta in deltas if delta.reasoning] == ["H", "m.", "I will ", "look."]
    assert response.reasoning_content == "Hm.\n\nI will look."
    assert [delta.tool_name for delta in deltas if delta.tool_name] == ["look", "look"]
    assert (response.stop_reason, response.usage, response.response_id) == (Reason.TOOL_CALL, TokenUsage(9, 3), "a-1")
    calls = [
        {"id": f"c{n}", "type": "function", "function": {"name": "look", "arguments": raw}}
        for n, raw in enumerate(['{"a": 1}', "{}"])
    ]
    parts = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "So."}]
    message = {"role": "assistant", "tool_plan": "I will look.", "content": parts, "tool_calls": calls}
    assert response.echo == message
    whole = {"id": "a-1", "finish_reason": "TOOL_CALL", "message": message, "usage": USAGE}
    assert COHERE.decode_response(whole) == response == decode(json.dumps(whole).encode())


@pytest.mark.parametrize("written", ["", '{"a": "b', "{"])
def test_a_call_cut_by_the_cap_is_truncated(written):
    response = decode(START, opened(0, "{}"), opened(1), arguments(written, 1), ended("MAX_TOKENS"))
    assert (response.stop_reason, [c.id for c in response.tool_calls]) == (Reason.MAX_TOKENS, ["c0"])
    assert [(c.issue, c.raw) for c in response.broken_tool_calls] == [(CallIssue.TRUNCATED, written)]


@together
@pytest.mark.parametrize("word", ["ERROR", "TIMEOUT", "ERROR_TOXIC", "USER_CANCEL", "SOLAR_FLARE", "STOP_SEQUENCE"])
def test_every_stop_reason_is_kept_at_the_end_of_a_stream(word):
    response = decode(content(text="Hi"), ended(word))
    assert (response.stop_reason, response.raw_stop_reason) == (COHERE.normalize(word), word)
    assert (response.text, response.incomplete_stream) == ("Hi", False)


def test_a_stream_that_breaks_off_is_incomplete_and_keeps_what_arrived():
    response = decode(START, content(text="Once"), opened(0))
    assert (response.stop_reason, response.raw_stop_reason, response.incomplete_stream) == (Reason.UNKNOWN, None, True)
    assert (response.text, response.error.kind) == ("Once", "incomplete_stream")
    assert [c.issue for c in response.broken_tool_calls] == [CallIssue.TRUNCATED]


@pytest.mark.parametrize("last", [b"data: [DONE]\n\n", event("message-end"), ended(None)])
def test_an_end_without_a_reason_is_unknown(last):
    response = decode(content(text="Hi"), opened(0, "{}"), last)
    assert (response.stop_reason, response.raw_stop_reason, response.incomplete_stream) == (Reason.UNKNOWN, None, False)
    assert [c.id for c in response.tool_calls] == ["c0"]


def test_tokens_at_the_cap_distinguish_a_truncated_call_from_a_malformed_one():
    assert decode(opened(0, "{"), ended("TOOL_CALL"), cap=3).stop_reason is Reason.MAX_TOKENS
    assert decode(opened(0, "{"), ended("TOOL_CALL"), cap=4).broken_tool_calls[0].issue is CallIssue.MALFORMED
    assert decode(content(text="Hi"), ended(), cap=3).stop_reason is Reason.END_TURN


@pytest.mark.parametrize(
    "last",
    [
        ended("ERROR", error="overheated"),
        b'event: error\ndata: {"id": "e-1", "message": "overheated"}\n\n',
        b'data: {"id": "e-1", "message": "overheated"}\n\n',
        b"event: error\ndata: overheated\n\n",
    ],
)
def test_an_error_in_the_stream_ends_it_and_keeps_the_text(last):
    response = decode(START, content(text="Once"), last)
    assert (response.error.kind, response.error.message) == ("server", "overheated")
    assert (response.stop_reason, response.text, response.incomplete_stream) == (Reason.UNKNOWN, "Once", False)


def test_an_error_that_means_a_stop_reason_is_read_as_one_in_a_stream_too():
    said = {"message": "too many tokens: size limit exceeded by 9 tokens.", "error_type": "TOO_MANY_TOKENS"}
    response = decode(b"event: error\ndata: " + json.dumps(said).encode() + b"\n\n")
    assert (response.stop_reason, response.raw_stop_reason) == (Reason.CONTEXT_WINDOW_EXCEEDED, "TOO_MANY_TOKENS")


def test_a_truncated_document_is_not_a_natural_end():
    message = {"role": "assistant", "content": [{"type": "text", "text": "Hello."}]}
    body = json.dumps({"finish_reason": "COMPLETE", "message": message}).encode()
    response = decode(body[:-5])
    assert (response.text, response.incomplete_stream, response.stop_reason) == ("Hello.", True, Reason.UNKNOWN)


@pytest.mark.parametrize("order", [["finish_reason", "message", "id"], ["id", "message", "finish_reason"]])
def test_a_document_cut_anywhere_is_an_incomplete_answer_once_recognizable(order):
    said = {"role": "assistant", "content": [{"type": "text", "text": "Hello."}]}
    whole = {"finish_reason": "COMPLETE", "message": said, "id": "a-1"}
    body = json.dumps({key: whole[key] for key in order}).encode()
    begins = body.index(b"COMPL" if order[0] == "finish_reason" else b'"content')
    for end in range(begins, len(body)):
        response = decode(body[:end])
        assert (response.incomplete_stream, response.stop_reason) == (True, Reason.UNKNOWN)
    assert decode(body).stop_reason is Reason.END_TURN


def test_a_call_inside_a_list_is_read():
    function = {"name": "look", "arguments": "{}"}
    listed = event("tool-call-start", {"tool_calls": [{"id": "c0", "type": "function", "function": function}]})
    assert [c.name for c in decode(START, listed, ended("TOOL_CALL")).tool_calls] == ["look"]


def test_interleaved_calls_are_told_apart_by_their_index():
    grown = [opened(0), opened(1), arguments('{"a"'), arguments('{"b"', 1), arguments(": 1}"), arguments(": 2}", 1)]
    response = decode(START, *grown, ended("TOOL_CALL"))
    assert [dict(c.arguments) for c in response.tool_calls] == [{"a": 1}, {"b": 2}]


def test_arguments_without_a_start_never_run():
    response = decode(START, arguments('{"a": 1}'), ended("TOOL_CALL"))
    assert (response.tool_calls, [c.issue for c in response.broken_tool_calls]) == ((), [CallIssue.MALFORMED])


@together
@pytest.mark.parametrize("body", FOREIGN)
def test_another_dialect_is_refused_in_any_chunking(body):
    is_refused_in_any_chunking(read, body)


def test_a_long_stream_takes_linear_time():
    def read(size: int) -> None:
        pieces = [content(text="word ") for _ in range(size)]
        assert len(decode(*pieces, ended()).text) == 5 * size

    assert grows_linearly(read, 1_000)


# Nothing a provider sends raises anything else -----------------------------------------------------------------------

# fmt: off
KEYS = st.sampled_from([
    "type", "index", "delta", "message", "content", "text", "thinking", "tool_plan", "tool_calls", "function", "name",
    "arguments", "id", "finish_reason", "usage", "tokens", "billed_units", "input_tokens", "output_tokens", "error",
    "error_type", "cached_tokens",
])
WORDS = st.sampled_from([
    "message-start", "message-end", "content-start", "content-delta", "tool-plan-delta", "tool-call-start",
    "tool-call-delta", "citation-start", "COMPLETE", "MAX_TOKENS", "function", "text", "{", "\ud800",
])
# fmt: on
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | WORDS
SHAPES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=25
)
PARTS = st.fixed_dictionaries(
    {}, optional={"content": SHAPES, "tool_calls": SHAPES | st.lists(SHAPES, max_size=2), "tool_plan": SHAPES}
)
BODIES = st.fixed_dictionaries(
    {"finish_reason": SHAPES, "message": PARTS}, optional={"usage": SHAPES, "id": SHAPES, "error": SHAPES}
)
EVENTS = st.fixed_dictionaries(
    {"type": WORDS},
    optional={"index": SHAPES, "delta": st.fixed_dictionaries({"message": PARTS}) | SHAPES, "id": SHAPES},
)


@given(SHAPES | BODIES, st.none() | st.integers(0, 5))
def test_any_json_gives_a_response_or_a_decode_error(payload, cap):
    with contextlib.suppress(DecodeError):
        response = COHERE.decode_response(payload, max_tokens=cap)
        f"{response.text}{response.raw_stop_reason}{response.reasoning_content}{response.error}".encode()


@given(st.lists(SHAPES | EVENTS | EVENTS, max_size=6), st.sampled_from(["", "error", "x"]), st.booleans())
def test_any_events_read_the_same_in_any_chunking(payloads, name, done):
    reads_the_same_in_any_chunking(read, payloads, name, done=done)


@given(st.binary(max_size=200), st.sampled_from([b"", b"data: ", b"{", b'{"finish_reason":"COMPLETE","message":{']))
def test_any_bytes_give_a_response_or_a_decode_error(data, head):
    with contextlib.suppress(DecodeError):
        assert isinstance(decode(head + data), ChatResponse)
    COHERE.decode_error(500, {}, head + data)


@given(BODIES, st.data())
def test_a_document_cut_anywhere_never_ends_naturally(payload, data):
    body = json.dumps(payload).encode()
    never_ends_naturally(read, body[: data.draw(st.integers(1, len(body) - 1))])
