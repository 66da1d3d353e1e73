"""Sessions of agents that keep a record for each message: turns by prompts, with what their files tell of each call."""

import json
from io import BytesIO
from typing import Any

import pytest

from dashboard.ingest.logs.format_detection import read
from dashboard.ingest.logs.values import Episode
from dashboard.ingest.models import Ingested
from dashboard.replay.services import turn_verify
from dashboard.turns.models import Attempt, Turn
from tests.dashboard.ingest.logs.test_copilot import COPILOT, copilot
from tests.dashboard.ingest.logs.test_transcripts import CLAUDE, MS, at, turns
from tests.dashboard.ingest.logs.writing import Json, calls_in, found_in, imported, lines

pytestmark = pytest.mark.django_db


def codes(turn: Turn) -> set[str]:
    return {note["code"] for note in turn.ingested.notes}


def text(words: str) -> Json:
    return {"type": "text", "text": words}


# Amp: one document for a thread.

AMP_USED = {
    "model": "claude-opus-4-6", "inputTokens": 100, "outputTokens": 50, "cacheCreationInputTokens": 10,
    "cacheReadInputTokens": 5, "totalInputTokens": 115, "timestamp": at(5),
}  # fmt: skip
AMP_CALL = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"cmd": "ls"}}
AMP_RUN = {"type": "tool_result", "toolUseID": "toolu_1", "run": {"status": "done", "result": {"output": "3"}}}
AMP = [
    {"role": "user", "messageId": 0, "content": [text("How many files?")], "meta": {"sentAt": MS}},
    {
        "role": "assistant", "messageId": 1, "content": [{"type": "thinking", "thinking": "Hm."}, AMP_CALL],
        "usage": AMP_USED, "state": {"type": "complete", "stopReason": "tool_use"},
    },
    {"role": "user", "messageId": 2, "content": [AMP_RUN]},
    {
        "role": "assistant", "messageId": 3, "content": [text("There are")],
        "usage": AMP_USED | {"timestamp": at(9)}, "state": {"type": "complete", "stopReason": "max_tokens"},
    },
    {"role": "info", "messageId": 4, "content": []},
    {"role": "user", "messageId": 5, "content": [text("Go on")], "meta": {"sentAt": MS + 20_000}},
    {"role": "assistant", "messageId": 6, "content": [text("thr")], "state": {"type": "cancelled"}},
]  # fmt: skip
THREAD = {"v": 5, "id": "T-1", "created": MS, "messages": AMP, "nextMessageId": 7}


@pytest.mark.parametrize("content", [json.dumps(THREAD).encode(), json.dumps(THREAD, indent=2).encode()])
def test_an_amp_thread_has_the_stop_reasons_and_the_usage_of_its_messages(content: bytes) -> None:
    taken, faults = imported(content)
    assert (taken.turns, taken.skipped, faults) == (2, 1, [])
    assert turns() == [
        ("How many files?", "partial", "max_tokens", 2, 100),
        ("Go on", "completed", "unknown", 1, 1),
    ]
    first, second = Turn.objects.order_by("id")
    assert (first.agent_name, first.model, first.provider) == ("amp", "claude-opus-4-6", "anthropic")
    assert Attempt.objects.get(turn_id=first.id, index=1).usage["input_tokens"] == 115
    assert second.run_id == first.id
    assert {"interrupted", "usage_unknown", "reason_unknown", "time_unknown"} <= codes(second)
    for turn in (first, second):
        assert turn_verify(turn=turn).verified, turn.verdict


def test_two_amp_threads_with_the_same_beginning_are_two_sessions() -> None:
    imported(json.dumps(THREAD).encode())
    imported(json.dumps({**THREAD, "id": "T-2", "messages": AMP[:2]}).encode())
    assert Turn.objects.count() == 3


# Cline and Roo Code: a list of messages.

