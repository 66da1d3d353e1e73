"""A worker that was only asleep wakes up to a turn that another has taken over: nothing it still does has an effect."""

import asyncio
import contextlib
import random
from datetime import UTC, datetime, timedelta

import pytest

from agentcore.replay import verify
from dashboard.live import driver as driving
from dashboard.live.driver import Driver
from dashboard.live.models import Signal
from dashboard.live.services import turn_cancel, turn_start
from dashboard.live.signal_inbox import SignalInbox, signal_put_away
from dashboard.live.transport import Transport
from dashboard.live.turn_loader import abandoned_call, waiting_since
from dashboard.platform.db_threads import in_database
from dashboard.simulator.texts import ESSAY
from dashboard.turns.history import position_of, raw_response_of, recording_of
from dashboard.turns.models import Attempt, Record, Turn
from dashboard.turns.recorder import LostTurnError, append_chunk, pieces_kept
from tests.dashboard.driving import drive
from tests.dashboard.live.test_driver import abandon_when_it_speaks

pytestmark = pytest.mark.django_db(transaction=True)


def attempt_of(turn: Turn, index: int) -> Attempt:
    return Attempt.objects.get(turn_id=turn.id, index=index)


def late_piece(turn: Turn, n: int, raw: bytes = b"late") -> None:
    append_chunk(turn_id=turn.id, attempt=1, n=n, raw=raw, text="late", at=datetime.now(UTC))


@pytest.fixture
def abandoned(agent_of, slow, hurry) -> Turn:
    """A turn whose worker went away in the middle of a stream."""
    turn = turn_start(agent=agent_of("sim-essay", connection=slow), input_text="slowly")
    asyncio.run(abandon_when_it_speaks(turn))
    hurry()
    turn.refresh_from_db()
    return turn


def test_nothing_is_added_to_a_call_ended_by_another_worker(abandoned):
    drive(abandoned)
    kept = raw_response_of(attempt_of(abandoned, 1))
    with pytest.raises(LostTurnError):
        late_piece(abandoned, n=99)
    assert raw_response_of(attempt_of(abandoned, 1)) == kept


def test_a_chunk_whose_storing_was_not_confirmed_is_stored_once(abandoned):
    before = pieces_kept(abandoned.id, 1)
    for _ in range(2):
        late_piece(abandoned, n=before + 1, raw=b"once")
    assert pieces_kept(abandoned.id, 1) == before + 1
    assert raw_response_of(attempt_of(abandoned, 1)).endswith(b"once")


def test_text_that_arrives_during_a_takeover_is_also_read(abandoned, monkeypatch):
    """The old worker keeps a last piece after the new one has read what there was."""
    looked = []

    def read_then_more_comes(turn: Turn, index: int):
        found = abandoned_call(turn, index)
        looked.append(found.pieces)
        if len(looked) == 1:
            late_piece(turn, n=found.pieces + 1, raw=b": a comment\n\n")
        return found

    monkeypatch.setattr(driving, "abandoned_call", read_then_more_comes)
    turn = drive(abandoned)
    assert looked == [looked[0], looked[0] + 1]
    assert (turn.status, turn.output_text) == ("completed", ESSAY)
    assert verify(recording_of(turn)).verified


def test_a_driver_whose_turn_was_taken_over_stops_mid_stream(agent_of, slow, hurry):
    turn = turn_start(agent=agent_of("sim-essay", connection=slow), input_text="slowly")

    async def overtaken() -> Driver:
        async with Transport() as transport:
            sleeper = Driver(turn.id, transport, SignalInbox())
            sleeping = asyncio.create_task(sleeper.drive())
            while sleeper.performer.exchange is None or sleeper.performer.exchange.reading.first_token is None:
                await asyncio.sleep(0.02)
            hurry()
            await Driver(turn.id, transport, SignalInbox()).drive()
            with pytest.raises(LostTurnError):
                await sleeping
        return sleeper

    sleeper = asyncio.run(overtaken())
    turn.refresh_from_db()
    assert turn.status == "completed"
    assert ESSAY in (turn.output_text, position_of(turn).snapshot.answer.without_repeats)
    assert sleeper.performer.exchange.reading.received < len(ESSAY) * 100
    assert [record.seq for record in Record.objects.filter(turn_id=turn.id).order_by("seq")] == [1, 2, 3]
    assert verify(recording_of(turn)).verified


def test_a_driver_that_lost_the_turn_does_not_settle_its_signals(agent_of):
    turn = turn_start(agent=agent_of("sim-essay"), input_text="hello")
    turn_cancel(turn=turn, by="a tester")
    signal = Signal.objects.get(turn_id=turn.id)
    with pytest.raises(LostTurnError):
        signal_put_away(signal, 1, datetime.now(UTC), "too late")
    signal.refresh_from_db()
    assert signal.handled_at is None
    signal_put_away(signal, 0, datetime.now(UTC), "too late")
    signal.refresh_from_db()
    assert signal.handled_at is not None


async def test_two_drivers_of_one_process_do_not_share_their_signals():
    """The job of a turn may come back to the very worker that slept."""
    inbox = SignalInbox()
    turn = Turn().id
    first = inbox.open(turn)
    second = inbox.open(turn)
    inbox.close(turn, first)
    assert second is not first
    assert inbox._queues[turn] is second


@pytest.mark.parametrize(("waited", "left"), [(0.0, 60.0), (59.9, 0.1), (600.0, 0.0)])
async def test_elapsed_backoff_is_not_waited_again(waited, left):
    driver = Driver(Turn().id, Transport(), SignalInbox())
    driver.performer.waiting_since = datetime.now(UTC) - timedelta(seconds=waited)
    waiting = asyncio.create_task(driver.performer.wait(60.0))
    done, _ = await asyncio.wait({waiting}, timeout=60.0 if left < 1 else 0.05)
    assert bool(done) is (left < 1)
    waiting.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await waiting


def test_a_backoff_starts_with_its_error_despite_takeovers(agent_of, monkeypatch):
    monkeypatch.setattr(random, "random", lambda: 0.9)  # the jitter: a wait of no length would be over already
    turn = turn_start(
        agent=agent_of("sim-500"), input_text="hello", overrides={"error_policy": {"preset": "retry_all"}}
    )

    async def abandoned_in_backoff() -> None:
        async with Transport() as transport:
            task = asyncio.create_task(Driver(turn.id, transport, SignalInbox()).drive())
            while (await in_database(Turn.objects.get, id=turn.id)).state != "backoff":
                await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(abandoned_in_backoff())
    begun = waiting_since(turn.id)
    last = Record.objects.filter(turn_id=turn.id).order_by("seq").last()
    assert (begun, last.command["type"]) == (last.at, "wait")
    asyncio.run(taken_over(turn))
    interrupted = Record.objects.filter(turn_id=turn.id).order_by("seq").last()
    assert (interrupted.event["type"], interrupted.command) == ("interrupted", last.command)
    assert waiting_since(turn.id) == begun


async def taken_over(turn: Turn) -> None:
    async with Transport() as transport:
        driver = Driver(turn.id, transport, SignalInbox())
        driver.take(await in_database(driving.load, turn.id))
        await driver._begin()
