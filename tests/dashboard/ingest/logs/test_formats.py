"""HTTP archives, cassettes, batch results, LiteLLM's and Langfuse's exports: each call in them, as it went."""

import base64
import gzip
import json
from typing import Any

import pytest
import yaml

from dashboard.ingest.logs.values import Skipped
from tests.dashboard.ingest.logs.writing import (
    anthropic_answer,
    calls_in,
    chat_answer,
    chat_request,
    faults_in,
    found_in,
    lines,
)

URL = "https://api.openai.com/v1/chat/completions"
ASKED, ANSWER = json.dumps(chat_request()), json.dumps(chat_answer())


def entry(url: str = URL, text: str = ANSWER, status: int = 200, **content: Any) -> dict[str, Any]:
    return {
        "startedDateTime": "2026-03-01T10:00:00.000Z", "time": 1500.5,
        "request": {
            "method": "POST", "url": url, "headers": [{"name": "Authorization", "value": "Bearer secret"}],
            "postData": {"mimeType": "application/json", "text": ASKED},
        },
        "response": {
            "status": status, "headers": [{"name": "Content-Type", "value": "application/json"}],
            "content": {"mimeType": "application/json", "text": text, **content},
        },
    }  # fmt: skip


def archive(*entries: Any) -> bytes:
    return json.dumps({"log": {"version": "1.2", "pages": [], "entries": list(entries)}}, indent=1).encode()


def test_the_calls_of_an_archive_are_read_and_other_requests_skipped() -> None:
    page = entry("https://example.com/")
    page["request"].pop("postData")
    packed = base64.b64encode(ANSWER.encode()).decode()
    content = archive(page, entry(), entry(text=packed, encoding="base64"))
    first, second = calls_in(content)
    assert [type(one) for one in found_in(content)].count(Skipped) == 1
    assert first.content == second.content
    assert (first.content.text, first.exchange.status, first.exchange.content_type) == (
        "Once upon",
        200,
        "application/json",
    )
    assert (first.span.end - first.span.start, first.span.attributes["url.full"]) == (1_500_500_000, URL)
    assert "secret" not in repr(first)


def test_a_request_that_failed_in_an_archive_is_an_error() -> None:
    limited, gone = calls_in(
        archive(entry(text='{"error": {"message": "Slow down"}}', status=429), entry(text="", status=0))
    )
    assert (limited.error.status, limited.error.type) == (429, "rate_limit")
    assert (gone.error.status, gone.error.message) == (None, "The request was not answered.")


def test_an_archive_that_is_cut_off_gives_its_complete_entries() -> None:
    content = archive(entry(), entry())
    assert len(calls_in(content[:-200])) == 1
    assert faults_in(content[:-200]) == [(2, "The document ends before its list does: the file is cut.")]


VCR = {
    "interactions": [
        {
            "request": {"method": "POST", "uri": URL, "body": ASKED, "headers": {"authorization": ["secret"]}},
            "response": {
                "status": {"code": 200, "message": "OK"}, "headers": {"Content-Type": ["application/json"]},
                "body": {"string": ANSWER},
            },
        },
    ],
    "version": 1,
}  # fmt: skip
PACKED = {
    "request": VCR["interactions"][0]["request"],
    "response": {
        "status": {"code": 200}, "headers": {"Content-Encoding": ["gzip"]},
        "body": {"string": gzip.compress(ANSWER.encode())},
    },
}  # fmt: skip
RUBY = {
    "http_interactions": [
        {
            "request": {"method": "post", "uri": URL, "body": {"encoding": "UTF-8", "string": ASKED}},
            "response": {"status": {"code": 200}, "headers": {}, "body": {"encoding": "UTF-8", "string": ANSWER}},
            "recorded_at": "Sun, 01 Mar 2026 10:00:00 GMT",
        },
    ],
    "recorded_with": "VCR 6.2.0",
}  # fmt: skip
CASSETTES = [
    json.dumps(VCR).encode(),
    yaml.safe_dump(VCR).encode(),
    yaml.safe_dump({**VCR, "interactions": [PACKED]}).encode(),
    b"---\n" + yaml.safe_dump(RUBY).encode(),
    yaml.safe_dump(RUBY, default_style="|").encode(),
]


@pytest.mark.parametrize("content", CASSETTES)
def test_a_cassette_of_any_tool_is_read(content: bytes) -> None:
    (call,) = calls_in(content)
    assert faults_in(content) == []
    assert (call.content.text, call.exchange.status, call.exchange.answer.raw_stop_reason) == (
        "Once upon",
        200,
        "length",
    )
    assert call.content.input[-1].text == "Tell me a story."


def test_a_cassette_with_one_invalid_yaml_document_gives_the_others() -> None:
    one = yaml.safe_dump(VCR["interactions"]).encode()
    content = (
        b"interactions:\n"
        + one
        + b"- request: {a: *bomb}\n- request: [[}\n- "
        + b"[" * 100
        + b"\n"
        + one
        + b"version: 1\n"
    )
    assert len(calls_in(content)) == 2
    assert [number for number, _ in faults_in(content)] == [2, 3, 4]
    assert faults_in(content)[0] == (2, "It has an alias (*), which is not supported.")


