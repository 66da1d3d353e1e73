"""Sessions of coding agents: each prompt is a turn with all its calls, each call has its stop reason and its usage."""

import json
import random
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from dashboard.accounts.models import User
from dashboard.ingest.logs.episode_ranking import READERS, extent_of
from dashboard.ingest.logs.values import Episode
from dashboard.ingest.models import Ingested
from dashboard.replay.services import turn_verify
from dashboard.turns.models import Attempt, Turn
from tests.dashboard.ingest.logs.writing import found_in, imported, lines
from tests.dashboard.pages import page, text_of

pytestmark = pytest.mark.django_db


def at(second: int) -> str:
    return f"2026-03-01T10:00:{second:02}.000Z"


def claude(kind: str, second: int, message: dict[str, Any], **other: Any) -> dict[str, Any]:
    return {
        "type": kind, "uuid": f"u{second}", "parentUuid": None, "sessionId": "s1", "version": "2.0.1",
        "timestamp": at(second), "isSidechain": False, "message": message, **other,
    }  # fmt: skip


def block(second: int, name: str, content: dict[str, Any], reason: str | None, output: int) -> dict[str, Any]:
    usage = {
        "input_tokens": 3,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 7,
        "output_tokens": output,
    }
    message = {
        "id": name, "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": [content],
        "stop_reason": reason, "stop_sequence": None, "usage": usage,
    }  # fmt: skip
    return claude("assistant", second, message, requestId="req_1")


RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "3 files"}]}
CLAUDE = [
    {"type": "summary", "summary": "Files", "leafUuid": "u9"},
    claude("user", 0, {"role": "user", "content": "How many files are there?"}),
    block(2, "msg_1", {"type": "thinking", "thinking": "Let me look.", "signature": "s"}, None, 1),
    block(
        3, "msg_1", {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}}, "tool_use", 40
    ),
    claude("user", 5, {"role": "user", "content": [RESULT]}, toolUseResult={"stdout": "3 files"}),
    block(9, "msg_2", {"type": "text", "text": "There are three"}, "max_tokens", 32_000),
    claude("user", 20, {"role": "user", "content": [{"type": "text", "text": "Go on"}]}),
    block(22, "msg_3", {"type": "text", "text": " files."}, "end_turn", 4),
]


def turns() -> list[tuple[Any, ...]]:
    rows = Turn.objects.order_by("id")
    return [(row.input_text, row.status, row.model_stop_reason, row.attempts, row.output_tokens) for row in rows]


def test_a_session_becomes_a_run_with_a_turn_for_each_prompt() -> None:
    taken, faults = imported(lines(*CLAUDE))
    assert (taken.turns, taken.skipped, faults) == (2, 1, [])
    assert turns() == [
        ("How many files are there?", "partial", "max_tokens", 2, 32_040),
        ("Go on", "completed", "end_turn", 1, 4),
    ]
    first, second = Turn.objects.order_by("id")
    assert (first.agent_name, first.model, second.run_id, second.follows) == (
        "claude-code",
        "claude-sonnet-4-5",
        first.id,
        first.id,
    )
    assert [attempt.raw_stop_reason for attempt in Attempt.objects.filter(turn_id=first.id).order_by("index")] == [
        "tool_use",
        "max_tokens",
    ]
    assert Attempt.objects.get(turn_id=first.id, index=1).usage["input_tokens"] == 110
    assert [attempt.duration_ms for attempt in Attempt.objects.filter(turn_id=first.id).order_by("index")] == [
        3000,
        4000,
    ]
    for turn in (first, second):
        assert turn_verify(turn=turn).verified, turn.verdict


@pytest.mark.parametrize("kept", [4, 5])
def test_the_heading_of_an_interrupted_session_says_what_to_do(kept: int, browser: Client) -> None:
    imported(lines(CLAUDE[:kept]))
    html = page(browser, f"/turns/{Turn.objects.get().id}").split('id="limit"')[1].split("</section>")[0]
    words = "Whystop cannot re-run this turn: repeat the request in the program that made these calls."
    assert words in text_of(html)
    assert "Re-run with changes" not in html


def test_the_list_shows_no_number_for_an_unrecorded_cap(browser: Client) -> None:
    imported(lines(*CLAUDE))
    shown = re.findall(r'<td class="c-cap num">([^<]*)</td>', page(browser, "/"))
    assert shown == ["not recorded", "≈ 32,000"]


