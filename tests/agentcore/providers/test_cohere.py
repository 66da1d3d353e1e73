"""Cohere's chat API: requests, whole answers and errors."""

import json

import pytest

from agentcore.errors import DecodeError, ErrorType
from agentcore.messages import (
    CallIssue,
    ChatRequest,
    ChatResponse,
    Continuation,
    Message,
    Role,
    TokenUsage,
    ToolCall,
    ToolSpec,
)
from agentcore.providers import get_provider
from agentcore.reasons import NormalizedStopReason as Reason
from tests.together import together

COHERE = get_provider("cohere")
ASK = Message(Role.USER, "Tell me.")
USAGE = {
    "billed_units": {"input_tokens": 41, "output_tokens": 25},
    "cached_tokens": 144,
    "tokens": {"input_tokens": 1441, "output_tokens": 54},
}


def body(*messages: Message, **fields):
    return COHERE.encode_request(ChatRequest("m-1", messages or (ASK,), 60, **fields))


def answer(reason="COMPLETE", *, cap=None, usage=None, **message) -> ChatResponse:
    payload = {"id": "a-1", "finish_reason": reason, "message": {"role": "assistant", **message}, "usage": usage}
    return COHERE.decode_response(payload, max_tokens=cap)


def call(arguments, call_id="c1"):
    return {"id": call_id, "type": "function", "function": {"name": "look", "arguments": arguments}}


def text(said):
    return [{"type": "text", "text": said}]


# Requests ------------------------------------------------------------------------------------------------------------


def test_a_request_in_the_format_of_this_api():
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    assert body(
        system_prompt="Be brief.", tools=(ToolSpec("look", "Looks.", schema),), envelope_schema={"type": "object"}
    ) == {
        "model": "m-1",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Tell me."}],
        "max_tokens": 60,
        "stream": True,
        "tools": [{"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": schema}}],
        "response_format": {"type": "json_object", "json_schema": {"type": "object"}},
    }
    assert body(stream=False)["stream"] is False


@together
@pytest.mark.parametrize("said", ["", " ", "a\r\n\tb ", "é😀\u202e<script>", "x" * 100_000])
@pytest.mark.parametrize("role", [Role.SYSTEM, Role.USER, Role.ASSISTANT])
def test_text_is_sent_as_one_string_byte_for_byte(role, said):
    assert body(Message(role, said))["messages"] == [{"role": role.value, "content": said}]


def test_calls_are_sent_only_in_pairs_with_their_results():
    calls = (ToolCall("c1", "look", {"a": 1}, '{"a":  1}'), ToolCall("c2", "look", issue=CallIssue.TRUNCATED))
    sent = body(ASK, Message(Role.ASSISTANT, "Now.", calls), Message(Role.TOOL, "seen", tool_call_id="c1"))["messages"]
    assert sent[1:] == [
        {"role": "assistant", "content": "Now.", "tool_calls": [call('{"a":  1}')]},
        {"role": "tool", "tool_call_id": "c1", "content": "seen"},
    ]
    assert body(Message(Role.ASSISTANT, "So", calls))["messages"] == [{"role": "assistant", "content": "So"}]


def test_a_free_text_call_of_another_dialect_becomes_one_with_arguments():
    message = Message(Role.ASSISTANT, "", (ToolCall("c1", "look", raw="x", custom=True),))
    sent = body(message, Message(Role.TOOL, "seen", tool_call_id="c1"))["messages"]
    assert sent[0] == {"role": "assistant", "tool_calls": [call('{"input": "x"}')]}


def test_the_plan_and_the_reasoning_are_sent_back_with_the_calls():
    thoughts = [{"type": "thinking", "thinking": "Hm."}]
    message = {"tool_plan": "I will look.", "content": thoughts, "tool_calls": [call("{}")]}
    response = answer("TOOL_CALL", **message)
    sent = body(
        Message(Role.ASSISTANT, "", response.tool_calls, echo=response.echo),
        Message(Role.TOOL, "seen", tool_call_id="c1"),
    )["messages"]
    assert sent[0] == {"role": "assistant", **message}
    assert answer("TOOL_CALL", tool_calls=[call("{}")]).echo is None
    assert answer(content=[*thoughts, *text("So.")]).echo is None


@pytest.mark.parametrize("foreign", [{"role": "assistant", "content": "x"}, {"role": "model"}, [{"text": "x"}], "x"])
def test_an_echo_of_another_dialect_is_not_sent(foreign):
    assert body(Message(Role.ASSISTANT, "x", echo=foreign))["messages"] == [{"role": "assistant", "content": "x"}]


