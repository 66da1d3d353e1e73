"""Cursor's database of chats: keys and values as its own releases write them, read while Cursor may be running."""

import json
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dashboard.ingest.local_files.files import transcripts_of
from dashboard.ingest.logs.session_databases import read
from dashboard.ingest.logs.transcripts import cursor
from dashboard.ingest.logs.transcripts.cursor_chats import GONE, NO_CHAT, TOO_LONG
from dashboard.ingest.logs.values import Episode, Fault
from dashboard.ingest.models import Ingested
from dashboard.turns.models import Attempt, Turn
from tests.dashboard.ingest.logs.test_fuzzed import broken
from tests.dashboard.ingest.logs.test_session_databases import Run, run

Json = dict[str, Any]
__all__ = ["run"]  # a fixture

TABLES = "CREATE TABLE {} (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);"
TOOL: Json = {
    "tool": 39, "toolCallId": "t1", "toolIndex": 0, "modelCallId": "call-1", "status": "completed", "name": "list_dir",
    "rawArgs": '{"target_directory":"."}', "params": '{"targetDirectory":"/p"}', "result": '{"files":["a","b","c"]}',
}  # fmt: skip
MODEL = {"modelInfo": {"modelName": "claude-4.5-sonnet"}}


def bubble(kind: int, second: int, **more: Any) -> Json:
    return {"_v": 3, "type": kind, "bubbleId": f"b{second}", "createdAt": f"2026-09-28T07:00:{second:02}.500Z", **more}


ASKED = bubble(1, 0, text="How many files?", **MODEL, tokenCount={"inputTokens": 0, "outputTokens": 0})
BUBBLES: list[Json] = [
    ASKED,
    bubble(2, 1, text="", thinking={"text": "List them."}, capabilityType=30),
    bubble(2, 2, text="I look.", **MODEL),
    bubble(2, 3, text="", capabilityType=15, toolFormerData=TOOL),
    bubble(2, 4, text="", toolFormerData={**TOOL, "toolCallId": "t2", "toolIndex": 1, "status": "error", "result": ""}),
    bubble(
        2, 5, text="Three.", **MODEL, tokenCount={"inputTokens": 900, "outputTokens": 12},
        timingInfo={"clientEndTime": 1_790_578_808_000},
    ),
    bubble(1, 20, text="Go on"),
    bubble(2, 21, text="Wai"),
]  # fmt: skip


def chat(bubbles: list[Json], **more: Any) -> Json:
    headers = [{"bubbleId": one["bubbleId"], "type": one["type"]} for one in bubbles]
    return {"_v": 10, "composerId": "c", "createdAt": 1_790_578_800_000, "fullConversationHeadersOnly": headers, **more}


