"""Calls of this process that wait in line for their connection, or are under way in a slot of it.

One task looks after all of them: it renews their leases, and hears which were granted. It runs only while there are
any, so connections without limits pay nothing.

Also holds the line of calls before each connection that has limits, in Postgres: the same for all workers on any host.

Who asks stands in line by id. Slots are granted under a lock of the connection, to the first who are heard of: as many
as calls may be under way, and may begin within a minute. A lease that is not renewed frees its slot.

Whoever changes a line holds its lock before any row of it, and takes the locks of several in order: else two who each
have a row the other wants would be told apart by Postgres, which throws one of them out.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

import structlog
from django.db import connection, transaction
from django.db.models.functions import Now

from dashboard.agents.models import Connection
from dashboard.live.models import CallSlot
from dashboard.platform.db_threads import AWAY, in_database, retrying
from dashboard.turns.recorder import LostTurnError

Given = dict[str, Any]  #: to a query, by name

LEASE_SECONDS = 5.0  #: after which a worker that is not heard of has lost its slots
KEPT_SECONDS = 60.0  #: how long a call counts for the calls per minute, and a place in line is kept for a successor

# Times are those of the statement, which follows that of the lock: Citus takes no clock in an UPDATE of its tables.
#: Nobody has been heard of by a server that was away itself.
_HEARD = """(greatest({slot}seen_at, pg_postmaster_start_time())
             > statement_timestamp() - %(lease)s * interval '1 second')"""
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(%(connection)s::text, 7260431120))"
_GRANT = f"""
    WITH used AS (
        SELECT count(*) FILTER (WHERE released_at IS NULL AND {_HEARD.format(slot="")}) AS under_way,
               count(*) FILTER (WHERE granted_at > statement_timestamp() - %(kept)s * interval '1 second') AS begun
          FROM live_callslot WHERE connection_id = %(connection)s AND granted_at IS NOT NULL
    ), free AS (
        SELECT greatest(0, least(coalesce(max_concurrent_calls - under_way, 1000),
                                 coalesce(requests_per_minute - begun, 1000))) AS slots
          FROM agents_connection, used WHERE agents_connection.id = %(connection)s
    ), first AS (
        SELECT id FROM live_callslot
         WHERE connection_id = %(connection)s AND granted_at IS NULL AND {_HEARD.format(slot="")}
         ORDER BY id LIMIT (SELECT slots FROM free)
    )
    UPDATE live_callslot SET granted_at = statement_timestamp(), seen_at = statement_timestamp()
     WHERE id IN (SELECT id FROM first)
"""  # noqa: S608 - made of constants
#: What nobody waits for and no minute counts.
_FORGET = """
    DELETE FROM live_callslot
     WHERE connection_id = %(connection)s
       AND greatest(granted_at, seen_at) < statement_timestamp() - %(kept)s * interval '1 second'
"""
#: A turn that was taken over keeps its place in line, and gives back the slot of the worker that is gone.
_SUCCEED = """
    UPDATE live_callslot SET attempt = %(attempt)s, seen_at = statement_timestamp()
     WHERE turn_id = %(turn)s AND connection_id = %(connection)s AND granted_at IS NULL RETURNING id
"""
_GIVE_BACK = """
    UPDATE live_callslot SET released_at = statement_timestamp()
     WHERE turn_id = %(turn)s AND granted_at IS NOT NULL AND released_at IS NULL
"""
#: The leases of these, where they have not run out; those of another attempt are a successor's.
_RENEW = f"""
    UPDATE live_callslot slot SET seen_at = statement_timestamp()
      FROM unnest(%(ids)s::bigint[], %(attempts)s::int[]) AS ours (id, attempt)
     WHERE slot.id = ours.id AND slot.attempt = ours.attempt AND slot.released_at IS NULL
       AND (slot.granted_at IS NULL OR {_HEARD.format(slot="slot.")})
    RETURNING slot.id, slot.granted_at IS NOT NULL
"""  # noqa: S608 - made of constants


@dataclass(frozen=True, slots=True)
class SlotPlace:
    """A call's place in line, or its slot."""

    id: int
    attempt: int
    connection: UUID


@transaction.atomic
def slot_ask(*, connection_id: UUID, turn_id: UUID, attempt: int) -> tuple[SlotPlace, bool]:
    """Stand in line; True where there is a free slot at once."""
    given: Given = {"connection": connection_id, "turn": turn_id, "attempt": attempt, "kept": KEPT_SECONDS}
    # The slot that is given back may be another connection's: an agent may have changed hands while its turn ran.
    _hold({connection_id, *_slots_of(turn_id)})
    with connection.cursor() as cursor:
        cursor.execute(_FORGET, given)
        cursor.execute(_GIVE_BACK, given)
        cursor.execute(_SUCCEED, given)
        found = cursor.fetchone()
    if found is None:
        place = CallSlot.objects.create(connection_id=connection_id, turn_id=turn_id, attempt=attempt)
        found = (place.id,)
    _grant(connection_id)
    granted = CallSlot.objects.filter(id=found[0]).exclude(granted_at=None).exists()
    return SlotPlace(found[0], attempt, connection_id), granted


