"""Limits of a connection hold across processes: the line is in Postgres, and each `Slots` here stands for a process."""

import asyncio
import time
from uuid import uuid4

import pytest
from django.core.exceptions import ValidationError
from django.db import connection as database

from agentcore.replay import verify
from dashboard.agents.models import Connection
from dashboard.agents.selectors import project_default
from dashboard.agents.services import connection_create, connection_update
from dashboard.live import slots as holding
from dashboard.live.driver import Driver
from dashboard.live.models import CallSlot
from dashboard.live.selectors import _ordinal, waiting_words
from dashboard.live.services import turn_cancel, turn_start
from dashboard.live.signal_inbox import SignalInbox
from dashboard.live.slots import KEPT_SECONDS, LEASE_SECONDS, Slots, slot_ask, slot_release, slots_grant, slots_renew
from dashboard.live.transport import Transport
from dashboard.platform.db_threads import in_database
from dashboard.turns.history import position_of, recording_of
from dashboard.turns.models import Record, Turn
from dashboard.turns.recorder import LostTurnError
from tests.dashboard.racing import at_once

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holding, "LOOK_SECONDS", 0.02)
    monkeypatch.setattr(holding, "RENEW_SECONDS", 0.05)


@pytest.fixture
def narrow(slow_simulator_url: str) -> Connection:
    """A connection that takes two calls at once."""
    return connection_create(
        project=project_default(),
        name="narrow",
        provider="openai",
        base_url=slow_simulator_url,
        max_concurrent_calls=2,
    )


def ask(near: Connection, turn=None, attempt: int = 1):
    return slot_ask(connection_id=near.id, turn_id=turn or uuid4(), attempt=attempt)


def aged(seconds: float, **which: object) -> None:
    """As if so much time had gone by for these, of a server that was up all the while."""
    ids = list(CallSlot.objects.filter(**which).values_list("id", flat=True))
    with database.cursor() as cursor:
        cursor.execute(
            "UPDATE live_callslot SET seen_at = seen_at - %(s)s * interval '1 s',"
            " granted_at = granted_at - %(s)s * interval '1 s' WHERE id = ANY(%(ids)s)",
            {"s": seconds, "ids": ids},
        )