def database(path: Path, rows: dict[str, Any] | None = None, old: dict[str, Any] | None = None) -> Path:
    """`rows`: of cursorDiskKV; `old`: of ItemTable. A text is written as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as opened:
        opened.executescript(TABLES.format("ItemTable") + TABLES.format("cursorDiskKV"))
        opened.execute("INSERT INTO ItemTable VALUES ('cursorAuth/accessToken', 'a secret')")
        for table, values in (("cursorDiskKV", rows or {}), ("ItemTable", old or {})):
            for key, value in values.items():
                told = value if isinstance(value, str | None) else json.dumps(value)
                opened.execute(f"INSERT INTO {table} VALUES (?, ?)", (key, told))
        opened.commit()
    return path


def stored(bubbles: list[Json] | None = None, name: str = "c", **more: Any) -> dict[str, Any]:
    bubbles = BUBBLES if bubbles is None else bubbles
    return {
        f"composerData:{name}": chat(bubbles, **more),
        **{f"bubbleId:{name}:{one['bubbleId']}": one for one in bubbles},
    }


def notes_of(turn: Turn) -> set[str]:
    return {note["code"] for note in Ingested.objects.get(turn_id=turn.id).notes}


@pytest.mark.parametrize("system", [".config", "Library/Application Support", "AppData/Roaming"])
def test_cursors_chats_are_found_in_the_home_folder_of_each_system(system: str, tmp_path: Path) -> None:
    found = [
        database(tmp_path / system / "Cursor/User" / place / "state.vscdb")
        for place in ("globalStorage", "workspaceStorage/0a1b")
    ]
    assert transcripts_of(tmp_path) == found


def test_the_bubbles_of_one_model_call_are_one_attempt(run: Run, tmp_path: Path) -> None:
    path = database(tmp_path / "state.vscdb", stored(status="aborted"))
    assert run(tmp_path) == ("1 file: 2 turns imported, 0 here already, 0 refused.", "")
    first, second = Turn.objects.order_by("created_at")
    assert (first.agent_name, first.input_text, first.output_text) == ("cursor", "How many files?", "Three.")
    assert (first.attempts, first.model, first.provider) == (2, "claude-4.5-sonnet", "anthropic")
    asked, told = Attempt.objects.filter(turn_id=first.id).order_by("index")
    assert [one.usage and (one.usage["input_tokens"], one.usage["output_tokens"]) for one in (asked, told)] == [
        None,
        (900, 12),
    ]
    assert {"reason_unknown", "duration_unknown"} <= notes_of(first)
    assert (second.output_text, second.model) == ("Wai", "unknown")
    assert {"interrupted", "usage_unknown"} <= notes_of(second)
    assert run(path) == ("1 file: 0 turns imported, 2 here already, 0 refused.", "")


def spoken(*bubbles: Json, status: str = "") -> list[Any]:
    return list(cursor.messages(bubbles, status))


def test_the_models_original_arguments_are_used_where_stored() -> None:
    no_raw = {**TOOL, "rawArgs": ""}
    said = [spoken(bubble(2, 1, toolFormerData=tool))[0].answer for tool in (TOOL, no_raw)]
    assert [one.calls[0].raw for one in said] == [TOOL["rawArgs"], TOOL["params"]]


def test_tools_without_a_model_call_are_separate_calls() -> None:
    alone = {key: value for key, value in TOOL.items() if key != "modelCallId"}
    answers = [one.answer for one in spoken(*(bubble(2, n, toolFormerData=alone) for n in (1, 2))) if one.answer]
    assert [len(one.calls) for one in answers] == [1, 1]


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"status": "error", "result": "", "error": "no such folder"}, "no such folder"),
        ({"status": "cancelled", "result": ""}, "cancelled"),
        ({"status": "completed", "userDecision": "rejected", "result": ""}, "rejected"),
    ],
)
def test_a_tool_that_did_not_run_has_failed(more: Json, text: str) -> None:
    (result,) = spoken(bubble(2, 1, toolFormerData={**TOOL, **more}))[1].results
    assert (result.text, result.failed) == (text, True)


def test_a_running_tool_has_no_result() -> None:
    assert len(spoken(bubble(2, 1, toolFormerData={**TOOL, "status": "loading", "result": None}))) == 1


@pytest.mark.parametrize(
    "details",
    [
        {"title": "Rate limit", "message": "Slow down", "error": {"error": "ERROR_RATE_LIMITED"}},
        {
            "error": json.dumps(
                {"error": "ERROR_RATE_LIMITED", "details": {"title": "Rate limit", "detail": "Slow down"}}
            )
        },
    ],
)
def test_a_failed_request_has_the_servers_message(details: Any) -> None:
    failed = spoken(ASKED, bubble(2, 1, text="", errorDetails=details))[-1].answer
    assert (failed.error.message, failed.error.code) == ("Rate limit: Slow down", "ERROR_RATE_LIMITED")


def test_a_request_aborted_by_the_user_is_interrupted_and_not_failed() -> None:
    error = {"error": {"error": "ERROR_USER_ABORTED_REQUEST"}, "message": "User aborted request."}
    (_, said) = spoken(ASKED, bubble(2, 1, text="Thr"), bubble(2, 2, text="", errorDetails=error))
    assert (said.answer.text, said.answer.error) == ("Thr", None)
    assert "interrupted" in dict(said.answer.notes)


def test_the_users_text_is_read_from_the_editor_document_where_it_is_nowhere_else() -> None:
    rich = {"root": {"children": [{"children": [{"text": "How "}, {"text": "many?"}]}]}}
    assert spoken(bubble(1, 0, text="", richText=json.dumps(rich)))[0].text == "How many?"


def test_the_chats_of_older_releases_are_read(run: Run, tmp_path: Path) -> None:
    tabs = {
        "tabs": [
            {
                "tabId": "tab", "lastSendTime": 1_720_000_000_000,
                "bubbles": [
                    {"type": "user", "id": "u", "text": "How many?"},
                    {"type": "ai", "id": "a", "rawText": "Three.", "modelType": "gpt-4o"},
                ],
            }
        ]
    }  # fmt: skip
    inline = {"allComposers": [{"composerId": "i", "createdAt": 1_730_000_000_000, "conversation": BUBBLES[:6]}]}
    old = {"workbench.panel.aichat.view.aichat.chatdata": tabs, "composer.composerData": inline}
    rows = {"composerData:m": {**chat(BUBBLES[6:]), "conversationMap": {one["bubbleId"]: one for one in BUBBLES[6:]}}}
    database(tmp_path / "state.vscdb", rows, old)
    assert run(tmp_path) == ("1 file: 3 turns imported, 0 here already, 0 refused.", "")
    assert set(Turn.objects.values_list("input_text", "model")) == {
        ("How many?", "gpt-4o"), ("How many files?", "claude-4.5-sonnet"), ("Go on", "unknown"),
    }  # fmt: skip


def test_a_database_without_chats_imports_nothing(tmp_path: Path) -> None:
    assert list(read(database(tmp_path / "state.vscdb"))) == []


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("bubbleId:c:b2", None, GONE),
        ("bubbleId:c:b2", "null", NO_CHAT),
        ("bubbleId:c:b2", "no JSON", NO_CHAT),
        ("bubbleId:c:b2", f'"{"x" * (16 * 2**20)}"', TOO_LONG),
        ("composerData:a", "no JSON", NO_CHAT),
    ],
)
def test_an_unreadable_value_is_named_and_the_rest_is_imported(
    key: str, value: str | None, why: str, tmp_path: Path
) -> None:
    found = list(read(database(tmp_path / "state.vscdb", {**stored(), key: value})))
    assert [one.words for one in found if isinstance(one, Fault)] == [why.format(key=key)]
    assert len([one for one in found if isinstance(one, Episode)]) == 2


def test_values_of_other_keys_are_not_read(tmp_path: Path) -> None:
    path = database(tmp_path / "state.vscdb", stored())
    assert "a secret" not in repr(list(read(path)))


def beside(path: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in path.parent.iterdir()}


def test_an_idle_wal_database_is_left_unchanged(tmp_path: Path) -> None:
    path = database(tmp_path / "state.vscdb", stored())
    with closing(sqlite3.connect(path)) as opened:
        opened.execute("PRAGMA journal_mode = WAL")
    before = beside(path)
    assert len(list(read(path))) == 2
    assert beside(path) == before


@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
def test_cursor_can_write_while_its_chats_are_read(mode: str, tmp_path: Path) -> None:
    rows = {key: value for number in range(5) for key, value in stored(name=f"c{number}").items()}
    path = database(tmp_path / "state.vscdb", rows)
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as running:
        running.execute(f"PRAGMA journal_mode = {mode}")
        running.execute("INSERT INTO cursorDiskKV VALUES ('other', '1')")
        found = []
        for one in read(path):
            running.execute("INSERT INTO cursorDiskKV VALUES ('other', '2')")
            found.append(one)
    assert [isinstance(one, Episode) for one in found] == [True] * 10


def _values(seed: int) -> Iterator[tuple[str, Any]]:
    chance = random.Random(seed)
    for key, value in stored().items():
        yield key, broken(value, chance) if chance.random() < 0.4 else value


@pytest.mark.parametrize("seed", range(40))
def test_values_with_unusual_parts_are_accepted_or_reported(seed: int, tmp_path: Path) -> None:
    assert all(
        isinstance(one, Episode | Fault) for one in read(database(tmp_path / "state.vscdb", dict(_values(seed))))
    )