def test_a_result_without_its_call_is_not_sent():
    assert body(ASK, Message(Role.TOOL, "seen", tool_call_id="c9"))["messages"] == [
        {"role": "user", "content": "Tell me."}
    ]


def test_a_prefill_is_not_attempted():
    asked = body(continuation=Continuation("Once", "Continue."), extra={"prefill": True})
    assert asked == body(continuation=Continuation("Once", "Continue."))
    assert asked["messages"][-1]["role"] == "user"


def test_a_continuation_ends_with_a_user_message_and_puts_the_hint_in_the_system_prompt():
    sent = body(system_prompt="Be brief.", continuation=Continuation("Once upon ", "Continue."))["messages"]
    assert sent == [
        {"role": "system", "content": "Be brief.\n\nContinue."},
        {"role": "user", "content": "Tell me."},
        {"role": "assistant", "content": "Once upon "},
        {
            "role": "user",
            "content": "Your previous response was interrupted and ended with `Once upon `. Continue from there.",
        },
    ]
    assert body(continuation=Continuation("", "Go on."))["messages"] == [
        {"role": "system", "content": "Go on."},
        {"role": "user", "content": "Tell me."},
    ]


def test_settings_are_not_sent_and_never_override_the_machine():
    settings = {"hint_role": "user", "max_tokens_field": "max_completion_tokens", "prefill": False}
    assert body(extra={**settings, "model": "x", "messages": [], "max_tokens": 1, "stream": False}) == body()
    assert body(extra={"temperature": 0.5})["temperature"] == 0.5


def test_the_address_and_the_headers():
    assert (COHERE.path(ChatRequest("m", (ASK,), 1)), COHERE.name, COHERE.output_floor) == ("/v2/chat", "cohere", 1)
    assert COHERE.headers("key")["Authorization"] == "Bearer key"
    assert "Authorization" not in COHERE.headers() | COHERE.headers("")


# Answers -------------------------------------------------------------------------------------------------------------


def test_a_plain_answer_is_read_completely():
    response = answer(content=text("Hello."), usage=USAGE)
    assert response == ChatResponse(
        text="Hello.",
        usage=TokenUsage(1441, 54, 0, 144),
        quota_metadata={"billed_units": {"input_tokens": 41, "output_tokens": 25}},
        stop_reason=Reason.END_TURN,
        raw_stop_reason="COMPLETE",
        reason_trail=response.reason_trail,
        provider="cohere",
        response_id="a-1",
    )
    billed = {"billed_units": {"input_tokens": 4, "output_tokens": 2}}
    assert answer(content="Hello.", usage=billed).usage == TokenUsage(4, 2)


def test_billed_units_are_left_out_where_they_cannot_be_stored():
    response = answer(content="Hello.", usage={"billed_units": {"input_tokens": 4, "search_units": float("inf")}})
    assert response.quota_metadata is None
    assert response.text == "Hello."


WORDS = [
    ("COMPLETE", Reason.END_TURN),
    ("STOP_SEQUENCE", Reason.END_TURN),
    ("MAX_TOKENS", Reason.MAX_TOKENS),
    ("ERROR_LIMIT", Reason.CONTEXT_WINDOW_EXCEEDED),
    ("ERROR_TOXIC", Reason.SAFETY_BLOCKED),
    ("USER_CANCEL", Reason.CANCELLED),
    ("ERROR", Reason.UNKNOWN),
    ("TIMEOUT", Reason.UNKNOWN),
    ("SOLAR_FLARE", Reason.UNKNOWN),
    ("", Reason.UNKNOWN),
    (None, Reason.UNKNOWN),
]


@together
@pytest.mark.parametrize(("word", "reason"), WORDS)
def test_every_stop_reason_is_mapped_and_kept(word, reason):
    response = answer(word, content=text("Some text"))
    assert (response.stop_reason, response.raw_stop_reason, response.text) == (reason, word, "Some text")
    assert COHERE.normalize(word) is reason
    assert COHERE.normalize(word and f" {word.lower()}\n") is reason


def test_calls_require_the_tool_call_reason_and_the_reverse():
    assert COHERE.normalize("TOOL_CALL") is Reason.TOOL_CALL
    assert answer("TOOL_CALL", tool_calls=[call("{}")]).stop_reason is Reason.TOOL_CALL
    assert answer("COMPLETE", tool_calls=[call("{}")]).stop_reason is Reason.TOOL_CALL
    assert answer("TOOL_CALL", content=text("Hi")).stop_reason is Reason.END_TURN
    assert answer("MAX_TOKENS", tool_calls=[call('{"a": 1}')]).tool_calls[0].shown_whole