@pytest.fixture
def long_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the server had been up for long."""
    for name in ("_GRANT", "_RENEW"):
        query = getattr(holding, name).replace("pg_postmaster_start_time()", "'-infinity'::timestamptz")
        monkeypatch.setattr(holding, name, query)


def test_slots_are_granted_in_order_of_request(narrow):
    asked = [ask(narrow) for _ in range(5)]
    assert [granted for _, granted in asked] == [True, True, False, False, False]
    places = [place for place, _ in asked]
    slot_release(places[1])
    slot_release(places[3])
    assert slots_renew(places) == {places[0].id: True, places[2].id: True, places[4].id: False}
    assert CallSlot.objects.filter(granted_at=None).count() == 1


def test_a_slot_of_a_dead_worker_is_free_when_its_lease_expires(narrow, long_up):
    (first, _), (second, _), (third, granted) = (ask(narrow) for _ in range(3))
    assert not granted
    aged(LEASE_SECONDS + 1, id=first.id)
    slots_grant({narrow.id})
    assert slots_renew([third]) == {third.id: True}
    assert slots_renew([first, second]) == {second.id: True}, "who slept has lost it, and is told so"


def test_a_silent_waiting_caller_is_skipped_but_keeps_its_place(narrow, long_up):
    ask(narrow), ask(narrow)
    turn = uuid4()
    (gone, _), (here, _) = ask(narrow, turn), ask(narrow)
    aged(LEASE_SECONDS + 1, id=gone.id)
    connection_update(connection=narrow, changes={"max_concurrent_calls": 3})
    slots_grant({narrow.id})
    assert slots_renew([here]) == {here.id: True}
    successor, granted = ask(narrow, turn, attempt=2)
    assert (successor.id, granted) == (gone.id, False)
    assert slots_renew([gone]) == {}, "the place is the successor's"


def test_a_turn_taken_over_during_a_call_returns_its_slot(narrow):
    turn = uuid4()
    ask(narrow, turn)
    ask(narrow)
    assert ask(narrow, turn, attempt=2)[1]
    assert not ask(narrow)[1]


def test_calls_per_minute_are_counted_over_any_sixty_seconds(narrow, long_up):
    connection_update(connection=narrow, changes={"max_concurrent_calls": None, "requests_per_minute": 3})
    begun = [ask(narrow) for _ in range(3)]
    assert all(granted for _, granted in begun)
    for place, _ in begun:
        slot_release(place)
    fourth, granted = ask(narrow)
    assert not granted
    aged(59.0, id=begun[0][0].id)
    slots_grant({narrow.id})
    assert slots_renew([fourth]) == {fourth.id: False}
    aged(1.1, id=begun[0][0].id)
    slots_grant({narrow.id})
    assert slots_renew([fourth]) == {fourth.id: True}
    assert not ask(narrow)[1]


def test_calls_in_progress_never_exceed_the_limit_over_all_processes(narrow):
    under_way_at_once: list[int] = []

    async def main() -> None:
        under_way = 0

        async def call() -> None:
            nonlocal under_way
            under_way += 1
            under_way_at_once.append(under_way)
            async with asyncio.timeout(60):  # that two may, is seen however late the second is let in
                while max(under_way_at_once) < 2:
                    await asyncio.sleep(0.01)
            await asyncio.sleep(0.03)
            under_way -= 1

        processes = [Slots() for _ in range(3)]
        calls = [process.hold(narrow, turn_id=uuid4(), attempt=1, work=call) for _ in range(6) for process in processes]
        await asyncio.gather(*calls)

    asyncio.run(main())
    assert len(under_way_at_once) == 18
    assert max(under_way_at_once) == 2
    assert not CallSlot.objects.filter(released_at=None).exists()


def test_concurrent_changes_of_one_queue_do_not_deadlock(narrow):
    (held, _), _, (waiting, granted) = (ask(narrow) for _ in range(3))
    assert not granted
    at_once(lambda: slots_renew([waiting]), lambda: slot_release(held), then=lambda: slots_renew([held]))
    assert slots_renew([held, waiting]) == {waiting.id: True}, "who waited has the slot that was given back"


def test_turns_that_swap_places_in_two_queues_do_not_deadlock(narrow, slow):
    near, far = sorted((narrow, slow), key=lambda one: one.id)
    goer, comer = uuid4(), uuid4()
    ask(near, goer), ask(far, comer)
    aged(KEPT_SECONDS + 1)
    at_once(lambda: ask(near), lambda: ask(far, goer), then=lambda: ask(near, comer))
    kept = CallSlot.objects.filter(turn_id__in=(goer, comer), released_at=None).values_list("turn_id", "connection_id")
    assert set(kept) == {(goer, far.id), (comer, near.id)}


def test_a_driver_that_lost_its_slot_ends_its_call(narrow):
    async def main() -> None:
        slots, began = Slots(), asyncio.Event()

        async def call() -> None:
            began.set()
            await asyncio.sleep(60)

        turn = uuid4()
        holding_one = asyncio.create_task(slots.hold(narrow, turn_id=turn, attempt=1, work=call))
        await began.wait()
        await in_database(ask, narrow, turn, 2)
        with pytest.raises(LostTurnError):
            await asyncio.wait_for(holding_one, 50)

    asyncio.run(main())


def test_a_connection_without_limits_makes_no_queries(connection, django_assert_num_queries):
    async def work() -> str:
        return "done"

    with django_assert_num_queries(0):
        assert asyncio.run(Slots().hold(connection, turn_id=uuid4(), attempt=1, work=work)) == "done"
    assert not CallSlot.objects.exists()


@pytest.fixture
def full_line(narrow: Connection, monkeypatch: pytest.MonkeyPatch):
    """Both slots taken, and one call in line before whoever comes next; nobody renews them, however long that takes."""
    monkeypatch.setattr(holding, "LEASE_SECONDS", 3_600.0)
    return [ask(narrow)[0] for _ in range(3)]


async def when(condition, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not await in_database(condition):
        assert time.monotonic() < deadline, "it did not happen in time"
        await asyncio.sleep(0.02)


async def driving(turn: Turn, while_driving) -> None:
    """Drive the turn, while something else happens as well."""
    async with Transport() as transport:
        inbox = SignalInbox()
        polling = asyncio.create_task(inbox.run())
        driven = asyncio.create_task(Driver(turn.id, transport, inbox).drive())
        await while_driving()
        await driven
        polling.cancel()
        await asyncio.gather(polling, return_exceptions=True)


def test_a_turn_shows_its_position_and_waiting_is_not_time_in_the_model(agent_of, narrow, full_line, browser):
    agent = agent_of("sim-tools", connection=narrow, tools=["calculator"])
    turn = turn_start(agent=agent, input_text="hello", overrides={"limits": {"max_seconds": 60}})
    seen = []

    async def while_driving() -> None:
        await when(lambda: waiting_words(turn.id) is not None)
        seen.append(await in_database(waiting_words, turn.id))
        seen.append((await in_database(browser.get, f"/turns/{turn.id}/")).content.decode())
        await asyncio.sleep(0.5)
        for place in full_line:
            await in_database(slot_release, place)

    asyncio.run(driving(turn, while_driving))
    assert seen[0] == "waiting for a slot of connection narrow, 2nd in the queue"
    assert "Waiting for a slot of connection narrow, 2nd in the queue." in seen[1]
    turn.refresh_from_db()
    assert turn.status == "completed"
    assert waiting_words(turn.id) is None
    recording = recording_of(turn)
    assert verify(recording).verified
    answered = recording.records[1].event
    assert answered.waited >= 0.5
    assert position_of(turn).snapshot.spent.seconds <= turn.duration_ms / 1000 - answered.waited + 0.01
    assert "in line" in browser.get(f"/turns/{turn.id}/").content.decode()


def test_a_queued_turn_can_be_cancelled_and_leaves_the_queue(agent_of, narrow, full_line):
    turn = turn_start(agent=agent_of("sim-essay", connection=narrow), input_text="hello")

    async def while_driving() -> None:
        await when(lambda: waiting_words(turn.id) is not None)
        await in_database(turn_cancel, turn=turn, by="a tester")

    asyncio.run(driving(turn, while_driving))
    turn.refresh_from_db()
    assert turn.status == "cancelled"
    assert not CallSlot.objects.filter(turn_id=turn.id).exists()
    assert Record.objects.filter(turn_id=turn.id).last().event["waited"] > 0


def test_positions_are_shown_as_ordinals():
    said = [_ordinal(number) for number in (1, 2, 3, 4, 11, 112, 1023)]
    assert said == ["1st", "2nd", "3rd", "4th", "11th", "112th", "1,023rd"]


@pytest.mark.parametrize("field", ["max_concurrent_calls", "requests_per_minute"])
@pytest.mark.parametrize(("value", "words"), [(0, "at least 1 call"), (1_000_001, "at most 1,000,000 calls")])
def test_an_invalid_limit_is_refused_with_an_explanation(field, value, words):
    with pytest.raises(ValidationError, match=words):
        connection_create(
            project=project_default(), name="n", provider="openai", base_url="http://127.0.0.1:1", **{field: value}
        )