TASK = "<task>\nHow many files?\n</task>\n<environment_details>\n# Current Time\n</environment_details>"
CLINE_CALL = {"type": "tool_use", "id": "toolu_1", "name": "list_files", "input": {"path": "."}}
CLINE_MADE = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [text("3 files")]}
CLINE_ABOUT = {
    "modelInfo": {"modelId": "claude-sonnet-4.5", "providerId": "cline", "mode": "act"},
    "metrics": {"tokens": {"prompt": 110, "completion": 20, "cached": 100}, "cost": 0.01},
}
CLINE = [
    {"role": "user", "content": [text(TASK)], "ts": MS},
    {"role": "assistant", "content": [text("Let me see."), CLINE_CALL], "ts": MS + 3000, **CLINE_ABOUT},
    {"role": "user", "content": [CLINE_MADE, text("<environment_details></environment_details>")], "ts": MS + 4000},
    {"role": "assistant", "content": [text("Three files.")], "ts": MS + 6000, **CLINE_ABOUT},
    {"role": "user", "content": "<feedback>\nAnd folders?\n</feedback>", "ts": MS + 9000},
    {"role": "assistant", "content": [text("None.")], "ts": MS + 11_000},
]
SHOWN = {"ts": MS, "type": "say", "say": "api_req_started", "text": '{"tokensIn":3,"tokensOut":5}'}


def test_a_cline_task_is_a_run_with_unknown_stop_reasons() -> None:
    taken, faults = imported(json.dumps(CLINE).encode())
    assert (taken.turns, faults) == (2, [])
    first, second = Turn.objects.order_by("id")
    assert [row[1:] for row in turns()] == [("completed", "unknown", 2, 40), ("completed", "unknown", 1, 2)]
    assert (first.agent_name, first.model, second.run_id) == ("cline", "claude-sonnet-4.5", first.id)
    assert Attempt.objects.get(turn_id=first.id, index=1).usage["cached_tokens"] == 100
    assert "reason_unknown" in codes(first)
    assert {"reason_unknown", "usage_unknown"} <= codes(second)
    assert turn_verify(turn=first).verified


def test_content_shown_only_in_clines_window_is_skipped() -> None:
    taken, faults = imported(json.dumps([SHOWN]).encode())
    assert (taken.turns, taken.skipped, faults) == (0, 1, [])


def test_a_list_of_plain_messages_is_not_a_session() -> None:
    plain = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]
    _, faults = imported(json.dumps(plain).encode())
    assert len(faults) == 2


#: Of older releases: no message tells whose it is, but for what the agent wrote in the user's place.
OLD_TIME = "# Current Time\n3/1/2026, 12:00:00 PM (Europe/Berlin, UTC+2:00)"
OLD_CLINE = [
    {"role": "user", "content": [text(TASK.replace("# Current Time", OLD_TIME))]},
    {"role": "assistant", "content": "<list_files></list_files>"},
    {"role": "user", "content": [text("[list_files] Result:\n3 files")]},
    {"role": "assistant", "content": [text("Three files.\n\n[Response interrupted by user]")]},
    {"role": "user", "content": "Well?"},
    {"role": "assistant", "content": "Failure: I did not provide a response."},
]


def test_an_older_cline_task_is_read_completely_without_its_own_messages() -> None:
    taken, faults = imported(json.dumps(OLD_CLINE).encode())
    assert (taken.turns, faults) == (3, [])
    first, second, third = Turn.objects.order_by("id")
    assert first.created_at.isoformat().startswith("2026-03-01T10:00:00")
    assert (second.output_text, third.output_text) == ("Three files.", "")
    assert "interrupted" in codes(second)
    assert "interrupted" not in codes(third)
    assert Ingested.objects.get(turn_id=third.id).provider == ""


