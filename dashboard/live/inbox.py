"""Signals on their way to the turns this process drives: one query for all of them, five times a second."""

import asyncio
from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

import structlog

from dashboard.live.models import Signal
from dashboard.live.offload import in_database

log = structlog.get_logger(__name__)

POLL_SECONDS = 0.2


class Inbox:
    """Hands each turn's signals, in order, to its driver."""

    def __init__(self) -> None:
        self._queues: dict[UUID, asyncio.Queue[Signal]] = {}
        self._handed: dict[UUID, set[int]] = {}

    def open(self, turn_id: UUID) -> asyncio.Queue[Signal]:
        return self._queues.setdefault(turn_id, asyncio.Queue())

    def close(self, turn_id: UUID) -> None:
        """The driver is gone. A signal it was handed and did not record is handed to the next one again."""
        self._queues.pop(turn_id, None)
        self._handed.pop(turn_id, None)

    async def run(self) -> None:
        """Poll until cancelled."""
        while True:
            try:
                await self.look()
            except Exception as error:
                log.warning("inbox_unreadable", error=str(error))
            await asyncio.sleep(POLL_SECONDS)

    async def look(self) -> None:
        if not self._queues:
            return
        for signal in await in_database(_waiting, list(self._queues)):
            queue = self._queues.get(signal.turn_id)
            if queue is None:
                continue
            handed = self._handed.setdefault(signal.turn_id, set())
            if signal.id not in handed:
                handed.add(signal.id)
                queue.put_nowait(signal)


def _waiting(turn_ids: Iterable[UUID]) -> list[Signal]:
    return list(Signal.objects.filter(turn_id__in=turn_ids, handled_at=None).order_by("id"))


def signal_handled(signal: Signal, at: datetime, refused: str = "") -> None:
    """It is in the history, or `refused` says why it is not."""
    Signal.objects.filter(id=signal.id).update(handled_at=at, refused=refused)
