"""Turns whose write was too slow, or whose rows somebody holds: retried one at a time, and the others do not wait."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

from dashboard.gateway.recording.pg_connection import DatabaseAway, LockedError, SlowError
from dashboard.gateway.recording.turn_group import TurnGroup

PATIENCE_SECONDS = 20.0  #: for the statement of one turn, beyond what its bytes may take
MOST_TRIES = 3
PAUSE_SECONDS = 0.5  #: between two tries

#: Writes a group within so many seconds: why which turns of it are lost.
Write = Callable[[TurnGroup, float], Awaitable[dict[UUID, str]]]
#: Told of what became of a group.
Settle = Callable[[TurnGroup, dict[UUID, str]], None]


@dataclass(slots=True, eq=False)
class _Waiting:
    group: TurnGroup
    tries: int = 0
    locked: bool = False  #: somebody held its row when it was last tried


class SlowWrites:
    """Runs while anything waits."""

    def __init__(self, write: Write, settle: Settle) -> None:
        self._write, self._settle = write, settle
        self._waiting: deque[_Waiting] = deque()
        self._running: asyncio.Task[None] | None = None

    @property
    def busy(self) -> bool:
        return bool(self._waiting)

    def holds(self, turn_id: UUID) -> bool:
        return any(turn_id in each.group.parts for each in self._waiting)

    def waits_for_lock(self, turn_id: UUID) -> bool:
        return any(each.locked and turn_id in each.group.parts for each in self._waiting)

    def take(self, group: TurnGroup) -> None:
        self._waiting.append(_Waiting(group))
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run(), name="gateway recorder, slow turns")

    async def _run(self) -> None:
        while self._waiting:
            each = self._waiting[0]
            try:
                lost = await self._write(each.group, PATIENCE_SECONDS + each.group.seconds)
            except LockedError:
                # Whoever holds the row lets go of it some day; others that are slow are written meanwhile.
                each.locked = True
                self._waiting.rotate(-1)
                await asyncio.sleep(PAUSE_SECONDS)
                continue
            except SlowError as error:
                each.locked = False
                each.tries += 1
                if each.tries < MOST_TRIES:
                    self._waiting.rotate(-1)
                    await asyncio.sleep(PAUSE_SECONDS)
                    continue
                lost = dict.fromkeys(each.group.parts, f"The database was too slow for it {MOST_TRIES} times: {error}")
            except DatabaseAway:
                await asyncio.sleep(PAUSE_SECONDS)
                continue
            self._waiting.remove(each)
            self._settle(each.group, lost)

    async def close(self) -> None:
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)