@pytest.mark.parametrize("kept", [4, 5], ids=["before the tool returned", "after the tool returned"])
def test_a_session_that_ended_after_a_tool_call_is_an_interrupted_turn(kept: int) -> None:
    imported(lines(CLAUDE[:kept]))
    turn = Turn.objects.get()
    assert turn.status == "interrupted"
    assert "The transcript ends after this tool call, without a model call with its result." in turn.verdict
    imported(lines(CLAUDE))
    assert list(Turn.objects.order_by("id").values_list("status", flat=True)) == ["partial", "completed"]


def test_a_longer_version_of_a_session_adds_turns_and_keeps_the_existing_ones() -> None:
    imported(lines(*CLAUDE[:5]))
    (before,) = Turn.objects.values_list("id", flat=True)
    taken, _ = imported(lines(*CLAUDE))
    assert (taken.turns, taken.here) == (2, 0)
    assert Turn.objects.order_by("id").first().id == before
    again, _ = imported(lines(*CLAUDE))
    assert (again.turns, again.here, Turn.objects.count()) == (0, 2, 2)


#: Copies of one session: as it is, before it went on, cut within an answer, without its first turn, with other words.
COPIES = [
    CLAUDE,
    CLAUDE[:5],
    [*CLAUDE[:5], block(9, "msg_2", {"type": "text", "text": "There"}, None, 1)],
    CLAUDE[6:],
    [*CLAUDE[:-1], block(22, "msg_3", {"type": "text", "text": " fields"}, "end_turn", 4)],
]


@pytest.mark.parametrize("seed", range(6))
def test_the_most_complete_of_several_files_of_a_session_is_kept_in_any_order(seed: int) -> None:
    chance = random.Random(seed)
    for copy in chance.sample(COPIES, len(COPIES)):
        imported(lines(*copy), name=f"{COPIES.index(copy)}.jsonl")
    first, second = Turn.objects.order_by("id")
    assert (first.output_text, first.attempts, first.model_stop_reason) == ("There are three", 2, "max_tokens")
    assert (second.run_id, second.follows) == (first.id, first.id)
    assert second.output_text == " files."  # of two that say as much, always this one
    again, _ = imported(lines(*CLAUDE))
    assert again.turns == 0


def test_a_process_of_the_previous_release_stores_turns_during_the_migration() -> None:
    imported(lines(*CLAUDE))
    old = ", ".join(field.column for field in Ingested._meta.concrete_fields if field.name != "extent")
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TEMP TABLE kept AS SELECT {old} FROM ingest_ingested")
        cursor.execute("DELETE FROM ingest_ingested")
        cursor.execute(f"INSERT INTO ingest_ingested ({old}) SELECT {old} FROM kept")
    assert [one.extent for one in Ingested.objects.all()] == [[], []]
    again, _ = imported(lines(*CLAUDE))
    assert (again.turns, again.here) == (0, 2)


@pytest.mark.parametrize("digest", ["0" * 32, "f" * 32])
def test_results_of_improved_readers_replace_those_stored_by_the_previous_release(digest: str) -> None:
    imported(lines(*CLAUDE[:4]))
    row = Ingested.objects.get()
    told = [1, *row.extent[1:5], digest, *row.extent[6:]]
    Ingested.objects.update(extent=told, digest=b"another history")
    again, _ = imported(lines(*CLAUDE[:4]))
    assert again.turns == 1
    assert Ingested.objects.get().extent == row.extent


def test_an_older_copy_does_not_replace_a_more_complete_one_of_the_previous_release() -> None:
    imported(lines(*CLAUDE))
    for row in Ingested.objects.all():
        row.extent = [1, *row.extent[1:]]
        row.save()
    older, _ = imported(lines(*CLAUDE[:5]))
    assert older.turns == 0
    assert Turn.objects.order_by("id").values_list("status", flat=True)[0] == "partial"


@pytest.mark.parametrize("extent", [[], [1]], ids=["of a release without accounts", "of the release before"])
def test_an_older_copy_does_not_replace_one_that_was_read_again_unchanged(extent: list[Any]) -> None:
    imported(lines(*CLAUDE))
    for row in Ingested.objects.all():
        row.extent = [*extent, *row.extent[1:]] if extent else []
        row.save()
    again, _ = imported(lines(*CLAUDE))
    assert again.turns == 0
    older, _ = imported(lines(*CLAUDE[:5]))
    assert older.turns == 0
    assert Turn.objects.order_by("id").values_list("status", flat=True)[0] == "partial"


