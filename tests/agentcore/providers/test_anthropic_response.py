"""Answers of the Messages API: what they say, why they ended, and what of them goes back."""

import json

import pytest

from agentcore.errors import DecodeError, ErrorType
from agentcore.messages import CallIssue, ChatResponse, TokenUsage, ToolCall
from agentcore.providers import get_provider
from agentcore.reasons import NormalizedStopReason as Reason
from tests.agentcore.providers.wires import (
    called,
    chunks,
    feed_and_close,
    framed,
    message,
    message_stream,
    piece,
    read,
    read_with_deltas,
    said,
    sse,
    start,
    thought,
)
from tests.agentcore.time_growth import grows_linearly
from tests.together import together

ANTHROPIC = get_provider("anthropic")
TEXT = {"type": "text", "text": "I will look."}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Rome"}}


def whole(*content: dict, cap: int | None = None, **more) -> ChatResponse:
    return ANTHROPIC.decode_response(message(*content, **more), max_tokens=cap)


def test_a_streamed_answer_is_assembled_and_shown():
    stream = message_stream(
        thought(0, "Weather…", "sig"),
        said(1, "I will look."),
        called(2, "toolu_1", "weather", '{"ci', 'ty": "Rome"}'),
        reason="tool_use",
    )
    response, deltas = read_with_deltas("anthropic", stream)
    assert response.text == "I will look."
    assert response.reasoning_content == "Weather…"
    assert response.tool_calls == (ToolCall("toolu_1", "weather", {"city": "Rome"}, '{"city": "Rome"}'),)
    assert (response.stop_reason, response.raw_stop_reason) == (Reason.TOOL_CALL, "tool_use")
    assert (response.provider, response.model, response.response_id) == ("anthropic", "claude-x", "msg_1")
    assert response.usage == TokenUsage(27, 9, 0, 4)
    assert not response.incomplete_stream
    assert "".join(delta.text for delta in deltas) == "I will look."
    assert "".join(delta.reasoning for delta in deltas) == "Weather…"
    assert [delta.tool_name for delta in deltas if delta.tool_name] == ["weather"]
    assert "".join(delta.tool_arguments for delta in deltas) == '{"city": "Rome"}'


def test_a_complete_answer_to_a_streaming_request_is_read():
    body = json.dumps(message(TEXT, CALL, reason="tool_use")).encode()
    assert read("anthropic", body) == whole(TEXT, CALL, reason="tool_use")
    assert read("anthropic", body, size=1) == whole(TEXT, CALL, reason="tool_use")


def test_claude_on_bedrock_is_read_from_its_chunks():
    usage = {"amazon-bedrock-invocationMetrics": {"inputTokenCount": 16, "outputTokenCount": 3}}
    events = [
        {"type": "message_start", "message": {"id": "msg_bdrk_1", "role": "assistant", "model": "claude-x"}},
        *said(0, "Hi"),
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop", **usage},
    ]
    response = read("anthropic", chunks(*events), size=7)
    assert (response.text, response.stop_reason, response.response_id) == ("Hi", Reason.END_TURN, "msg_bdrk_1")
    assert response.usage == TokenUsage(16, 3)


@pytest.mark.parametrize(
    ("details", "refusal"),
    [
        ({"type": "refusal", "category": "cyber", "explanation": "I cannot."}, "I cannot."),
        ({"type": "refusal", "category": "cyber"}, "cyber"),
        ({"type": "refusal", "category": None}, None),
        (None, None),
    ],
)
def test_a_refusal_is_kept_apart_from_the_text(details, refusal):
    for response in (
        whole(TEXT, reason="refusal", stop_details=details),
        read("anthropic", message_stream(said(0, "I will look."), reason="refusal", stop_details=details)),
    ):
        assert (response.stop_reason, response.raw_stop_reason) == (Reason.SAFETY_BLOCKED, "refusal")
        assert (response.text, response.refusal, response.echo) == ("I will look.", refusal, None)


