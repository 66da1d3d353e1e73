"""Servers that speak the chat API with an accent (providers.md §1.3–1.5): whole streams, as each of them sends them."""

import json
from typing import Any

import pytest

from agentcore.errors import ErrorType
from agentcore.messages import CallIssue, TokenUsage
from agentcore.reasons import NormalizedStopReason as Reason
from tests.agentcore.providers.wires import read

DONE = b"data: [DONE]\n\n"


def event(payload: object, name: str = "") -> bytes:
    return (f"event: {name}\n" if name else "").encode() + f"data: {json.dumps(payload)}\n\n".encode()


def chunk(reason: str | None = None, *, choice: dict[str, Any] | None = None, **delta: Any) -> bytes:
    return event({"choices": [{"index": 0, "delta": delta, "finish_reason": reason, **(choice or {})}]})


def call(arguments: str, **more: Any) -> dict[str, Any]:
    return {"index": 0, "id": "c1", "type": "function", "function": {"name": "look", "arguments": arguments}, **more}


def usage(given: int, **more: Any) -> dict[str, Any]:
    return {"prompt_tokens": 5, "completion_tokens": given, "total_tokens": 5 + given, **more}


def test_groq_ends_a_stream_with_an_error_event_only():
    error = {"message": "Failed to call a function.", "type": "invalid_request_error", "code": "tool_use_failed"}
    failed = {**error, "failed_generation": '<function=look>{"a":', "status_code": 400}
    for size in (0, 1):
        response = read("openai", chunk(content="Let me") + event({"error": failed}, "error"), size=size)
        assert (response.text, response.stop_reason, response.tool_calls) == ("Let me", Reason.UNKNOWN, ())
        assert response.error is not None
        assert (response.error.kind, response.error.code) == ("invalid_request", "tool_use_failed")
        assert (response.error.status, response.error.retryable) == (400, False)


def test_openrouter_sends_keep_alives_repeats_the_reason_and_can_still_fail():
    start = b": OPENROUTER PROCESSING\n\n" + chunk(content="So") + chunk("length") + chunk("length")
    assert read("openai", start + DONE).stop_reason is Reason.MAX_TOKENS
    failed = event(
        {
            "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": None}],
            "error": {"code": 400, "message": "Token limit reached"},
        }
    )
    response = read("openai", start + failed + DONE, size=1)
    assert (response.text, response.stop_reason) == ("So", Reason.UNKNOWN)
    assert response.error is not None
    assert response.error.message == "Token limit reached"


@pytest.mark.parametrize("native", ["max_output_tokens", "length", "MAX_TOKENS"])
def test_openrouters_own_stop_reason_never_hides_the_native_one(native: str):
    wire = chunk(tool_calls=[call('{"where": "K')]) + chunk("tool_calls", choice={"native_finish_reason": native})
    response = read("openai", wire + DONE)
    assert (response.stop_reason, response.raw_stop_reason) == (Reason.MAX_TOKENS, native)
    assert [broken.issue for broken in response.broken_tool_calls] == [CallIssue.TRUNCATED]


@pytest.mark.parametrize("arguments", ["", '{"where": "K'])
def test_deepseek_sends_keep_alives_and_truncates_a_call_before_or_in_its_arguments(arguments: str):
    wire = b"\n\n: keep-alive\n\n" + chunk(tool_calls=[call(arguments)]) + b": keep-alive\n\n"
    response = read("openai", wire + chunk("length") + DONE, size=1)
    assert (response.stop_reason, response.tool_calls) == (Reason.MAX_TOKENS, ())
    assert [(broken.raw, broken.issue) for broken in response.broken_tool_calls] == [(arguments, CallIssue.TRUNCATED)]


def test_deepseek_runs_out_of_resources():
    response = read("openai", chunk(content="So") + chunk("insufficient_system_resource") + DONE)
    assert (response.text, response.stop_reason) == ("So", Reason.UNKNOWN)
    assert response.raw_stop_reason == "insufficient_system_resource"


@pytest.mark.parametrize("label", ["tool_calls", "stop"])
def test_vllm_labels_a_call_truncated_by_the_cap_as_ended(label: str):
    wire = chunk(tool_calls=[call('{"where": "K')]) + chunk(label, choice={"stop_reason": None})
    wire += event({"choices": [], "usage": usage(16)}) + DONE
    response = read("openai", wire, cap=16)
    assert (response.stop_reason, response.raw_stop_reason) == (Reason.MAX_TOKENS, label)
    assert [broken.issue for broken in response.broken_tool_calls] == [CallIssue.TRUNCATED]
    # With tokens left it is no cut: the model wrote it badly.
    assert read("openai", wire, cap=17).broken_tool_calls[0].issue is CallIssue.MALFORMED


def test_mistral_sends_reasoning_in_parts_and_names_the_context_window():
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}
    wire = chunk(content=[thought]) + chunk(content=[{"type": "text", "text": "So"}]) + chunk(content="!")
    response = read("openai", wire + chunk("model_length") + DONE, size=1)
    assert (response.text, response.reasoning_content) == ("So!", "Hm")
    assert response.stop_reason is Reason.CONTEXT_WINDOW_EXCEEDED


def test_snowflake_sends_no_reason_and_an_empty_call_on_every_message():
    empty = {"function_call": {"name": "", "arguments": ""}}
    wire = chunk(content="So", **empty) + event({"choices": [], "usage": usage(3)}) + DONE
    response = read("openai", wire)
    assert (response.text, response.tool_calls, response.broken_tool_calls) == ("So", (), ())
    assert (response.stop_reason, response.raw_stop_reason, response.error) == (Reason.UNKNOWN, None, None)
    assert response.usage == TokenUsage(5, 3)


def test_perplexity_repeats_the_message_beside_its_deltas_and_the_usage_on_every_chunk():
    def said(delta: str, so_far: str, tokens: int, reason: str | None = None) -> bytes:
        message = {"role": "assistant", "content": so_far}
        one = {"index": 0, "delta": {"content": delta}, "message": message, "finish_reason": reason}
        return event({"choices": [one], "usage": usage(tokens)})

    response = read("openai", said("So", "So", 1) + said(" on", "So on", 2) + said("", "So on", 2, "stop"))
    assert (response.text, response.stop_reason, response.usage) == ("So on", Reason.END_TURN, TokenUsage(5, 2))


def test_moonshot_behind_novita_sends_calls_without_any_reason():
    wire = chunk(tool_calls=[call("{}")]) + event({"choices": [], "usage": usage(3)}) + DONE
    response = read("openai", wire)
    assert (response.stop_reason, response.raw_stop_reason, len(response.tool_calls)) == (Reason.UNKNOWN, None, 1)


def test_zai_uses_one_stop_reason_for_failures_and_another_for_blocks():
    broken = read("openai", chunk(content="So") + chunk("network_error") + DONE)
    assert (broken.stop_reason, broken.raw_stop_reason) == (Reason.UNKNOWN, "network_error")
    assert read("openai", chunk("sensitive") + DONE).stop_reason is Reason.SAFETY_BLOCKED


def test_a_rate_limit_after_the_first_words_keeps_the_text_and_its_type():
    error = {"error": {"code": 429, "message": "slow down", "metadata": {"error_type": "rate_limit_exceeded"}}}
    response = read("openai", chunk(content="So") + event(error))
    assert response.text == "So"
    assert response.error is not None
    assert (response.error.type, response.error.code) == (ErrorType.RATE_LIMIT, "rate_limit_exceeded")
