"""Real recorded answers, read in one piece and in many; the labels beside them are the expectation."""

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest

from agentcore.messages import CallIssue, ChatResponse
from agentcore.providers import get_provider
from agentcore.reasons import NormalizedStopReason as Reason

OPENAI = get_provider("openai")
CHECKOUT = Path(__file__).parents[3]
CORPUS = CHECKOUT / os.environ.get("WHYSTOP_CORPUS", "../shared/corpus")
MISSING = f"no recorded answers at {CORPUS}: set WHYSTOP_CORPUS to their folder"


def rows() -> list[dict[str, Any]]:
    path = CORPUS / "openai.jsonl"
    if not path.is_file():
        return []
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


ROWS = rows()
if not ROWS and os.environ.get("WHYSTOP_REQUIRE_ALL") != "1":
    pytest.skip(MISSING, allow_module_level=True)
ANSWERS = [pytest.param(row, id=row["id"]) for row in ROWS if row["dialect"] == "openai.chat"]
ERRORS = [pytest.param(row, id=row["id"]) for row in ROWS if row["dialect"] == "error"]


def test_the_recorded_answers_are_there():
    assert ROWS, MISSING
    assert {row["dialect"] for row in ROWS} == {"openai.chat", "error"}


def body_of(row: dict[str, Any]) -> bytes:
    return base64.b64decode(row["body_base64"]) if "body_base64" in row else row["body"].encode()


def decode(body: bytes, size: int, cap: int | None) -> tuple[ChatResponse, str]:
    decoder = OPENAI.stream_decoder(max_tokens=cap)
    deltas = [delta for start in range(0, len(body), size) for delta in decoder.feed(body[start : start + size])]
    return decoder.close(), "".join(delta.text for delta in deltas)


def assert_as_labelled(response: ChatResponse, row: dict[str, Any]) -> None:
    expected = row["expected"]
    reason = expected["stop_reason"]
    assert response.stop_reason is (Reason.UNKNOWN if reason.startswith("unknown(") else Reason(reason))
    assert (response.error is not None) is (reason == "unknown(error)" or expected["error"] is not None)
    if reason == "unknown(missing)":
        assert response.raw_stop_reason is None
    if reason == "unknown(empty)":
        assert response.raw_stop_reason == ""
    if response.error is None and response.raw_stop_reason:
        assert response.raw_stop_reason in row["raw_reasons"] + row["native"]
    truncated = any(call.issue is CallIssue.TRUNCATED for call in response.broken_tool_calls)
    assert truncated is expected["truncated_tool_call"]
    assert len(response.tool_calls) + len(response.broken_tool_calls) == (row["tool_calls"] or 0)
    assert not response.incomplete_stream
    assert "empty_output" not in response.diagnostics


@pytest.mark.parametrize("row", ANSWERS)
def test_a_recorded_answer_is_read_as_it_is_labelled_in_any_chunking(row):
    body = body_of(row)
    response, shown = decode(body, len(body), row["max_tokens"])
    assert_as_labelled(response, row)
    if row["mode"] == "stream":
        assert shown == response.text
    else:
        assert OPENAI.decode_response(json.loads(body), max_tokens=row["max_tokens"]) == response
    for size in (7, 1) if len(body) < 6000 else (7,):
        assert decode(body, size, row["max_tokens"]) == (response, shown)


@pytest.mark.parametrize("row", ANSWERS)
def test_the_label_holds_without_knowing_the_cap(row):
    body = body_of(row)
    assert_as_labelled(decode(body, len(body), None)[0], row)


@pytest.mark.parametrize("row", [param for param in ANSWERS if param.values[0]["mode"] == "stream"])
def test_a_recorded_stream_that_breaks_off_before_its_reason_never_ends_naturally(row):
    body = body_of(row)
    reason_at = next(
        (body.index(mark) for mark in (b'"finish_reason":"', b'"finish_reason": "') if mark in body), len(body) // 2
    )
    response, _ = decode(body[:reason_at], 512, None)
    assert (response.stop_reason, response.incomplete_stream) == (Reason.UNKNOWN, True)
    assert response.error is not None


@pytest.mark.parametrize("row", ERRORS)
def test_a_recorded_error_has_the_kind_of_its_label(row):
    error = OPENAI.decode_error(row["status"], {}, body_of(row))
    assert error.kind == row["expected"]["error"]
    assert error.stop_reason == row["expected"]["stop_reason"]
    assert error.message
