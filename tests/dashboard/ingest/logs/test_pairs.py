"""Requests and answers in JSONL, whichever dialect they speak and under whichever names they stand."""

import json
from typing import Any

import pytest

from tests.dashboard.ingest.logs.writing import anthropic_answer, calls_in, chat_answer, chat_request, faults_in, lines
from tests.together import together

RESPONSES = {
    "id": "resp_1", "object": "response", "status": "incomplete", "model": "gpt-5",
    "incomplete_details": {"reason": "max_output_tokens"},
    "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Once upon"}]}],
    "usage": {"input_tokens": 9, "output_tokens": 16},
}  # fmt: skip
GEMINI = {
    "candidates": [{"content": {"role": "model", "parts": [{"text": "Once upon"}]}, "finishReason": "MAX_TOKENS"}],
    "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 16},
}
OLLAMA = {
    "model": "llama3", "created_at": "2026-03-01T10:00:00Z", "message": {"role": "assistant", "content": "Once upon"},
    "done": True, "done_reason": "length", "prompt_eval_count": 9, "eval_count": 16,
}  # fmt: skip
BEDROCK = {
    "output": {"message": {"role": "assistant", "content": [{"text": "Once upon"}]}}, "stopReason": "max_tokens",
    "usage": {"inputTokens": 9, "outputTokens": 16, "totalTokens": 25},
}  # fmt: skip
COHERE = {
    "id": "c1", "finish_reason": "MAX_TOKENS",
    "message": {"role": "assistant", "content": [{"type": "text", "text": "Once upon"}]},
    "usage": {"tokens": {"input_tokens": 9, "output_tokens": 16}},
}  # fmt: skip
CONTENTS = {"contents": [{"role": "user", "parts": [{"text": "Tell me a story."}]}]}
CLAUDE = chat_request(model="claude-sonnet-4-5", system="Be brief.")
DIALECTS: list[tuple[str, Any, Any, str]] = [
    ("openai", chat_request(), chat_answer(), "length"),
    ("openai_responses", {"model": "gpt-5", "input": "Tell me a story."}, RESPONSES, "max_output_tokens"),
    ("anthropic", CLAUDE, anthropic_answer(), "max_tokens"),
    ("gemini", CONTENTS, GEMINI, "MAX_TOKENS"),
    ("ollama", chat_request(), OLLAMA, "length"),
    ("bedrock", chat_request(), BEDROCK, "max_tokens"),
    ("cohere", chat_request(), COHERE, "MAX_TOKENS"),
]


@pytest.mark.parametrize(("dialect", "request_", "answer", "word"), DIALECTS)
def test_each_dialect_is_recognized_by_its_answer_and_read_by_its_codec(
    dialect: str, request_: Any, answer: Any, word: str
) -> None:
    (call,) = calls_in(lines({"request": request_, "response": answer}))
    assert (call.provider, call.content.text, call.exchange.answer.raw_stop_reason) == (dialect, "Once upon", word)
    assert call.exchange.answer.stop_reason == "max_tokens"
    assert (call.usage.input_tokens, call.usage.output_tokens) == (9, 16)
    assert call.content.input[-1].text == "Tell me a story."