def test_a_cassette_key_that_is_an_object_is_refused() -> None:
    """As text it would be quoted again at each level: 400 bytes made some 2**40."""
    content = b"version: 1\ninteractions:\n- " + b"{? " * 40 + b'"a\\\\\'"' + b" : x}" * 40 + b"\n"
    assert faults_in(content) == [(1, "A key of it is a list or an object.")]


def test_batch_results_are_read_without_their_requests() -> None:
    done = {"custom_id": "a", "response": {"status_code": 200, "request_id": "r", "body": chat_answer()}, "error": None}
    failed = {"custom_id": "b", "response": None, "error": {"code": "batch_expired", "message": "It expired."}}
    message = {"custom_id": "c", "result": {"type": "succeeded", "message": anthropic_answer()}}
    errored = {
        "custom_id": "d",
        "result": {
            "type": "errored",
            "error": {"type": "error", "error": {"type": "invalid_request_error", "message": "Bad"}},
        },
    }
    expired = {"custom_id": "e", "result": {"type": "expired"}}
    asked = {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": chat_request()}
    calls = calls_in(lines(done, failed, message, errored, expired, asked))
    assert [call.content.text for call in calls] == ["Once upon", None, "Once upon", None, None]
    assert [call.provider for call in calls] == ["openai", "openai", "anthropic", "anthropic", "anthropic"]
    errors = [call.error.message for call in calls if call.error is not None]
    assert errors == ["It expired.", "Bad", "The batch expired first."]
    assert all(call.content.input is None for call in calls)


LITELLM = {
    "id": "call-1", "call_type": "acompletion", "status": "success", "custom_llm_provider": "anthropic",
    "model": "claude-sonnet-4-5", "messages": chat_request()["messages"], "response": chat_answer(),
    "model_parameters": {"max_tokens": 16}, "startTime": 1_772_359_200.0, "endTime": 1_772_359_201.5,
    "api_base": "https://api.anthropic.com", "total_tokens": 25,
}  # fmt: skip


def test_litellms_log_has_calls_in_openais_format() -> None:
    (call,) = calls_in(lines(LITELLM, {**LITELLM, "call_type": "aembedding"}))
    assert (call.content.text, call.max_tokens, call.model) == ("Once upon", 16, "claude-sonnet-4-5")
    assert call.span.end - call.span.start == 1_500_000_000
    assert [code for code, _ in call.exchange.notes] == ["reason_renamed"]


def test_litellms_failures_are_errors() -> None:
    about = {"error_code": "429", "error_class": "RateLimitError"}
    failed = {**LITELLM, "status": "failure", "response": None, "error_str": "Slow down", "error_information": about}
    (call,) = calls_in(lines(failed))
    assert (call.error.status, call.error.type, call.error.message) == (429, "rate_limit", "Slow down")


def test_litellm_counts_the_tokens_of_responses_by_the_names_of_chat() -> None:
    """As LiteLLM logs `litellm.responses`, whole and streamed."""
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Once upon"}]}
    answer = {
        "id": "resp_1", "object": "response", "model": "m", "status": "incomplete", "output": [said],
        "incomplete_details": {"reason": "max_output_tokens"},
        "usage": {"prompt_tokens": 2, "completion_tokens": 60, "total_tokens": 62,
                  "completion_tokens_details": {"reasoning_tokens": 7}},
    }  # fmt: skip
    told = {**LITELLM, "call_type": "responses", "custom_llm_provider": "openai", "response": answer}
    (call,) = calls_in(lines(told))
    assert (call.usage.input_tokens, call.usage.output_tokens, call.usage.reasoning_tokens) == (2, 60, 7)


LANGFUSE = {
    "id": "o1", "traceId": "t1", "type": "GENERATION", "name": "writer", "model": "gpt-4o",
    "startTime": "2026-03-01T10:00:00.000Z", "endTime": "2026-03-01T10:00:01.500Z", "level": "DEFAULT",
    "modelParameters": {"max_tokens": 16}, "usageDetails": {"input": 9, "output": 16},
    "input": chat_request()["messages"], "output": {"role": "assistant", "content": "Once upon"},
}  # fmt: skip


def test_langfuses_generations_are_calls_with_an_unknown_reason() -> None:
    (call,) = calls_in(json.dumps([LANGFUSE, {**LANGFUSE, "type": "SPAN"}]).encode())
    assert (call.content.text, call.max_tokens, call.agent) == ("Once upon", 16, "writer")
    assert (call.usage.input_tokens, call.usage.output_tokens) == (9, 16)
    assert (call.exchange.answer.stop_reason, call.words, call.exchange.raw) == ("unknown", (), b"")


def test_details_subtracted_by_langfuse_are_added_again() -> None:
    counts = {"input": 3, "output": 6, "total": 25, "output_reasoning": 10, "input_cache_read": 6}
    (call,) = calls_in(lines({**LANGFUSE, "usageDetails": counts}))
    assert (call.usage.input_tokens, call.usage.output_tokens) == (9, 16)


def test_a_langfuse_generation_with_a_complete_answer_is_read_by_its_codec() -> None:
    (call,) = calls_in(lines({**LANGFUSE, "output": json.dumps(chat_answer())}))
    assert call.exchange.answer.stop_reason == "max_tokens"


def test_langfuses_errors_are_errors() -> None:
    (call,) = calls_in(lines({**LANGFUSE, "output": None, "level": "ERROR", "statusMessage": "Connection reset"}))
    assert call.error.message == "Connection reset"