@pytest.mark.parametrize(
    ("tokens", "used"),
    [
        ({"prompt": 10, "completion": 20, "cached": 100}, (110, 20)),
        ({"prompt": 110, "completion": 20, "cached": 100}, (110, 20)),
        ({"completion": 20, "cached": 100}, None),
        ({"prompt": 0, "completion": 0, "cached": 0}, None),
    ],
)
def test_an_impossible_usage_is_unknown(tokens: Json, used: tuple[int, int] | None) -> None:
    about = {"metrics": {"tokens": tokens}}
    amp = {"inputTokens": tokens.get("prompt"), "outputTokens": tokens["completion"]}
    (cline,) = calls_in(json.dumps([CLINE[0], {**CLINE[3], **about}]).encode())
    (other,) = calls_in(json.dumps({**THREAD, "messages": [AMP[0], {**AMP[3], "usage": amp}]}).encode())
    assert (cline.usage and (cline.usage.input_tokens, cline.usage.output_tokens)) == used
    assert (other.usage is None) == (used is None)


@pytest.mark.parametrize("told", [[{**one, "ts": None} for one in CLINE], {**THREAD, "messages": AMP[5:]}])
def test_a_file_without_times_gives_the_same_turns_whatever_its_modification_time(told: Any) -> None:
    content = json.dumps(told).encode()
    keys = {
        tuple(one.seen[0].span.start for one in read(BytesIO(content), size=len(content), file_time=at, told=print)
              if isinstance(one, Episode))
        for at in (10**18, 2 * 10**18)
    }  # fmt: skip
    assert len(keys) == 1


def test_a_task_without_any_time_is_shown_in_1970_in_order() -> None:
    content = json.dumps([{key: value for key, value in one.items() if key != "ts"} for one in CLINE]).encode()
    for _ in range(2):
        imported(content)
    first, second = Turn.objects.order_by("id")
    assert (first.created_at.year, first.attempts, second.output_text, second.run_id) == (1970, 2, "None.", first.id)
    assert "time_unknown" in codes(first)
    for turn in (first, second):
        assert turn_verify(turn=turn).verified, turn.verdict


def test_a_provider_suggested_only_by_the_model_name_is_not_recorded() -> None:
    imported(json.dumps(THREAD).encode())
    assert {one.provider for one in Ingested.objects.all()} == {""}


# Qwen Code: Gemini's form in lines that are much like Claude Code's.


def qwen(second: int, kind: str, parts: list[Json], **other: Any) -> Json:
    role = "model" if kind == "assistant" else "user"
    return {
        "uuid": f"q{second}", "parentUuid": None, "sessionId": "s1", "timestamp": at(second), "type": kind,
        "cwd": "/p", "version": "0.5.0", "message": {"role": role, "parts": parts}, **other,
    }  # fmt: skip


QWEN_USED = {"promptTokenCount": 100, "candidatesTokenCount": 20, "thoughtsTokenCount": 5, "totalTokenCount": 120}
QWEN_CALL = {"functionCall": {"id": "call_1", "name": "list_directory", "args": {"path": "."}}}
QWEN_MADE = {"functionResponse": {"id": "call_1", "name": "list_directory", "response": {"output": "3"}}}
QWEN_MODEL = {"model": "qwen3-coder-plus", "usageMetadata": QWEN_USED}
QWEN = [
    qwen(0, "user", [{"text": "How many files?"}]),
    qwen(2, "assistant", [{"text": "Hm.", "thought": True}, QWEN_CALL], **QWEN_MODEL),
    qwen(3, "tool_result", [QWEN_MADE], toolCallResult={"callId": "call_1", "status": "success"}),
    qwen(5, "assistant", [{"text": "Three."}], **QWEN_MODEL | {"usageMetadata": QWEN_USED | {"totalTokenCount": 125}}),
    {
        "uuid": "q6", "parentUuid": "q5", "sessionId": "s1", "timestamp": at(6), "type": "system",
        "subtype": "ui_telemetry", "cwd": "/p", "version": "0.5.0", "systemPayload": {"uiEvent": {}},
    },
]  # fmt: skip


def test_qwen_codes_usage_counts_reasoning_once_for_every_provider() -> None:
    taken, faults = imported(lines(*QWEN))
    assert (taken.turns, taken.skipped, faults) == (1, 1, [])
    assert turns() == [("How many files?", "completed", "unknown", 2, 45)]
    turn = Turn.objects.get()
    assert (turn.agent_name, turn.model) == ("qwen-code", "qwen3-coder-plus")
    assert turn_verify(turn=turn).verified


