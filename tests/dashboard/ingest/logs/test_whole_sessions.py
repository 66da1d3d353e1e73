"""Sessions that are one document each: Continue's, and the chats of Visual Studio Code in both of their forms."""

import json
from pathlib import Path

import pytest

from dashboard.ingest.local_files.files import transcripts_of
from dashboard.ingest.logs.format_detection import UNEXPECTED
from dashboard.ingest.logs.transcripts import vscode_chat, vscode_log
from dashboard.ingest.logs.transcripts.vscode_log import NO_PLACE
from dashboard.ingest.logs.values import Fault
from dashboard.replay.services import turn_verify
from dashboard.turns.models import Attempt, Turn
from tests.dashboard.ingest.logs.test_transcripts import MS, turns
from tests.dashboard.ingest.logs.writing import Json, found_in, imported, lines

pytestmark = pytest.mark.django_db

CALL = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"path":"."}'}}
LOGS = [{"modelTitle": "gpt-5", "modelProvider": "openai", "prompt": "…", "completion": ""}]
CONTINUE: Json = {
    "sessionId": "s-1", "title": "Files", "workspaceDirectory": "file:///p",
    "history": [
        {"message": {"role": "user", "content": "How many files?"}, "contextItems": []},
        {"message": {"role": "thinking", "content": "List them."}, "contextItems": []},
        {
            "message": {"role": "assistant", "content": "", "toolCalls": [CALL]}, "contextItems": [],
            "promptLogs": LOGS,
            "toolCallStates": [
                {"toolCallId": "c1", "toolCall": CALL, "status": "done", "output": [{"content": "a b c"}]},
            ],
        },
        {"message": {"role": "tool", "toolCallId": "c1", "content": "a b c"}, "contextItems": []},
        {
            "message": {
                "role": "assistant", "content": [{"type": "text", "text": "Three."}],
                "usage": {"promptTokens": 90, "completionTokens": 4, "promptTokensDetails": {"cachedTokens": 60}},
            },
            "contextItems": [], "promptLogs": LOGS,
        },
        {"message": {"role": "user", "content": "Thanks"}, "contextItems": []},
        {"message": {"role": "assistant", "content": "Welcome."}, "contextItems": []},
    ],
}  # fmt: skip

ROUND = {"id": "r", "toolInputRetry": 0}
ASKED: Json = {
    "requestId": "request_1", "timestamp": MS, "modelId": "copilot/gpt-4.1",
    "message": {"text": "How many files?", "parts": []}, "response": [{"value": "Three."}],
    "modelState": {"value": 1, "completedAt": MS + 4_000},
    "result": {
        "timings": {"totalElapsed": 4_000},
        "metadata": {
            "toolCallRounds": [
                ROUND | {"response": "", "toolCalls": [{"id": "c1", "name": "ls", "arguments": "{}"}]},
                ROUND | {"response": "Three.", "toolCalls": [], "thinking": {"id": "t", "text": ["Easy"]}},
            ],
            "toolCallResults": {"c1": {"content": [{"value": "a b c"}]}},
        },
    },
}  # fmt: skip
FAILED: Json = {
    "requestId": "request_2", "timestamp": MS + 9_000, "message": "Go on", "response": [],
    "result": {"errorDetails": {"message": "Sorry, you are over your quota", "code": "quotaExceeded"}},
}  # fmt: skip
CANCELED: Json = {
    "requestId": "request_3", "timestamp": MS + 19_000, "message": "Tell", "isCanceled": True,
    "response": [{"kind": "progressMessage", "value": "Thinking"}, {"value": "Onc"}],
}  # fmt: skip
CHAT: Json = {
    "version": 3, "responderUsername": "GitHub Copilot", "requests": [ASKED, FAILED, CANCELED],
    "sessionId": "chat-1", "creationDate": MS - 1_000,
}  # fmt: skip
#: The same chat, as it was made change by change.
CHAT_LOG: list[Json] = [
    {"kind": 0, "v": {**CHAT, "requests": []}},
    {"kind": 2, "k": ["requests"], "v": [{**ASKED, "result": None, "response": []}, {"requestId": "gone"}]},
    {"kind": 1, "k": ["requests", 0, "result"], "v": ASKED["result"]},
    {"kind": 2, "k": ["requests", 0, "response"], "v": ASKED["response"]},
    {"kind": 2, "k": ["requests"], "v": [FAILED, CANCELED | {"vote": 1}], "i": 1},
    {"kind": 3, "k": ["requests", 2, "vote"]},
]


