"""Real recorded answers of every provider, read in one piece and in many; their labels are the expectation."""

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest

from agentcore.messages import CallIssue, ChatResponse
from agentcore.providers import PROVIDERS, get_provider
from agentcore.reasons import MALFORMED_CALL_WORDS
from agentcore.reasons import NormalizedStopReason as Reason
from tests.together import together

CHECKOUT = Path(__file__).parents[3]
CORPUS = CHECKOUT / os.environ.get("WHYSTOP_CORPUS", "../shared/corpus")
#: What stands in the event that ends a recorded stream, by provider.
ENDS = {
    "openai": (b'"finish_reason":"', b'"finish_reason": "'),
    "openai_responses": (b'"response.completed"', b'"response.incomplete"'),
    "cohere": (b'"message-end"',),
    "anthropic": (b"message_delta",),
    "bedrock": (b"messageStop",),
    "gemini": (b'"finishReason"',),
    "ollama": (b'"done":true',),
}
#: The providers whose recorded answers all say something; one of Gemini's spent its cap on thoughts.
NEVER_SILENT = frozenset(ENDS) - {"gemini"}
MISSING = f"no recorded answers at {CORPUS}: set WHYSTOP_CORPUS to their folder"


def rows_of(provider: str) -> list[dict[str, Any]]:
    path = CORPUS / f"{provider}.jsonl"
    if not path.is_file():
        return []
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


ROWS = [row for provider in PROVIDERS for row in rows_of(provider)]
if not ROWS and os.environ.get("WHYSTOP_REQUIRE_ALL") != "1":
    pytest.skip(MISSING, allow_module_level=True)
ANSWERS = [pytest.param(row, id=f"{row['provider']}-{row['id']}") for row in ROWS if row["dialect"] != "error"]
ERRORS = [pytest.param(row, id=f"{row['provider']}-{row['id']}") for row in ROWS if row["dialect"] == "error"]
STREAMS = [param for param in ANSWERS if param.values[0]["mode"] == "stream"]


def test_the_recorded_answers_exist():
    assert ROWS, MISSING
    assert {row["provider"] for row in ROWS} <= set(PROVIDERS)


def body_of(row: dict[str, Any]) -> bytes:
    return base64.b64decode(row["body_base64"]) if "body_base64" in row else row["body"].encode()


def decode(row: dict[str, Any], body: bytes, size: int, cap: int | None) -> tuple[ChatResponse, str]:
    decoder = get_provider(row["provider"]).stream_decoder(max_tokens=cap)
    deltas = [delta for start in range(0, len(body), size) for delta in decoder.feed(body[start : start + size])]
    return decoder.close(), "".join(delta.text for delta in deltas)


def expected_reason(label: str) -> Reason:
    """The label in the words of the decisions that go beyond the table (providers.md, second paragraph)."""
    if not label.startswith("unknown("):
        return Reason(label)
    word = label[len("unknown(") : -1].lower()
    if word in ("pause_turn", "compaction"):
        return Reason.PAUSED
    return Reason.TOOL_CALL if word in MALFORMED_CALL_WORDS else Reason.UNKNOWN


def words_of(row: dict[str, Any]) -> set[str]:
    """The provider's own words; the corpus writes a status and its reason as `incomplete:max_output_tokens`."""
    words = {str(word) for word in row["raw_reasons"] + row["native"]}
    return words | {part for word in words for part in word.split(":")}


def assert_as_labelled(response: ChatResponse, row: dict[str, Any]) -> None:
    expected = row["expected"]
    reason = expected["stop_reason"]
    assert response.stop_reason is expected_reason(reason)
    assert (response.error is not None) is (reason == "unknown(error)" or expected["error"] is not None)
    if reason == "unknown(missing)":
        assert response.raw_stop_reason is None
    if reason == "unknown(empty)":
        assert response.raw_stop_reason == ""
    if response.error is None and response.raw_stop_reason:
        assert response.raw_stop_reason in words_of(row)
    truncated = any(call.issue is CallIssue.TRUNCATED for call in response.broken_tool_calls)
    assert truncated is expected["truncated_tool_call"]
    malformed = {word.lower() for word in words_of(row)} & MALFORMED_CALL_WORDS
    if not malformed:
        assert len(response.tool_calls) + len(response.broken_tool_calls) == (row["tool_calls"] or 0)
    assert not response.incomplete_stream
    assert row["provider"] not in NEVER_SILENT or "empty_output" not in response.diagnostics


@together
@pytest.mark.parametrize("row", ANSWERS)
def test_a_recorded_answer_is_read_as_labelled_in_any_chunking(row):
    body = body_of(row)
    response, shown = decode(row, body, len(body), row["max_tokens"])
    assert_as_labelled(response, row)
    if row["mode"] == "stream":
        assert shown == response.text
    else:
        whole = get_provider(row["provider"]).decode_response(json.loads(body), max_tokens=row["max_tokens"])
        assert whole == response
    for size in (7, 1) if len(body) < 6000 else (7,):
        assert decode(row, body, size, row["max_tokens"]) == (response, shown)


@together
@pytest.mark.parametrize("row", ANSWERS)
def test_the_label_holds_without_knowing_the_cap(row):
    body = body_of(row)
    assert_as_labelled(decode(row, body, len(body), None)[0], row)


@together
@pytest.mark.parametrize("row", [param for param in STREAMS if param.values[0]["provider"] in ENDS])
def test_a_recorded_stream_that_breaks_off_before_its_reason_never_ends_naturally(row):
    body = body_of(row)
    reason_at = next((body.index(mark) for mark in ENDS[row["provider"]] if mark in body), len(body) // 2)
    event_at = body.rfind(b"\ndata:", 0, reason_at)
    response, _ = decode(row, body[: event_at if event_at > 0 else reason_at], 512, None)
    assert (response.stop_reason, response.incomplete_stream) == (Reason.UNKNOWN, True)
    assert response.error is not None


@together
@pytest.mark.parametrize("row", ERRORS)
def test_a_recorded_error_has_the_kind_of_its_label(row):
    error = get_provider(row["provider"]).decode_error(row["status"], {}, body_of(row))
    assert error.kind == row["expected"]["error"]
    assert error.stop_reason == row["expected"]["stop_reason"]
    assert error.message