def test_details_without_the_refusal_reason_are_not_a_refusal():
    response = whole(TEXT, stop_details={"type": "refusal", "explanation": "No."})
    assert (response.stop_reason, response.refusal) == (Reason.END_TURN, None)


def test_a_cache_warm_up_is_not_a_truncated_answer():
    for cap in (0, None):
        response = whole(reason="max_tokens", output=0, cap=cap)
        assert (response.text, response.diagnostics, response.broken_tool_calls) == ("", (), ())
    assert whole(reason="max_tokens", output=5, cap=5).diagnostics == ("empty_output",)


@together
@pytest.mark.parametrize("content", [[], [{"type": "text", "text": " \n"}]])
@pytest.mark.parametrize("reason", ["end_turn", "stop_sequence", "max_tokens"])
def test_an_empty_answer_gets_a_diagnostic(content, reason):
    response = whole(*content, reason=reason, stop_sequence="alpha", output=2)
    assert response.diagnostics == ("empty_output",)


def test_repeated_token_counts_are_not_added():
    later = {"input_tokens": 30, "output_tokens": 50, "cache_read_input_tokens": 0}
    later["output_tokens_details"] = {"thinking_tokens": 40}
    events = [
        {
            "type": "message_start",
            "message": {"usage": {"input_tokens": 20, "cache_read_input_tokens": 5, "output_tokens": 2}},
        },
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": later},
    ]
    assert read("anthropic", sse(*events)).usage == TokenUsage(30, 50, 40, 0)


def test_a_reason_is_valid_without_the_closing_event():
    stream = message_stream(said(0, "Hi")).rsplit(b"event: message_stop", 1)[0]
    response = read("anthropic", stream)
    assert (response.stop_reason, response.incomplete_stream, response.error) == (Reason.END_TURN, False, None)


def test_a_stream_that_breaks_off_never_ends_naturally():
    response = read(
        "anthropic", message_stream(said(0, "Once upon"), called(1, "a", "post", '{"x'), reason=None), cap=1
    )
    assert (response.stop_reason, response.text, response.incomplete_stream) == (Reason.UNKNOWN, "Once upon", True)
    assert [call.issue for call in response.broken_tool_calls] == [CallIssue.TRUNCATED]
    assert response.error is not None
    assert response.error.kind == "incomplete_stream"
    assert response.usage == TokenUsage(27, 1, 0, 4)


@pytest.mark.parametrize("reason", [None, "end_turn"])
def test_an_error_in_the_stream_takes_precedence_and_keeps_the_text(reason):
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    response = read("anthropic", message_stream(said(0, "Once"), reason=reason) + sse(error))
    assert (response.stop_reason, response.text, response.incomplete_stream) == (Reason.UNKNOWN, "Once", False)
    assert response.error is not None
    assert (response.error.kind, response.error.retryable) == ("overloaded", True)


def test_a_bedrock_exception_ends_a_claude_stream():
    exception = framed(
        {"message": "Too many tokens, please wait"}, message_type="exception", exception_type="throttlingException"
    )
    response = read("anthropic", chunks(*said(0, "Once")) + exception, size=7)
    assert response.text == "Once"
    assert response.error is not None
    assert (response.error.type, response.error.stop_reason) == (ErrorType.RATE_LIMIT, None)


def test_a_body_that_ends_early_is_an_incomplete_answer():
    body = b'{"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Once up'
    response = read("anthropic", body)
    assert (response.text, response.stop_reason, response.incomplete_stream) == ("Once up", Reason.UNKNOWN, True)


@together
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b'{"choices": []}',
        b"[]",
        b'{"message": "ok"}',
        b"data: {}\n\n",
        b"\0" * 40,
        chunks({"messageStop": {}}),
    ],
)
def test_a_payload_of_another_dialect_is_refused(body):
    decoder = ANTHROPIC.stream_decoder()
    with pytest.raises(DecodeError):
        feed_and_close(decoder, body)
    with pytest.raises(DecodeError):
        decoder.close()