def test_the_plan_and_the_reasoning_are_not_text():
    content = [{"type": "thinking", "thinking": "Hm."}, *text("So.")]
    response = answer(content=content, tool_plan="I will look.")
    assert (response.text, response.reasoning_content) == ("So.", "Hm.\n\nI will look.")
    assert answer("MAX_TOKENS", content=content[:1]).diagnostics == ("empty_output",)


@pytest.mark.parametrize("arguments", ['{"a": "b', "", " ", "{"])
def test_a_call_cut_by_the_cap_is_truncated(arguments):
    response = answer("MAX_TOKENS", tool_plan="I will.", tool_calls=[call("{}", "c0"), call(arguments)])
    assert [(c.issue, c.raw) for c in response.broken_tool_calls] == [(CallIssue.TRUNCATED, arguments)]
    assert ([c.id for c in response.tool_calls], response.echo) == (["c0"], None)


def test_an_invalid_call_is_malformed_unless_its_tokens_reach_the_cap():
    assert answer("TOOL_CALL", tool_calls=[call("{")], usage=USAGE).broken_tool_calls[0].issue is CallIssue.MALFORMED
    response = answer("TOOL_CALL", tool_calls=[call("{")], usage=USAGE, cap=54)
    assert (response.stop_reason, response.raw_stop_reason) == (Reason.MAX_TOKENS, "TOOL_CALL")
    assert response.broken_tool_calls[0].issue is CallIssue.TRUNCATED


def test_a_body_without_a_reason_is_complete_but_unknown():
    message = {"role": "assistant", "content": text("Hello.")}
    for payload in ({"id": "a", "message": message}, {"message": message, "finish_reason": None}):
        response = COHERE.decode_response(payload)
        assert (response.text, response.stop_reason, response.raw_stop_reason) == ("Hello.", Reason.UNKNOWN, None)
        assert not response.incomplete_stream
    assert COHERE.decode_response({"finish_reason": "COMPLETE", "message": None}).diagnostics == ("empty_output",)
    with pytest.raises(DecodeError):
        COHERE.decode_response({"model": "m", "message": {"role": "assistant", "content": "x"}, "done": True})


@together
@pytest.mark.parametrize("payload", [{}, {"message": {"role": "x"}}, {"choices": []}, {"type": "message_start"}, [], 7])
def test_another_dialect_is_refused(payload):
    with pytest.raises(DecodeError, match="no answer of Cohere's chat API"):
        COHERE.decode_response(payload)


# Errors --------------------------------------------------------------------------------------------------------------


@together
@pytest.mark.parametrize(
    ("status", "said", "kind", "error_type", "stop_reason", "retryable"),
    [
        (
            400,
            {"message": "too many tokens: size limit exceeded by 11326 tokens.", "error_type": "TOO_MANY_TOKENS"},
            "context_length",
            ErrorType.MODEL,
            Reason.CONTEXT_WINDOW_EXCEEDED,
            False,
        ),
        (
            400,
            {"message": "too many tokens: max tokens must be less than or equal to 4096, the maximum output"},
            "invalid_request",
            ErrorType.MODEL,
            None,
            False,
        ),
        (401, {"message": "invalid api token"}, "auth", ErrorType.MODEL, None, False),
        (402, {"message": "Please add or update your payment method"}, "quota", ErrorType.MODEL, None, False),
        (404, {"message": "model 'x' not found"}, "not_found", ErrorType.MODEL, None, False),
        (422, {"message": "invalid type"}, "invalid_request", ErrorType.MODEL, None, False),
        (429, {"message": "You are past the limit"}, "rate_limit", ErrorType.RATE_LIMIT, None, True),
        (500, {"message": "internal server error"}, "server", ErrorType.MODEL, None, True),
        (503, {"message": "unavailable"}, "unavailable", ErrorType.MODEL, None, True),
        (504, {"message": "timeout"}, "timeout", ErrorType.TIMEOUT, None, True),
    ],
)
def test_a_flat_error_is_read_by_its_status_and_message(status, said, kind, error_type, stop_reason, retryable):
    error = COHERE.decode_error(status, {}, json.dumps({"id": "e-1", **said}).encode())
    assert (error.kind, error.type, error.stop_reason, error.retryable) == (kind, error_type, stop_reason, retryable)
    assert (error.status, error.message, error.code) == (status, said["message"], said.get("error_type"))


def test_an_error_inside_a_success_response_is_an_error():
    response = COHERE.decode_response({"id": "e-1", "message": "internal error"})
    assert (response.error.kind, response.error.message) == ("server", "internal error")
    assert (response.stop_reason, response.raw_stop_reason) == (Reason.UNKNOWN, "error")
    assert COHERE.decode_error(200, {}, b"<html>").kind == "not_dialect"
    assert COHERE.decode_error(429, {"retry-after": "3"}, b"").retry_after == 3.0