def test_the_digest_of_a_session_stays_the_same_until_readers_find_more() -> None:
    """Stored accounts hold it: who changes it raises `READERS`."""
    episode, *_ = (one for one in found_in(lines(*CLAUDE)) if isinstance(one, Episode))
    assert (READERS, extent_of(episode)[5]) == (2, "9c74cd8a065502ca2600f1ac3d4a70b1")


def test_a_session_belongs_to_its_importer_and_another_users_file_does_not_change_it() -> None:
    mine, other = (User.objects.create_user(name).pk for name in ("ann", "bob"))
    imported(lines(*CLAUDE), by=mine)
    before = list(Turn.objects.order_by("id").values_list("id", "output_text"))
    forged = [*CLAUDE[:-1], block(22, "msg_3", {"type": "text", "text": " forged"}, "end_turn", 4)]
    taken, _ = imported(lines(*forged), by=other)
    assert (taken.turns, taken.here) == (2, 0)
    assert list(Turn.objects.filter(created_by=mine).order_by("id").values_list("id", "output_text")) == before
    again, _ = imported(lines(*CLAUDE), by=mine)
    assert (again.turns, again.here, Turn.objects.count()) == (0, 2, 4)


def test_an_error_written_by_the_agent_in_place_of_an_answer_is_an_error() -> None:
    message = {
        "role": "assistant",
        "model": "<synthetic>",
        "content": [{"type": "text", "text": "API Error: 529 Overloaded"}],
    }
    imported(lines(CLAUDE[1], claude("assistant", 4, message, isApiErrorMessage=True, apiErrorStatus=529)))
    turn = Turn.objects.get()
    assert (turn.status, turn.error_type) == ("failed", "model")
    assert Attempt.objects.get().error["message"] == "API Error: 529 Overloaded"


def test_helper_agents_have_their_own_turns() -> None:
    side = [{**one, "isSidechain": True, "agentId": "a1"} for one in CLAUDE[1:6]]
    mixed = [one for pair in zip(CLAUDE[1:6], side, strict=True) for one in pair]
    imported(lines(*mixed))
    assert [turn[3] for turn in turns()] == [2, 2]