# Goose: lines of older releases.


def goose(second: int, role: str, *content: Json) -> Json:
    return {"id": f"g{second}", "role": role, "created": MS // 1000 + second, "content": list(content)}


GOOSE_CALL = {
    "type": "toolRequest", "id": "t1",
    "toolCall": {"status": "success", "value": {"name": "developer__shell", "arguments": {"command": "ls"}}},
}  # fmt: skip
GOOSE_MADE = {"type": "toolResponse", "id": "t1", "toolResult": {"status": "success", "value": [text("3")]}}
GOOSE = [
    {"working_dir": "/p", "description": "Files", "message_count": 4, "total_tokens": 900},
    goose(0, "user", text("How many files?")),
    goose(3, "assistant", text("Let me see."), GOOSE_CALL),
    goose(4, "user", GOOSE_MADE),
    goose(6, "assistant", text("Three.")),
]


def test_a_goose_session_has_neither_model_nor_usage_of_a_call() -> None:
    taken, faults = imported(lines(*GOOSE))
    assert (taken.turns, taken.skipped, faults) == (1, 1, [])
    assert [row[:4] for row in turns()] == [("How many files?", "completed", "unknown", 2)]
    turn = Turn.objects.get()
    assert (turn.agent_name, turn.model) == ("goose", "unknown")
    assert {"reason_unknown", "usage_unknown", "cap_unknown"} <= codes(turn)
    assert turn_verify(turn=turn).verified


@pytest.mark.parametrize("last", [0, 2])
def test_calls_within_one_second_stay_in_order(last: int) -> None:
    """A clock of whole seconds tells them apart by their order in the file alone."""
    many = [goose(0, "assistant", GOOSE_CALL | {"id": f"g{n}"}) for n in range(6)]
    made = [goose(0, "user", GOOSE_MADE | {"id": f"g{n}"}) for n in range(6)]
    steps = [one for pair in zip(many, made, strict=True) for one in pair]
    imported(lines(GOOSE[0], GOOSE[1], *steps, goose(last, "assistant", text("Three."))))
    assert [row[:4] for row in turns()] == [("How many files?", "completed", "unknown", 7)]
    texts = Attempt.objects.order_by("index").values_list("text", flat=True)
    assert list(texts)[-1] == "Three."


def test_a_user_message_after_a_tool_call_is_not_the_end_of_the_session() -> None:
    imported(lines(*CLAUDE[:4], *CLAUDE[6:]))
    first = Turn.objects.order_by("id").first()
    assert first is not None
    assert first.status == "interrupted"
    assert "The user's next message follows this tool call" in first.verdict
    assert "ends after" not in first.verdict


@pytest.mark.parametrize(
    "record",
    [
        {"role": "user", "messageId": "0", "content": 3}, {"role": [], "messageId": 1}, AMP[1] | {"content": "text"},
        AMP[1] | {"usage": [], "state": "complete"}, {"role": "user", "ts": {}, "content": [[], 3, {"type": {}}]},
        CLINE[1] | {"metrics": {"tokens": {"completion": -1}}}, QWEN[1] | {"usageMetadata": {"promptTokenCount": "x"}},
        QWEN[1] | {"message": {"parts": [{"functionCall": 3}, None, {"text": {"a": 1}}]}}, GOOSE[1] | {"created": None},
        goose(1, "assistant", {"type": "toolRequest", "toolCall": {"status": "error", "error": "not JSON"}}),
        copilot(1, "assistant.message", toolRequests={"a": 1}, content=[1]), copilot(1, "abort"),
    ],
)  # fmt: skip
def test_records_in_an_unknown_format_do_no_harm(record: Json) -> None:
    found_in(lines(record))
    imported(lines(*AMP[:1], record, *QWEN, *GOOSE, *COPILOT))
