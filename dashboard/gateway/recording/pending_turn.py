"""A turn that is not yet wholly stored, and the calls that wait for its commit."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

from agentcore.events import ModelResponded
from dashboard.gateway.recording.recorder_messages import TurnUpdate
from dashboard.gateway.recording.rows import StoredTurn
from dashboard.turns.recorder import StepRows

OPEN_SECONDS = 0.2  #: after which what was said is written although the turn goes on: a kill costs at most 250 ms of it
PATIENCE_SECONDS = 1.5  #: that somebody waits for a database that does not answer
LOCKED_SECONDS = 10.0  #: that somebody waits for a turn whose row another transaction holds
SLOWEST = 2 * 2**20  #: bytes a second that a busy one still stores: while much waits, it is waited for longer,
LONGER_SECONDS = 10.0  #: but by no more than this


class NotStoredError(Exception):
    """The database is away, so what was said of the turn is not stored, or not known to be."""


class UnstorableError(NotStoredError):
    """The database is there and takes none of it, nor would it later."""


@dataclass(slots=True)
class PendingTurn:
    """One turn, from its first word until all of it is stored."""

    id: UUID
    kept: StoredTurn = field(default_factory=StoredTurn)
    part: TurnUpdate | None = None  #: said, and not written
    writing: TurnUpdate | None = None  #: in the group that is being written
    is_stored: bool = False
    has_ended: bool = False
    seq: int = 0
    refused: NotStoredError | None = None  #: why nothing more of it is stored

    @property
    def is_open(self) -> bool:
        """Whether there is a row of it that is to change."""
        return self.is_stored and not self.has_ended

    @property
    def size(self) -> int:
        """Bytes that are not stored yet, about."""
        return sum(part.size for part in (self.part, self.writing) if part is not None)

    def is_due(self, now: float) -> bool:
        """Whether what was said has waited for long enough, though the turn has not ended and nobody waits for it."""
        part = self.part
        if part is None or (part.new is not None and not part.entries):
            return False
        return now - part.since >= OPEN_SECONDS


def answered(entry: StepRows) -> int:
    """Characters of the answer that a step tells of: what was said, thought aloud, and called with."""
    if entry.ended is None:
        return 0
    columns, event = entry.ended.columns, entry.event
    thought = event.response.reasoning_content if isinstance(event, ModelResponded) else ""
    calls = sum(2 * len(call.get("raw") or "") for call in columns.get("tool_calls") or ())  # as text, and as values
    return len(columns.get("text") or "") + len(thought or "") + calls


def wake_waiter(part: TurnUpdate, why: str = "") -> None:
    """Who waits for this part hears that it is stored, or `why` it never will be."""
    for _, stored in part.waiting:
        _settle(stored, UnstorableError(why) if why else None)


def fail_expired_waiters(
    tracks: Iterable[PendingTurn], now: float, *, waiting_bytes: int = 0, stored_at: float = 0.0
) -> bool:
    """Who has waited for too long hears so. What they wait for is stored all the same, once that is possible.

    `waiting_bytes`: what is there to be stored; 0 of a database that is known to be away. `stored_at`: when it last
    stored anything. Who waits for a database that does is told nothing: a large request takes seconds, and what is said
    of its turn in the end is stored after it. Returns whether anybody was told.
    """
    patience = PATIENCE_SECONDS + min(LONGER_SECONDS, waiting_bytes / SLOWEST)
    return now - stored_at >= patience and tell_waiters(tracks, now, patience, "The database does not answer.")


def tell_waiters(tracks: Iterable[PendingTurn], now: float, patience: float, why: str) -> bool:
    """Tell those who have waited for so many seconds why it is not stored. Returns whether anybody was told."""
    told = False
    for track in tracks:
        for part in (track.part, track.writing):
            if part is None or not part.waiting or now - part.waiting[0][0] < patience:
                continue
            told = True
            for since, stored in part.waiting:
                if now - since >= patience:
                    _settle(stored, NotStoredError(why))
            part.waiting = [each for each in part.waiting if not each[1].done()]
    return told


def _settle(stored: "asyncio.Future[None]", error: NotStoredError | None) -> None:
    if stored.done():
        return
    if error is not None:
        stored.set_exception(error)
    else:
        stored.set_result(None)
