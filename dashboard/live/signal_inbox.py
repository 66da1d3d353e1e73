"""Signals on their way to the turns this process drives: one query for all of them, five times a second."""

import asyncio
from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

import structlog
from django.db import transaction

from agentcore.reasons import TurnStatus
from dashboard.live.models import Signal
from dashboard.platform.db_threads import retrying
from dashboard.turns.models import Turn
from dashboard.turns.recorder import LostTurnError

log = structlog.get_logger(__name__)

POLL_SECONDS = 0.2


class SignalInbox:
    """Hands each turn's signals, in order, to its driver."""

    def __init__(self) -> None:
        self._queues: dict[UUID, asyncio.Queue[Signal]] = {}
        self._handed: dict[UUID, set[int]] = {}

    def open(self, turn_id: UUID) -> asyncio.Queue[Signal]:
        """A queue for the driver that begins; one that is not gone yet, having lost the turn, hears no more."""
        self._handed.pop(turn_id, None)
        self._queues[turn_id] = asyncio.Queue()
        return self._queues[turn_id]

    def close(self, turn_id: UUID, queue: "asyncio.Queue[Signal] | None" = None) -> None:
        """The driver of this queue is gone. A signal it was handed and did not record is handed to the next one again.

        None: whichever there is.
        """
        if queue is None or self._queues.get(turn_id) is queue:
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
        for signal in await retrying(_waiting, list(self._queues)):
            queue = self._queues.get(signal.turn_id)
            if queue is None:
                continue
            handed = self._handed.setdefault(signal.turn_id, set())
            if signal.id not in handed:
                handed.add(signal.id)
                queue.put_nowait(signal)


def _waiting(turn_ids: Iterable[UUID]) -> list[Signal]:
    return list(Signal.objects.filter(turn_id__in=turn_ids, handled_at=None).order_by("id"))


@transaction.atomic
def signal_put_away(signal: Signal, seq: int, at: datetime, refused: str) -> None:
    """A signal that the machine refuses, of a turn whose last record is `seq`. Raises `LostTurnError` where it is not.

    To a driver that has lost the turn everything seems to come at the wrong time; it has no say in it.
    """
    if not Turn.objects.select_for_update().filter(id=signal.turn_id, last_seq=seq).exists():
        raise LostTurnError(f"Turn {signal.turn_id} has continued since record {seq}.")
    signal_handled(signal, at, refused)


def signals_settle(turn_id: UUID, at: datetime) -> None:
    """What is still asked of a turn that ends; in the transaction that ends it, once its row says how.

    Nobody does it any more, and that is said; a cancel of a turn that ends as cancelled has come to what it asked for.
    """
    status = Turn.objects.values_list("status", flat=True).get(id=turn_id)
    waiting = Signal.objects.filter(turn_id=turn_id, handled_at=None)
    if status == TurnStatus.CANCELLED:
        waiting.filter(action="cancel").update(handled_at=at)
    waiting.update(handled_at=at, refused=f"The turn had ended before: it is {status}.")


def signal_handled(signal: Signal, at: datetime, refused: str = "") -> None:
    """It is in the history, or `refused` says why it is not."""
    Signal.objects.filter(id=signal.id).update(handled_at=at, refused=refused)
