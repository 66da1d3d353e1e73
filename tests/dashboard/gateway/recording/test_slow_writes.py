"""A turn that takes the database too long is stored beside the others, and they do not wait for it."""

import asyncio
import time
from collections.abc import Iterator

import pytest
from django.db import connection

from agentcore import verify
from dashboard.agents.selectors import project_default
from dashboard.gateway.recording import group_writer, pending_turn, slow_writes
from dashboard.gateway.recording.pending_turn import UnstorableError
from dashboard.gateway.recording.recorder import Recorder
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
    monkeypatch.setattr(group_writer, "SECONDS", 0.5)
    monkeypatch.setattr(pending_turn, "PATIENCE_SECONDS", 30.0)  # of a machine that is busy nothing is to be said here
    with connection.cursor() as cursor:
        cursor.execute(POISON, [2])
    yield
    with connection.cursor() as cursor:
        cursor.execute(CURED)


def told_together(stories: list[Story]) -> tuple[list[object], list[float]]:
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
def test_the_others_of_its_group_are_stored_before_it_and_it_is_stored_too(poisoned: set[int]):
    stories = stories_with(poisoned)
    results, seconds = told_together(stories)
    assert results == [None] * 12
    others = [taken for n, taken in enumerate(seconds) if n not in poisoned]
    assert max(others) < min(seconds[n] for n in poisoned)
    assert all(verify(recording_of(story.turn())).verified for story in stories)


@pytest.mark.usefixtures("slow_turns")
def test_what_is_too_slow_whenever_it_is_tried_is_lost_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(slow_writes, "PATIENCE_SECONDS", 0.1)
    monkeypatch.setattr(slow_writes, "PAUSE_SECONDS", 0.01)
    results, _ = told_together(stories_with({3}, count=6))
    assert [type(result) for n, result in enumerate(results) if n != 3] == [type(None)] * 5
    assert isinstance(results[3], UnstorableError)
    assert "too slow for it 3 times" in str(results[3])
    assert Turn.objects.count() == 5


@pytest.mark.usefixtures("slow_turns")
def test_what_is_said_of_a_slow_turn_meanwhile_is_stored_after_it():
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
