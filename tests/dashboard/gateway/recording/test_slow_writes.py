"""A turn that takes the database too long is stored beside the others, and they do not wait for it."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.db import connection

from agentcore import verify
from dashboard.agents.selectors import project_default
from dashboard.gateway.recording import group_writer, pending_turn, slow_writes, turn_group
from dashboard.gateway.recording import recorder as recorder_module
from dashboard.gateway.recording.pending_turn import NotStoredError, UnstorableError
from dashboard.gateway.recording.recorder import Recorder
from dashboard.live.models import OwnedTurn
from dashboard.turns.history import recording_of
from dashboard.turns.models import Turn
from tests.dashboard.gateway.recording.test_recorder import recording
from tests.dashboard.gateway.told_turns import Story, cut, ended, tell
from tests.nightly import nightly

pytestmark = pytest.mark.django_db(transaction=True)

#: Any insert of such a turn sleeps, as one with a text sleeps that PostgreSQL parses in quadratic time.
POISON = """
CREATE FUNCTION slow_to_store() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.input_text LIKE 'poison %%' THEN PERFORM pg_sleep(%s); END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER slow_to_store BEFORE INSERT ON turns_turn FOR EACH ROW EXECUTE FUNCTION slow_to_store();
"""
CURED = "DROP TRIGGER slow_to_store ON turns_turn; DROP FUNCTION slow_to_store()"


@pytest.fixture
def slow_turns(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A turn whose input begins with “poison” takes two seconds, and a statement may take half a second."""
    monkeypatch.setattr(turn_group, "SECONDS", 0.5)
    monkeypatch.setattr(pending_turn, "PATIENCE_SECONDS", 30.0)  # of a machine that is busy nothing is to be said here
    with connection.cursor() as cursor:
        cursor.execute(POISON, [2])
    yield
    with connection.cursor() as cursor:
        cursor.execute(CURED)


def recorded_together(stories: list[Story]) -> tuple[list[object], list[float]]:
    """What each caller heard, and after how many seconds."""
    project_id, seconds = project_default().pk, [0.0] * len(stories)

    async def timed(recorder: Recorder, n: int, began: float) -> None:
        try:
            await tell(recorder, stories[n], stories[n].new_turn(project_id))
        finally:
            seconds[n] = time.monotonic() - began

    async def told() -> list[object]:
        async with recording() as recorder:
            tasks = (timed(recorder, n, time.monotonic()) for n in range(len(stories)))
            return list(await asyncio.gather(*tasks, return_exceptions=True))

    return asyncio.run(told()), seconds


def stories_with(poisoned: set[int], count: int = 12) -> list[Story]:
    return [
        Story([cut(f"a {n} "), ended(f"b {n}")], prompt="poison pill" if n in poisoned else "fine")
        for n in range(count)
    ]


@pytest.mark.usefixtures("slow_turns")
@pytest.mark.parametrize("poisoned", [nightly({0}), nightly({5}), {2, 7}], ids=str)
def test_a_slow_turn_is_stored_after_the_others_of_its_group(poisoned: set[int]):
    stories = stories_with(poisoned)
    results, seconds = recorded_together(stories)
    assert results == [None] * 12
    others = [taken for n, taken in enumerate(seconds) if n not in poisoned]
    assert max(others) < min(seconds[n] for n in poisoned)
    assert all(verify(recording_of(story.turn())).verified for story in stories)