@transaction.atomic
def slot_release(place: SlotPlace) -> None:
    """Leave the line, or give the slot to the next in it."""
    _hold([place.connection])
    ours = CallSlot.objects.filter(id=place.id, attempt=place.attempt, released_at=None)
    waiting, _ = ours.filter(granted_at=None).delete()
    if not waiting and ours.update(released_at=Now()):
        _grant(place.connection)


@transaction.atomic
def slots_renew(places: Collection[SlotPlace]) -> dict[int, bool]:
    """Be heard of; whether each place is a slot by now. Those that are lost are not in it."""
    given: Given = {
        "ids": [place.id for place in places],
        "attempts": [place.attempt for place in places],
        "lease": LEASE_SECONDS,
    }
    _hold({place.connection for place in places})
    with connection.cursor() as cursor:
        cursor.execute(_RENEW, given)
        return dict(cursor.fetchall())


@transaction.atomic
def slots_grant(connections: Collection[UUID]) -> None:
    """Grant what has become free: by a lease that ran out, by time, or by an operator who raised a limit."""
    _hold(connections)
    for connection_id in connections:
        _grant(connection_id)


def _slots_of(turn_id: UUID) -> Iterable[UUID]:
    """The connections it has a slot of: by right one, and none where its last worker gave it back."""
    slots = CallSlot.objects.filter(turn_id=turn_id, released_at=None).exclude(granted_at=None)
    return slots.values_list("connection_id", flat=True)


def _hold(connections: Collection[UUID]) -> None:
    """The locks of these lines, until the transaction ends."""
    with connection.cursor() as cursor:
        for connection_id in sorted(connections):
            cursor.execute(_LOCK, {"connection": connection_id})


def _grant(connection_id: UUID) -> None:
    """Under the lock of the connection."""
    given: Given = {"connection": connection_id, "lease": LEASE_SECONDS, "kept": KEPT_SECONDS}
    with connection.cursor() as cursor:
        cursor.execute(_GRANT, given)


log = structlog.get_logger(__name__)

T = TypeVar("T")

LOOK_SECONDS = 0.25  #: between two looks while somebody waits
RENEW_SECONDS = 1.0  #: between two looks while nobody does


class Slots:
    """The places of this process; `hold` is used by many calls at a time."""

    def __init__(self) -> None:
        self._waiting: dict[SlotPlace, asyncio.Future[None]] = {}
        self._held: dict[SlotPlace, asyncio.Future[Any]] = {}
        self._keeper: asyncio.Task[None] | None = None

    async def hold(
        self,
        connection: Connection,
        *,
        turn_id: UUID,
        attempt: int,
        work: Callable[[], Awaitable[T]],
        patient: bool = True,
    ) -> T:
        """Do the work in a slot of the connection, once there is one. Raises `LostTurnError` where the slot is lost.

        Where the database is away, who is patient waits for it; else one of `AWAY` is raised, and nothing was done.
        """
        if not connection.is_limited:
            return await work()
        asking = retrying if patient else in_database
        place, granted = await asking(slot_ask, connection_id=connection.id, turn_id=turn_id, attempt=attempt)
        try:
            if not granted:
                await self._turn_comes(place)
            return await self._in_slot(place, work)
        finally:
            self._waiting.pop(place, None)
            self._held.pop(place, None)
            await asyncio.shield(_released(place))

    async def _turn_comes(self, place: SlotPlace) -> None:
        self._waiting[place] = asyncio.get_running_loop().create_future()
        self._look_after()
        await self._waiting[place]
        del self._waiting[place]

    async def _in_slot(self, place: SlotPlace, work: Callable[[], Awaitable[T]]) -> T:
        task: asyncio.Future[T] = asyncio.ensure_future(work())
        self._held[place] = task
        self._look_after()
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            raise
        if place not in self._held:
            raise LostTurnError(f"The slot of call {place.attempt} was given to another call.")
        return task.result()

    def _look_after(self) -> None:
        if self._keeper is None or self._keeper.done() or self._keeper.get_loop() is not asyncio.get_running_loop():
            self._keeper = asyncio.create_task(self._keep())

    async def _keep(self) -> None:
        while self._waiting or self._held:
            await asyncio.sleep(LOOK_SECONDS if self._waiting else RENEW_SECONDS)
            try:
                await self._look()
            except AWAY as error:
                log.info("slots_away", error=str(error).partition("\n")[0])

    async def _look(self) -> None:
        places = [*self._waiting, *self._held]
        if self._waiting:
            await in_database(slots_grant, {place.connection for place in self._waiting})
        known = await in_database(slots_renew, places)
        for place in places:
            if place.id not in known:
                self._lose(place)
            elif known[place.id] and (waiting := self._waiting.get(place)) and not waiting.done():
                waiting.set_result(None)

    def _lose(self, place: SlotPlace) -> None:
        """Another worker has the place, or it ran out while this one slept."""
        if (task := self._held.pop(place, None)) is not None:
            task.cancel()
        if (waiting := self._waiting.get(place)) is not None and not waiting.done():
            waiting.set_exception(LostTurnError(f"The place in line of call {place.attempt} is another's."))


async def _released(place: SlotPlace) -> None:
    """Where the database is away, the lease runs out by itself."""
    try:
        await in_database(slot_release, place)
    except AWAY as error:
        log.info("slot_not_released", error=str(error).partition("\n")[0])
