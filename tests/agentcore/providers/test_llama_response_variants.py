"""Answers of a llama.cpp server that are no chat completions: its own `/completion`, and the protocol's bare object."""

import json

import pytest

from agentcore.errors import DecodeError
from agentcore.messages import CallIssue, ChatResponse, TokenUsage
from agentcore.providers import get_provider
from agentcore.reasons import NormalizedStopReason as Reason
from tests.together import together

LLAMA = get_provider("llama")


def native(text: str, **fields) -> dict:
    return {"content": text, "stop": True, "tokens_predicted": 5, "tokens_evaluated": 3, "model": "m", **fields}


def stream(data: bytes, size: int) -> ChatResponse:
    decoder = LLAMA.stream_decoder()
    for start in range(0, len(data), size):
        decoder.feed(data[start : start + size])
    return decoder.close()


@together
@pytest.mark.parametrize(
    ("fields", "reason", "raw"),
    [
        ({"stop_type": "eos"}, Reason.END_TURN, "eos"),
        ({"stop_type": "word"}, Reason.END_TURN, "word"),
        ({"stop_type": "limit"}, Reason.MAX_TOKENS, "limit"),
        ({"stop_type": "none"}, Reason.UNKNOWN, "none"),
        ({"stop_type": "limit", "truncated": True}, Reason.CONTEXT_WINDOW_EXCEEDED, "limit"),
        ({"stopped_eos": False, "stopped_limit": True}, Reason.MAX_TOKENS, "limit"),
        ({"stopped_eos": True}, Reason.END_TURN, "eos"),
        ({}, Reason.UNKNOWN, None),
    ],
)
def test_the_native_completion_endpoint_names_its_stop(fields, reason, raw):
    response = LLAMA.decode_response(native('{"response": "Hi"}', **fields), max_tokens=50)
    assert (response.text, response.stop_reason, response.raw_stop_reason) == ("Hi", reason, raw)
    assert (response.usage, response.model) == (TokenUsage(3, 5), "m")
    assert LLAMA.normalize(raw) in (reason, Reason.MAX_TOKENS)


@pytest.mark.parametrize("size", [1, 9, 5000])
def test_the_native_stream_has_no_closing_event(size):
    pieces = [{"content": text, "stop": False} for text in ('{"resp', 'onse": "Grü', 'ße"}')]
    chunks = [*pieces, native("", stop_type="eos")]
    data = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)
    response = stream(data, size)
    assert (response.text, response.stop_reason, response.incomplete_stream) == ("Grüße", Reason.END_TURN, False)
    cut = stream(data[: data.index(b'"stop": true')], size)
    assert (cut.text, cut.stop_reason, cut.incomplete_stream) == ("Grüße", Reason.UNKNOWN, True)


def test_the_protocol_object_needs_no_envelope():
    """As spec/agent-loop-stop-reason reads it: the key decides, and there is no word of the provider's."""
    asked = LLAMA.decode_response({"tool_call": {"name": "look", "arguments": {"a": 1}}})
    assert (asked.stop_reason, asked.raw_stop_reason) == (Reason.TOOL_CALL, None)
    assert [(call.name, call.arguments) for call in asked.tool_calls] == [("look", {"a": 1})]
    said = LLAMA.decode_response({"response": "Hi"})
    assert (said.text, said.stop_reason, said.diagnostics) == ("Hi", Reason.END_TURN, ())


def test_a_truncated_bare_object_never_ends_naturally_and_never_runs():
    body = b'{"tool_call": {"name": "look", "arguments": {"a": 1}}}'
    for end in range(len(b'{"tool_call": {"na'), len(body)):
        response = stream(body[:end], 7)
        assert (response.tool_calls, response.incomplete_stream) == ((), True)
        assert all(call.issue is CallIssue.TRUNCATED for call in response.broken_tool_calls)
    half = stream(b'{"response": "so f', 7)
    assert (half.text, half.stop_reason, half.incomplete_stream) == ("so f", Reason.UNKNOWN, True)


@together
@pytest.mark.parametrize(
    "body", [{}, {"content": "x"}, {"response": "x", "done": True}, {"stop": True}, {"content": []}]
)
def test_any_other_payload_is_refused(body):
    with pytest.raises(DecodeError):
        LLAMA.decode_response(body)