def codex(second: int, kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": at(second), "type": kind, "payload": payload}


def counted(second: int, output: int) -> dict[str, Any]:
    usage = {"input_tokens": 100, "cached_input_tokens": 60, "output_tokens": output, "reasoning_output_tokens": 2}
    return codex(second, "event_msg", type="token_count", info={"last_token_usage": usage, "total_token_usage": usage})


CODEX = [
    codex(0, "session_meta", id="c1", cli_version="0.65.0", cwd="/p"),
    codex(0, "turn_context", model="gpt-5-codex"),
    codex(
        0,
        "response_item",
        type="message",
        role="user",
        content=[{"type": "input_text", "text": "<environment_context>"}],
    ),
    codex(1, "response_item", type="message", role="user", content=[{"type": "input_text", "text": "How many files?"}]),
    codex(3, "response_item", type="function_call", name="shell", arguments='{"command":["ls"]}', call_id="call_1"),
    counted(4, 20),
    codex(6, "response_item", type="function_call_output", call_id="call_1", output="3 files"),
    codex(8, "response_item", type="message", role="assistant", content=[{"type": "output_text", "text": "Three."}]),
    counted(8, 5),
    codex(9, "event_msg", type="task_complete"),
    codex(20, "response_item", type="message", role="user", content=[{"type": "input_text", "text": "Sure?"}]),
    codex(22, "response_item", type="message", role="assistant", content=[{"type": "output_text", "text": "I am"}]),
    codex(23, "event_msg", type="turn_aborted", reason="interrupted"),
]


def test_a_transcript_without_stop_reasons_shows_which_answers_were_complete() -> None:
    taken, faults = imported(lines(*CODEX))
    assert (taken.turns, faults) == (2, [])
    assert turns() == [("How many files?", "completed", "end_turn", 2, 25), ("Sure?", "completed", "unknown", 1, 1)]
    first, second = Turn.objects.order_by("id")
    assert first.raw_stop_reason is None
    assert "reason_derived" in {note["code"] for note in first.ingested.notes}
    assert {"interrupted", "reason_unknown", "usage_unknown"} <= {note["code"] for note in second.ingested.notes}
    for turn in (first, second):
        assert turn_verify(turn=turn).verified, turn.verdict


def pi(second: int, role: str, **message: Any) -> dict[str, Any]:
    told = {"role": role, "timestamp": 1_772_359_200_000 + second * 1000 - 900, **message}
    return {"type": "message", "id": f"m{second}", "parentId": None, "timestamp": at(second), "message": told}


USED = {"input": 10, "output": 16, "cacheRead": 5, "cacheWrite": 1, "totalTokens": 32}
ABOUT = {"api": "anthropic-messages", "provider": "anthropic", "model": "claude-opus-4-5", "usage": USED}
CALL = {"type": "toolCall", "id": "t1", "name": "bash", "arguments": {"command": "ls"}}
PI = [
    {"type": "session", "version": 3, "id": "p1", "timestamp": at(0), "cwd": "/p"},
    pi(1, "user", content=[{"type": "text", "text": "How many files?"}]),
    pi(3, "assistant", content=[CALL], stopReason="toolUse", **ABOUT),
    pi(5, "toolResult", toolCallId="t1", toolName="bash", content=[{"type": "text", "text": "3"}], isError=False),
    pi(7, "assistant", content=[{"type": "text", "text": "There are"}], stopReason="length", **ABOUT),
    pi(9, "user", content="Again"),
    pi(11, "assistant", content=[], stopReason="error", errorMessage="overloaded", **ABOUT),
]


def test_a_transcript_with_the_agents_own_reasons_has_them_normalized() -> None:
    imported(lines(*PI))
    assert turns() == [("How many files?", "partial", "max_tokens", 2, 32), ("Again", "failed", None, 1, 0)]
    assert Attempt.objects.order_by("started_at").first().usage["input_tokens"] == 16


SHELL = {
    "id": "g1", "name": "shell", "args": {"command": "ls"}, "status": "success", "timestamp": at(4),
    "result": [{"functionResponse": {"id": "g1", "name": "shell", "response": {"output": "3 files"}}}],
}  # fmt: skip
TOKENS = {"input": 100, "output": 10, "cached": 0, "thoughts": 5, "tool": 0, "total": 115}
PRO = {"type": "gemini", "tokens": TOKENS, "model": "gemini-2.5-pro"}
GEMINI: dict[str, Any] = {
    "sessionId": "g",
    "projectHash": "h",
    "startTime": at(0),
    "lastUpdated": at(9),
    "messages": [
        {"id": "m1", "timestamp": at(1), "type": "user", "content": "How many files?"},
        {"id": "m2", "timestamp": at(3), "content": "", "toolCalls": [SHELL], **PRO},
        {"id": "m3", "timestamp": at(6), "content": "Three.", **PRO},
    ],
}


HEAD = {key: value for key, value in GEMINI.items() if key != "messages"}
SESSIONS = [json.dumps(GEMINI, indent=2).encode(), json.dumps(GEMINI).encode(), lines(HEAD, *GEMINI["messages"])]


@pytest.mark.parametrize("content", SESSIONS)
def test_a_session_in_one_document_is_read_like_one_in_lines(content: bytes) -> None:
    _, faults = imported(content)
    assert faults == []
    assert turns() == [("How many files?", "completed", "unknown", 2, 30)]


MS = 1_772_359_200_000
CACHE = {"read": 2, "write": 0}
LISTED = {"status": "completed", "input": {"command": "ls"}, "output": "3", "time": {"end": MS + 5000}}
ASKED = {"id": "o1", "role": "user", "sessionID": "ses_1", "time": {"created": MS}}
ANSWERED = {
    "id": "o2", "role": "assistant", "sessionID": "ses_1", "modelID": "claude-opus-4-5", "providerID": "anthropic",
    "time": {"created": MS + 1000, "completed": MS + 9000},
}  # fmt: skip
STEPS = [
    {"type": "step-start"},
    {"type": "tool", "callID": "t1", "tool": "bash", "state": LISTED},
    {
        "type": "step-finish",
        "reason": "tool-calls",
        "tokens": {"input": 10, "output": 5, "reasoning": 1, "cache": CACHE},
    },
    {"type": "step-start"},
    {"type": "text", "text": "There are"},
    {"type": "step-finish", "reason": "length", "tokens": {"input": 10, "output": 5, "reasoning": 0, "cache": CACHE}},
]
OPENCODE = {
    "info": {"id": "ses_1", "title": "Files"},
    "messages": [
        {"info": ASKED, "parts": [{"type": "text", "text": "How many files?"}]},
        {"info": ANSWERED, "parts": STEPS},
    ],
}


def test_each_step_of_an_exported_message_is_a_call() -> None:
    imported(json.dumps(OPENCODE).encode())
    assert turns() == [("How many files?", "partial", "max_tokens", 2, 11)]