CHUNKS = [
    {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": end}]}
    for text, end in (("Once", None), (" upon", None), ("", "length"))
]
SSE = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in CHUNKS) + "data: [DONE]\n\n"
EVENTS = [
    {"type": "message_start", "message": {**anthropic_answer(), "content": [], "stop_reason": None}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Once upon"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 16}},
    {"type": "message_stop"},
]
FIRST = {**OLLAMA, "message": {"role": "assistant", "content": "Once"}, "done": False}
LINES = [FIRST, {**OLLAMA, "message": {"content": " upon"}}]


@pytest.mark.parametrize("streamed", [SSE, CHUNKS, EVENTS, LINES, "".join(json.dumps(one) + "\n" for one in LINES)])
def test_a_streamed_answer_is_read_as_text_or_in_chunks(streamed: Any) -> None:
    (call,) = calls_in(lines({"request": chat_request(stream=True), "response": streamed}))
    assert (call.content.text, call.exchange.answer.stop_reason, call.stream) == ("Once upon", "max_tokens", True)


NAMES: list[dict[str, Any]] = [
    {"input": chat_request(), "output": chat_answer()},
    {"request": {"path": "/v1/chat/completions", "body": chat_request()}, "response": {"body": chat_answer()}},
    {"request": json.dumps(chat_request()), "response": json.dumps(chat_answer())},
    {"messages": chat_request()["messages"], "max_tokens": 16, "model": "gpt-4o", "response": chat_answer()},
    {"model": "gpt-4o", "prompt": chat_request()["messages"], "completion": chat_answer()},
    {"kwargs": chat_request(), "result": chat_answer()},
]  # fmt: skip


@pytest.mark.parametrize("record", NAMES)
def test_the_common_field_names_are_known(record: Any) -> None:
    (call,) = calls_in(lines(record))
    assert (call.model, call.content.text, call.content.input[-1].text) == ("gpt-4o", "Once upon", "Tell me a story.")


def test_an_error_is_read_with_its_status() -> None:
    error = {"error": {"message": "Slow down", "type": "rate_limit", "code": "rate_limit_exceeded"}}
    (call,) = calls_in(lines({"request": chat_request(), "response": {"status_code": 429, "body": error}}))
    assert (call.error.type, call.error.status, call.error.message) == ("rate_limit", 429, "Slow down")


def test_an_error_without_a_status_has_none() -> None:
    (call,) = calls_in(lines({"request": chat_request(), "error": "Connection reset"}))
    assert (call.error.status, call.error.message) == (None, "Connection reset")


def test_the_duration_of_a_call_is_that_of_its_record() -> None:
    pair = {"request": chat_request(), "response": chat_answer(), "timestamp": 1_772_359_200.5, "latency_ms": 1500}
    (call,) = calls_in(lines(pair))
    assert (call.span.start, call.span.end - call.span.start) == (1_772_359_200_500_000_000, 1_500_000_000)


def test_a_key_in_a_url_is_not_kept() -> None:
    url = "https://user:secret@example.com/v1beta/models/gemini-2.5-pro:generateContent?key=secret"
    (call,) = calls_in(lines({"request": CONTENTS, "response": GEMINI, "url": url}))
    assert call.span.attributes["url.full"] == "https://example.com/v1beta/models/gemini-2.5-pro:generateContent"
    assert call.model == "gemini-2.5-pro"


def test_an_answer_that_its_codec_cannot_read_is_explained() -> None:
    ((line, words),) = faults_in(lines({"request": chat_request(), "response": {"body": "data: nothing"}}))
    assert line == 1
    assert words.startswith("The answer is not in the openai dialect: ")


@together
@pytest.mark.parametrize("value", [10**400, -(10**400), 1e300, -1, True, "1" * 30, [], {}])
@pytest.mark.parametrize("name", ["timestamp", "ended_at", "duration_ms", "latency", "status_code", "first_token_ms"])
def test_an_impossible_number_is_omitted(name: str, value: Any) -> None:
    (call,) = calls_in(lines({"request": chat_request(), "response": chat_answer(), name: value}))
    assert call.exchange is not None
    assert call.exchange.status is None
    assert not call.exchange.timed
    assert call.first_token is None


@pytest.mark.parametrize("answer", ["data: {broken\n\n", "event: x\ndata: {}\n\n", "data: 3\n\ndata: [DONE]\n\n"])
def test_messages_about_an_imported_log_do_not_suggest_a_base_url(answer: str) -> None:
    """It is said to whoever calls a provider."""
    ((_, words),) = faults_in(lines({"request": chat_request(), "response": answer, "status": 200}))
    assert "base URL" not in words
    assert words.startswith("The answer is not in the openai dialect: ")