@pytest.mark.usefixtures("slow_turns")
def test_a_turn_that_is_always_too_slow_is_the_only_one_lost(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(slow_writes, "PATIENCE_SECONDS", 0.1)
    monkeypatch.setattr(slow_writes, "PAUSE_SECONDS", 0.01)
    results, _ = recorded_together(stories_with({3}, count=6))
    assert [type(result) for n, result in enumerate(results) if n != 3] == [type(None)] * 5
    assert isinstance(results[3], UnstorableError)
    assert "too slow for it 3 times" in str(results[3])
    assert Turn.objects.count() == 5


@pytest.mark.usefixtures("slow_turns")
def test_updates_of_a_slow_turn_are_stored_after_it():
    (story,) = stories_with({0}, count=1)
    new = story.new_turn(project_default().pk)

    async def told() -> None:
        async with recording() as recorder:
            recorder.open(new)
            for n, (piece, entry) in enumerate(story.steps()):
                if piece is not None:
                    attempt, raw, text = piece
                    recorder.piece(story.id, attempt, n, raw, text, entry.at)
                recorder.step(entry)
                await asyncio.sleep(0.4)  # longer than anything said is kept unwritten
            await recorder.committed(story.id)

    asyncio.run(told())
    assert story.turn().status == "completed"
    assert verify(recording_of(story.turn())).verified


HOLDING = {
    "the turn": "SELECT FROM turns_turn WHERE id = ANY(%s) FOR UPDATE",
    "its owner": "SELECT FROM live_ownedturn WHERE turn_id = ANY(%s) FOR UPDATE",
}


@contextlib.asynccontextmanager
async def holding(sql: str, values: list[Any]) -> AsyncIterator[None]:
    """Rows that another transaction holds."""
    held = await asyncio.to_thread(another_connection)
    try:
        await asyncio.to_thread(held.execute, sql, [values])
        yield
    finally:
        await asyncio.to_thread(held.close)


def another_connection() -> psycopg.Connection[Any]:
    given = connection.get_connection_params()
    names = ("dbname", "user", "password", "host", "port")
    return psycopg.connect(**{name: given[name] for name in names if name in given})


async def begun(recorder: Recorder, story: Story, project_id: Any) -> Iterator[Any]:
    """Its turn is stored and open; returns what is still to be said."""
    recorder.open(story.new_turn(project_id))
    steps = story.steps()
    recorder.step(next(steps)[1])
    await recorder.committed(story.id)
    return steps


async def went_on(recorder: Recorder, story: Story, steps: Iterator[Any]) -> None:
    for n, (piece, entry) in enumerate(steps):
        if piece is not None:
            attempt, raw, text = piece
            recorder.piece(story.id, attempt, n, raw, text, entry.at)
        recorder.step(entry)
    await recorder.committed(story.id)


@pytest.mark.parametrize("what", [nightly("the turn"), "its owner"])
def test_turns_with_locked_rows_block_no_other(what: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pending_turn, "PATIENCE_SECONDS", 30.0)
    # Four seconds: each of the held turns is tried again by itself, and waits for its lock for 0.8 s.
    held, others = stories_with(set(), count=3), stories_with(set(), count=8)
    project_id = project_default().pk

    async def told() -> float:
        async with recording() as recorder:
            steps = [await begun(recorder, story, project_id) for story in held]
            async with holding(HOLDING[what], [story.id for story in held]):
                going = [asyncio.create_task(went_on(recorder, *each)) for each in zip(held, steps, strict=True)]
                longest = 0.0
                for story in others:
                    began = time.monotonic()
                    await tell(recorder, story, story.new_turn(project_id))
                    longest = max(longest, time.monotonic() - began)
                    assert not recorder.away
                    await asyncio.sleep(0.5)
                assert not any(each.done() for each in going)
            await asyncio.gather(*going)
            return longest

    assert asyncio.run(told()) < 8  # a group, and then each held turn by itself, is waited for once
    assert [story.turn().status for story in (*held, *others)] == ["completed"] * 11
    assert all(verify(recording_of(story.turn())).verified for story in held)


def test_the_caller_of_a_turn_with_a_locked_row_is_told_and_the_turn_is_stored_later(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(recorder_module, "LOCKED_SECONDS", 2.0)
    (story,) = stories_with(set(), count=1)

    project_id = project_default().pk

    async def told() -> None:
        async with recording() as recorder:
            steps = await begun(recorder, story, project_id)
            async with holding(HOLDING["the turn"], [story.id]):
                with pytest.raises(NotStoredError, match="holds the row"):
                    await went_on(recorder, story, steps)
                assert not recorder.away
            async with asyncio.timeout(30):
                while recorder._queue.turns:
                    await asyncio.sleep(0.05)

    asyncio.run(told())
    assert story.turn().status == "completed"


def test_locked_rows_of_a_given_up_turn_and_of_the_process_block_nobody():
    given_up, other = stories_with(set(), count=2)
    project_id = project_default().pk

    async def told() -> None:
        async with recording() as recorder:
            await begun(recorder, given_up, project_id)
            process = recorder._writer.process_id
            async with (
                holding(HOLDING["its owner"], [given_up.id]),
                holding("SELECT FROM live_process WHERE id = ANY(%s) FOR UPDATE", [process]),
            ):
                recorder.forget(given_up.id)
                await asyncio.sleep(group_writer.BEAT_SECONDS + 0.2)
                async with asyncio.timeout(20):
                    await tell(recorder, other, other.new_turn(project_id))
                assert not recorder.away
            await asyncio.sleep(2 * recorder_module.RETRY_SECONDS)
            assert not recorder._disowned

    asyncio.run(told())
    assert OwnedTurn.objects.get(turn_id=given_up.id).process_id == UUID(int=0)
