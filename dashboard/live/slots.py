"""Calls of this process that wait in line for their connection, or are under way in a slot of it.

One task looks after all of them: it renews their leases, and hears which were granted. It runs only while there are
any, so connections without limits pay nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from uuid import UUID

import structlog

from dashboard.agents.models import Connection
from dashboard.live.slot_queue import SlotPlace, slot_ask, slot_release, slots_grant, slots_renew
from dashboard.platform.db_threads import AWAY, in_database, retrying
from dashboard.turns.recorder import LostTurnError

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
            raise LostTurnError(f"The slot of attempt {place.attempt} was given to another call.")
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
            waiting.set_exception(LostTurnError(f"The place in line of attempt {place.attempt} is another's."))


async def _released(place: SlotPlace) -> None:
    """Where the database is away, the lease runs out by itself."""
    try:
        await in_database(slot_release, place)
    except AWAY as error:
        log.info("slot_not_released", error=str(error).partition("\n")[0])