def test_long_answers_are_read_in_linear_time():
    def read_long(size: int) -> None:
        pieces = [piece(0, type="text_delta", text="x" * 20) for _ in range(size)]
        arguments = [piece(1, type="input_json_delta", partial_json="1,") for _ in range(size)]
        called = start(1, type="tool_use", id="a", name="b", input={})
        stream = sse(start(0, type="text", text=""), *pieces, called, *arguments)
        response = read("anthropic", stream, size=100)
        assert (len(response.text), len(response.broken_tool_calls[0].raw)) == (20 * size, 2 * size)

    assert grows_linearly(read_long, 1_000)


def test_plain_string_content_is_text():
    body = {"role": "assistant", "content": "Hi", "stop_reason": "end_turn"}
    assert ANTHROPIC.decode_response(body).text == "Hi"
    assert ANTHROPIC.decode_response({"type": "message", **body}).diagnostics == ()


def test_a_guardrail_before_claude_on_bedrock_is_a_block():
    response = whole(TEXT, **{"amazon-bedrock-guardrailAction": "INTERVENED"})
    assert (response.stop_reason, response.raw_stop_reason) == (Reason.SAFETY_BLOCKED, "end_turn")
    assert whole(TEXT, **{"amazon-bedrock-guardrailAction": "NONE"}).stop_reason is Reason.END_TURN


@pytest.mark.parametrize(
    "event", [{"type": "ping"}, {"type": "something_new", "x": 1}, {"type": "content_block_stop", "index": 99}]
)
def test_events_without_content_change_nothing(event):
    plain = message_stream(said(0, "Hi"))
    first, rest = plain.split(b"\n\n", 1)
    assert read("anthropic", first + b"\n\n" + sse(event) + rest, size=3) == read("anthropic", plain)


def test_a_null_reason_does_not_replace_an_earlier_one_and_the_last_count_applies():
    later = {"type": "message_delta", "delta": {"stop_reason": None}, "usage": {"output_tokens": 30}}
    response = read("anthropic", message_stream(said(0, "Hi"), reason="max_tokens") + sse(later))
    assert (response.stop_reason, response.usage.output_tokens) == (Reason.MAX_TOKENS, 30)


def test_an_empty_reason_is_unknown_and_kept():
    for raw in ("", " "):
        response = whole(TEXT, reason=raw)
        assert (response.stop_reason, response.raw_stop_reason, response.error) == (Reason.UNKNOWN, raw, None)


def test_a_stream_cut_inside_an_event_keeps_the_complete_events():
    stream = message_stream(said(0, "Once"), reason=None)
    for end in range(stream.index(b"content_block_stop"), len(stream)):
        response = read("anthropic", stream[:end])
        assert (response.text, response.stop_reason, response.incomplete_stream) == ("Once", Reason.UNKNOWN, True)


def test_a_block_by_a_filter_after_the_fact_is_a_stop_reason():
    said_so = {"type": "api_error", "message": "Output blocked by content filtering policy"}
    response = read("anthropic", message_stream(said(0, "On"), reason=None) + sse({"type": "error", "error": said_so}))
    assert (response.stop_reason, response.text, response.error.retryable) == (Reason.SAFETY_BLOCKED, "On", False)
    body = json.dumps({"type": "error", "error": {**said_so, "type": "invalid_request_error"}}).encode()
    error = ANTHROPIC.decode_error(400, {}, body)
    assert (error.kind, error.stop_reason) == ("content_policy", Reason.SAFETY_BLOCKED)


def test_only_the_served_attempt_is_counted():
    served = {"input_tokens": 20, "output_tokens": 9, "iterations": [{"input_tokens": 500, "output_tokens": 500}]}
    assert whole(TEXT, usage=served).usage == TokenUsage(20, 9)


def test_a_refusal_before_any_text_is_not_reported_as_an_empty_answer():
    response = whole(reason="refusal", output=0, stop_details={"type": "refusal", "category": "cyber"})
    assert (response.stop_reason, response.text, response.diagnostics) == (Reason.SAFETY_BLOCKED, "", ())
