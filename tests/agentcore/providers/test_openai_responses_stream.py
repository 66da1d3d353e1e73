"""A streamed answer of the Responses API, and that nothing a provider sends raises anything but `DecodeError`."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.errors import DecodeError
from agentcore.messages import CallIssue, ChatResponse, Delta, TokenUsage
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

RESPONSES = get_provider("openai_responses")
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gA"}


def event(kind: str, **fields) -> bytes:
    return f"event: {kind}\ndata: ".encode() + json.dumps({"type": kind, **fields}).encode() + b"\n\n"


def ended(kind="completed", *output, **fields) -> bytes:
    usage = {"input_tokens": 5, "output_tokens": 3, "total_tokens": 8}
    response = {"id": "resp_1", "object": "response", "model": "m-1", "status": kind, "usage": usage}
    return event(f"response.{kind}", response={**response, "output": list(output), **fields})


def piece(kind: str, text: str, place: int = 0, **fields) -> bytes:
    return event(f"response.{kind}.delta", delta=text, output_index=place, item_id=f"i{place}", **fields)


def item(phase: str, value: dict, place: int = 0) -> bytes:
    return event(f"response.output_item.{phase}", item=value, output_index=place)


CREATED = event("response.created", response={"id": "resp_1", "model": "m-1", "status": "in_progress", "output": []})
CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "c1",
    "name": "look",
    "arguments": "",
    "status": "in_progress",
}
MESSAGE = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]}


read = reader("openai_responses")


def decode(*chunks: bytes, cap: int | None = None) -> ChatResponse:
    return read(*chunks, cap=cap)[0]


def test_a_stream_is_shown_as_it_arrives_and_reads_like_the_complete_answer():
    stream = [
        CREATED,
        item("added", THOUGHT),
        piece("reasoning_summary_text", "Let", summary_index=0),
        piece("reasoning_summary_text", " me.", summary_index=0),
        piece("reasoning_summary_text", "Now.", summary_index=1),
        piece("output_text", "Hel", 1),
        piece("output_text", "lo.", 1),
        item("added", CALL, 2),
        piece("function_call_arguments", '{"a"', 2),
        piece("function_call_arguments", ": 1}", 2),
    ]
    output = [
        {**THOUGHT, "summary": [{"type": "summary_text", "text": text} for text in ("Let me.", "Now.")]},
        MESSAGE,
        {**CALL, "arguments": '{"a": 1}', "status": "completed"},
    ]
    response, deltas = read(*stream, ended("completed", *output))
    assert "".join(delta.reasoning for delta in deltas) == response.reasoning_content == "Let me.\n\nNow."
    assert "".join(delta.text for delta in deltas) == response.text == "Hello."
    assert [delta.tool_name for delta in deltas if delta.tool_name] == ["look"]
    assert "".join(delta.tool_arguments for delta in deltas) == response.tool_calls[0].raw
    assert (response.stop_reason, response.usage, response.echo) == (Reason.TOOL_CALL, TokenUsage(5, 3), output)
    body = {"id": "resp_1", "object": "response", "model": "m-1", "status": "completed", "output": output}
    usage = {"usage": {"input_tokens": 5, "output_tokens": 3}}
    assert RESPONSES.decode_response(body | usage) == response == decode(json.dumps(body | usage).encode())
    # A last event without the items loses nothing.
    assert decode(*stream, ended()).tool_calls == response.tool_calls
    assert decode(*stream, ended()).text == "Hello."


def test_text_that_only_the_last_events_contain_is_shown():
    _, deltas = read(CREATED, ended("completed", MESSAGE))
    assert deltas == [Delta("Hello.")]
    _, deltas = read(item("added", CALL), item("done", {**CALL, "arguments": "{}"}))
    assert deltas == [Delta(tool_name="look"), Delta(tool_arguments="{}")]
    response, deltas = read(event("response.output_text.done", text="Hi", output_index=0), ended())
    assert (response.text, deltas) == ("Hi", [Delta("Hi")])


def test_pieces_are_told_apart_by_position_where_a_gateway_changes_the_ids():
    first, second = (event("response.output_text.delta", delta=d, output_index=0, item_id=d) for d in ("a", "b"))
    assert decode(first, second, ended()).text == "ab"
    unplaced = [event("response.output_text.delta", delta=d, item_id="m") for d in ("a", "b")]
    assert decode(*unplaced, ended()).text == "ab"


def test_a_streamed_refusal_is_not_text():
    response, deltas = read(piece("refusal", "I can"), piece("refusal", "not."), ended())
    assert (response.refusal, response.text, response.stop_reason) == ("I cannot.", "", Reason.SAFETY_BLOCKED)
    assert "".join(delta.text for delta in deltas) == ""


def test_a_streamed_custom_call_is_read():
    opened = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "sql", "input": ""}
    response = decode(item("added", opened), piece("custom_tool_call_input", "select 1"), ended())
    assert [(c.id, c.raw, c.custom) for c in response.tool_calls] == [("c1", "select 1", True)]


def test_calls_run_by_the_provider_are_skipped():
    searching = event("response.web_search_call.searching", item_id="ws_1", output_index=0)
    remote = piece("mcp_call_arguments", '{"a": 1}', 1)
    assert decode(searching, remote, piece("output_text", "Done.", 2), ended()).stop_reason is Reason.END_TURN


def test_a_call_cut_by_the_cap_is_truncated():
    opened = [item("added", CALL), piece("function_call_arguments", '{"x":48151')]
    cut = {**CALL, "arguments": '{"x":48151', "status": "incomplete"}
    details = {"incomplete_details": {"reason": "max_output_tokens"}}
    for output in ([cut], []):
        response = decode(*opened, ended("incomplete", *output, **details))
        assert (response.stop_reason, response.raw_stop_reason) == (Reason.MAX_TOKENS, "max_output_tokens")
        assert [c.issue for c in response.broken_tool_calls] == [CallIssue.TRUNCATED]


# How streams end ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("opened", [[CREATED], [CREATED, event("response.queued", response={"status": "queued"})]])
def test_a_stream_that_breaks_off_is_incomplete_and_keeps_what_arrived(opened):
    response = decode(*opened, piece("output_text", "Once"), item("added", CALL, 1))
    assert (response.stop_reason, response.raw_stop_reason, response.incomplete_stream) == (Reason.UNKNOWN, None, True)
    assert (response.text, response.error.kind) == ("Once", "incomplete_stream")
    assert [c.issue for c in response.broken_tool_calls] == [CallIssue.TRUNCATED]


def test_tokens_at_the_cap_prove_truncation_in_a_broken_stream():
    usage = {"output_tokens": 16}
    response = decode(event("response.in_progress", response={"usage": usage}), piece("output_text", "Once"), cap=16)
    assert (response.stop_reason, response.incomplete_stream, response.error) == (Reason.MAX_TOKENS, True, None)


def test_a_done_marker_without_a_final_event_is_an_unknown_end():
    response = decode(piece("output_text", "Hi"), item("added", {**CALL, "arguments": "{}"}, 1), b"data: [DONE]\n\n")
    assert (response.stop_reason, response.raw_stop_reason, response.incomplete_stream) == (Reason.UNKNOWN, None, False)
    assert [c.id for c in response.tool_calls] == ["c1"]


@together
@pytest.mark.parametrize(
    "last",
    [
        event("error", code="rate_limit_exceeded", message="Slow down.", param=None),
        event("error", error={"code": "rate_limit_exceeded", "message": "Slow down."}),
        b'data: {"type": "error", "code": "rate_limit_exceeded", "message": "Slow down."}\n\n',
        b'data: {"error": {"code": "rate_limit_exceeded", "message": "Slow down."}}\n\n',
        ended("failed", error={"code": "rate_limit_exceeded", "message": "Slow down."}),
    ],
)
def test_an_error_in_the_stream_ends_it_and_keeps_the_text(last):
    response = decode(CREATED, piece("output_text", "Once"), last)
    assert (response.error.kind, response.error.message) == ("rate_limit", "Slow down.")
    assert (response.stop_reason, response.text, response.incomplete_stream) == (Reason.UNKNOWN, "Once", False)


@pytest.mark.parametrize(
    ("kind", "reason"), [("incomplete", Reason.UNKNOWN), ("failed", Reason.UNKNOWN), ("cancelled", Reason.CANCELLED)]
)
def test_a_final_event_overrides_a_status_that_always_reports_completed(kind, reason):
    response = decode(CREATED, piece("output_text", "He"), ended(kind, MESSAGE, status="completed"))
    assert (response.stop_reason, response.raw_stop_reason) == (reason, kind)
    assert (response.error is not None) is (kind == "failed")


def test_a_status_more_specific_than_its_event_is_used():
    details = {"reason": "max_output_tokens"}
    response = decode(CREATED, ended("completed", MESSAGE, status="incomplete", incomplete_details=details))
    assert (response.stop_reason, response.raw_stop_reason) == (Reason.MAX_TOKENS, "max_output_tokens")


def test_an_error_after_the_end_overrides_it():
    assert decode(ended("completed", MESSAGE), event("error", message="x")).error.message == "x"


def test_a_truncated_document_is_not_a_natural_end():
    body = json.dumps({"object": "response", "status": "completed", "output": [MESSAGE]}).encode()
    response = decode(body[:-8])
    assert (response.incomplete_stream, response.stop_reason) == (True, Reason.UNKNOWN)
    assert response.text == "Hell"


@together
@pytest.mark.parametrize("body", FOREIGN)
def test_another_dialect_is_refused_in_any_chunking(body):
    is_refused_in_any_chunking(read, body)


def test_a_long_stream_takes_linear_time():
    def read(size: int) -> None:
        pieces = [piece("output_text", "word ") for _ in range(size)]
        assert len(decode(*pieces, ended()).text) == 5 * size

    assert grows_linearly(read, 1_000)


# Nothing a provider sends raises anything else -----------------------------------------------------------------------

# fmt: off
KEYS = st.sampled_from([
    "type", "response", "output", "status", "item", "delta", "content", "text", "arguments", "input", "name", "call_id",
    "id", "output_index", "content_index", "summary_index", "item_id", "summary", "refusal", "usage", "output_tokens",
    "input_tokens", "output_tokens_details", "incomplete_details", "reason", "error", "code", "message", "object",
    "model", "action", "max_output_tokens", "phase",
])
TYPES = st.sampled_from([
    "message", "reasoning", "function_call", "custom_tool_call", "computer_call", "shell_call_output", "output_text",
    "refusal", "summary_text", "response.completed", "response.incomplete", "response.failed", "response.created",
    "response.output_item.added", "response.output_item.done", "response.output_text.delta", "error",
    "response.function_call_arguments.delta", "response.reasoning_summary_text.delta", "response.refusal.done",
    "response.custom_tool_call_input.done", "completed", "incomplete", "max_output_tokens", "response", "{", "\ud800",
])
# fmt: on
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | TYPES
SHAPES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(KEYS, inner, max_size=5)
        | st.fixed_dictionaries({"type": TYPES}, optional={"content": inner, "arguments": inner, "call_id": inner})
    ),
    max_leaves=25,
)
BODIES = st.fixed_dictionaries(
    {"object": st.just("response"), "output": st.lists(SHAPES, max_size=3)},
    optional={"status": SHAPES, "usage": SHAPES, "error": SHAPES, "incomplete_details": SHAPES, "id": SHAPES},
)
EVENTS = st.fixed_dictionaries(
    {"type": TYPES}, optional={"item": SHAPES, "delta": LEAVES, "output_index": st.integers(0, 2), "response": SHAPES}
)


@given(SHAPES | BODIES, st.none() | st.integers(0, 5))
def test_any_json_gives_a_response_or_a_decode_error(payload, cap):
    with contextlib.suppress(DecodeError):
        response = RESPONSES.decode_response(payload, max_tokens=cap)
        f"{response.text}{response.raw_stop_reason}{response.model}{response.refusal}{response.error}".encode()


@given(st.lists(SHAPES | EVENTS | EVENTS, max_size=6), st.sampled_from(["", "error", "x"]), st.booleans())
def test_any_events_read_the_same_in_any_chunking(payloads, name, done):
    reads_the_same_in_any_chunking(read, payloads, name, done=done)


@given(
    st.binary(max_size=200), st.sampled_from([b"", b"data: ", b"{", b'{"object":"response","output":[', b"event: x"])
)
def test_any_bytes_give_a_response_or_a_decode_error(data, head):
    with contextlib.suppress(DecodeError):
        assert isinstance(decode(head + data), ChatResponse)
    RESPONSES.decode_error(500, {}, head + data)


@given(BODIES, st.data())
def test_a_document_cut_anywhere_never_ends_naturally(payload, data):
    body = json.dumps(payload).encode()
    never_ends_naturally(read, body[: data.draw(st.integers(1, len(body) - 1))])
