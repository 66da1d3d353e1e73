"""Sessions of one file beside one another: each is read as if it stood alone, until memory is short."""

import gc
import tracemalloc
from collections.abc import Iterator
from itertools import chain, zip_longest
from typing import Any

import pytest

from dashboard.ingest.conventions.observations import Loop, ModelCall
from dashboard.ingest.logs.format_detection import Records
from dashboard.ingest.logs.transcripts import open_sessions
from dashboard.ingest.logs.transcripts.session_calls import CUT, DIVIDED, DROPPED, SessionCalls
from dashboard.ingest.logs.values import Episode
from tests.dashboard.ingest.logs.test_message_transcripts import QWEN, qwen
from tests.dashboard.ingest.logs.test_transcripts import CLAUDE, at, block, claude
from tests.dashboard.ingest.logs.writing import FILE_TIME, Json

MEGABYTE = 2**20
SESSIONS = {"claude": CLAUDE[1:], "qwen": QWEN}


def named(session: list[Json], number: int) -> list[Json]:
    return [{**told, "sessionId": f"s{number}"} for told in session]


def episodes(*told: Any) -> list[Episode]:
    records = Records(FILE_TIME)
    found = [one for number, record in enumerate(told) for one in records.take(record, number)]
    return [one for one in (*found, *records.end()) if isinstance(one, Episode)]


def calls(found: list[Episode]) -> list[ModelCall]:
    return [one for episode in found for one in episode.seen if isinstance(one, ModelCall)]


def notes(call: ModelCall) -> tuple[tuple[str, str], ...]:
    return call.exchange.notes if call.exchange is not None else ()


@pytest.mark.parametrize("name", SESSIONS)
def test_forty_interleaved_sessions_are_read_like_each_alone(name: str) -> None:
    several = [named(SESSIONS[name], number) for number in range(40)]
    alone = {one.key: one.seen for session in several for one in episodes(*session)}
    together = episodes(*chain.from_iterable(zip_longest(*several)))
    assert {one.key: one.seen for one in together} == alone
    assert len(together) == len(alone)


def test_records_after_a_cut_turn_become_its_next_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_sessions, "MOST_HELD", 20_000)
    other = [claude("user", 6, {"role": "user", "content": "x" * 50_000}, sessionId="other")]
    found = episodes(*CLAUDE[1:4], *other, *CLAUDE[4:6])
    first, rest = found
    assert (first.session, first.key) == (rest.session, episodes(*CLAUDE[1:6])[0].key)
    assert [one.failure for one in first.seen if isinstance(one, Loop)] == [DIVIDED]
    assert CUT in notes(calls([first])[-1])
    assert CUT not in notes(calls([rest])[0])


def test_a_prompt_that_was_not_kept_is_noted_at_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_sessions, "MOST_HELD", 20_000)
    prompt = qwen(0, "user", [{"text": "x" * 50_000}])
    (found,) = episodes(prompt, *QWEN[3:])
    assert found.key == episodes(*QWEN)[0].key
    assert DROPPED in notes(calls([found])[0])


def test_a_partly_read_message_is_cut_last_and_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_sessions, "MOST_HELD", 30_000)
    quiet = [{**told, "sessionId": "quiet"} for told in CLAUDE[6:]]
    large = claude("user", 6, {"role": "user", "content": "x" * 40_000}, sessionId="large")
    found = episodes(*CLAUDE[1:3], *quiet, large, *CLAUDE[3:6])
    assert [call.usage.output_tokens for call in calls(found) if call.usage] == [4, 40, 32_000]


def test_the_usage_of_a_message_that_had_to_be_cut_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_sessions, "MOST_HELD", 20_000)
    halves = [block(second, "msg_9", {"type": "text", "text": "x" * 30_000}, None, 40) for second in (2, 3)]
    found = episodes(CLAUDE[1], *halves)
    assert [call.usage and call.usage.output_tokens for call in calls(found)] == [40, None]


def prompts(count: int, size: int) -> Iterator[Json]:
    return (
        {**qwen(0, "user", [{"text": chr(65 + place % 26) * size}]), "sessionId": f"s{place}"} for place in range(count)
    )


def peak(told: Iterator[Json]) -> int:
    """Bytes that are held at most while the records are taken, about."""
    records = Records(FILE_TIME)
    tracemalloc.start()
    try:
        for number, record in enumerate(told):
            list(records.take(record, number))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("form", ["qwen", "claude"])
def test_prompts_without_answers_in_a_thousand_sessions_are_not_kept_in_memory(form: str) -> None:
    told: Iterator[Json] = prompts(1_000, MEGABYTE)
    if form == "claude":
        told = (
            claude("user", 0, {"role": "user", "content": one["message"]["parts"][0]["text"]}, sessionId=f"s{number}")
            for number, one in enumerate(told)
        )
    assert peak(told) < 150 * MEGABYTE


def test_prompts_without_answers_in_one_session_are_not_kept_in_memory() -> None:
    told = (
        {
            "type": "response_item", "timestamp": at(0),
            "payload": {"type": "message", "role": "user", "content": one["message"]["parts"]},
        }
        for one in prompts(300, MEGABYTE)
    )  # fmt: skip
    assert peak(told) < 150 * MEGABYTE


def test_cut_sessions_are_eventually_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_sessions, "MOST_HELD", MEGABYTE, raising=False)
    records = Records(FILE_TIME)
    for number, record in enumerate(prompts(5_000, 10)):
        list(records.take(record, number))
    assert sum(type(one) is SessionCalls for one in gc.get_objects()) < 2_000


def asks(place: int, arguments: str, call_id: str) -> Json:
    called = {"toolCallId": call_id, "name": "shell", "arguments": {"command": arguments}}
    data = {"content": "", "messageId": f"m{place}", "toolRequests": [called]}
    return {"type": "assistant.message", "id": f"e{place}", "timestamp": at(0), "agentId": f"a{place}", "data": data}


@pytest.mark.parametrize("large", ["arguments", "id"])
def test_unfinished_calls_of_many_agents_are_not_kept_in_memory(large: str) -> None:
    first = {"type": "session.start", "id": "e", "timestamp": at(0), "data": {"sessionId": "s"}}
    said = (chr(65 + place % 26) * MEGABYTE for place in range(300))
    asked = (asks(n, *((text, f"c{n}") if large == "arguments" else ("ls", text))) for n, text in enumerate(said))
    assert peak(chain([first], asked)) < 170 * MEGABYTE