def codes(turn: Turn) -> set[str]:
    return {note["code"] for note in turn.ingested.notes}


@pytest.mark.parametrize("indent", [None, 2])
def test_a_session_of_continue_has_its_calls_and_no_stop_reason(indent: int | None) -> None:
    taken, faults = imported(json.dumps(CONTINUE, indent=indent).encode())
    assert (taken.turns, faults) == (2, [])
    first, second = Turn.objects.order_by("id")
    assert (first.agent_name, first.input_text, first.attempts) == ("continue", "How many files?", 2)
    assert (first.model, first.provider) == ("gpt-5", "openai")
    assert {"reason_unknown", "time_unknown", "usage_unknown"} <= codes(first)
    assert second.input_text == "Thanks"
    assert second.run_id == first.id
    usages = [row.usage for row in Attempt.objects.filter(turn_id=first.id).order_by("index")]
    assert usages[1]["input_tokens"] == 90
    assert turn_verify(turn=first).verified
    again, _ = imported(json.dumps(CONTINUE, indent=indent).encode())
    assert (again.turns, again.here) == (0, 2)


def test_a_visual_studio_code_chat_has_a_call_for_each_round_of_its_agent() -> None:
    taken, faults = imported(json.dumps(CHAT).encode())
    assert (taken.turns, faults) == (3, [])
    answered, failed, canceled = Turn.objects.order_by("created_at")
    assert (answered.agent_name, answered.model, answered.attempts) == ("vscode-chat", "copilot/gpt-4.1", 2)
    assert {"reason_unknown", "usage_unknown"} <= codes(answered)
    assert "quotaExceeded" in json.dumps(Attempt.objects.get(turn_id=failed.id).error)
    assert Attempt.objects.get(turn_id=canceled.id).text == "Onc"
    assert "interrupted" in codes(canceled)
    assert all(turn_verify(turn=turn).verified for turn in (answered, failed, canceled))


def test_a_chat_stored_as_changes_gives_the_same_turns() -> None:
    imported(json.dumps(CHAT).encode())
    before = turns()
    taken, faults = imported(lines(*CHAT_LOG))
    assert (taken.turns, taken.here, faults) == (0, 3, [])
    assert turns() == before


def test_a_change_of_a_missing_part_is_refused_by_line() -> None:
    found = found_in(lines(*CHAT_LOG, {"kind": 1, "k": ["requests", 99, "vote"], "v": 1}, {"kind": 1, "k": [], "v": 1}))
    assert [one for one in found if isinstance(one, Fault)] == [Fault(7, NO_PLACE), Fault(8, NO_PLACE)]


@pytest.mark.parametrize("written", ["document", "log"])
def test_a_chat_with_impossible_times_is_read_without_them(written: str) -> None:
    timings = {"totalElapsed": 1.5}
    asked = {**ASKED, "timestamp": 10**400, "modelState": None, "result": {**ASKED["result"], "timings": timings}}
    chat = {**CHAT, "requests": [asked]}
    taken, faults = imported(lines(chat if written == "document" else {"kind": 0, "v": chat}))
    assert (taken.turns, faults) == (1, [])


def test_an_agent_whose_session_cannot_be_finished_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vscode_chat, "_answers", lambda *_: 1 // 0)
    assert [one.words for one in found_in(lines(*CHAT_LOG)) if isinstance(one, Fault)] == [UNEXPECTED]


def test_a_chat_that_takes_too_much_memory_is_read_up_to_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is short as text."""
    monkeypatch.setattr(vscode_log, "MOST_HELD", 100_000)
    many = {"kind": 2, "k": ["requests", 0, "response"], "v": [{}] * 5_000}
    taken, faults = imported(lines(*CHAT_LOG, many))
    assert (taken.turns, [one.words for one in faults]) == (3, [vscode_log.TOO_LARGE])


def test_the_folders_of_these_agents_are_searched(tmp_path: Path) -> None:
    names = (".continue/sessions/1-a.json", ".config/Code/User/workspaceStorage/w/chatSessions/1.jsonl")
    for name in (*names, ".continue/sessions/sessions.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    assert transcripts_of(tmp_path) == [tmp_path / names[0], (tmp_path / names[1]).parent]
