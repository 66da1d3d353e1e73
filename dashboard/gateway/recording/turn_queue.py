"""The turns of which something is said that is not stored: which are due, which may wait, and how much it is."""

import asyncio
from collections.abc import Callable, Iterator
from uuid import UUID

from dashboard.gateway.recording.group_writer import Given
from dashboard.gateway.recording.pending_turn import PendingTurn
from dashboard.gateway.recording.recorder_messages import TurnUpdate

GROUP_TURNS = 256
GROUP_BYTES = 4_000_000
MOST_BYTES = 64_000_000  #: that are kept for a database that is slow or away; beyond, new turns are not recorded


class TurnQueue:
    """A turn is in it from its first word until it has ended and all of it is stored."""

    def __init__(self) -> None:
        self.turns: dict[UUID, PendingTurn] = {}
        self.due: dict[UUID, PendingTurn] = {}
        self.later: dict[UUID, PendingTurn] = {}  #: said of them and not written, and nobody waits
        self.bytes = 0  #: said and not stored, about

    @property
    def is_full(self) -> bool:
        return self.bytes > MOST_BYTES

    def update(self, track: PendingTurn, size: int) -> TurnUpdate:
        """What is said of it next; so many bytes are about to be added."""
        if track.part is None:
            track.part = TurnUpdate(asyncio.get_running_loop().time())
            self.later[track.id] = track
        track.part.size += size
        self.bytes += size
        return track.part

    def hurry(self, track: PendingTurn) -> None:
        """Somebody waits for it, or it has ended."""
        self.later.pop(track.id, None)
        self.due[track.id] = track

    def next_group(self, waits: Callable[[UUID], bool]) -> Iterator[Given]:
        """What is to be written together; not what is said of turns that `waits` for something that is being written,
        which is due again once that is settled."""
        turns = size = 0
        for turn_id in list(self.due):
            if turns >= GROUP_TURNS or size > GROUP_BYTES:
                return
            track = self.due.pop(turn_id)
            if track.part is None or waits(turn_id):
                continue
            track.writing, track.part = track.part, None
            turns, size = turns + 1, size + track.writing.size
            yield turn_id, track.writing, track.kept, track.is_stored, track.has_ended

    def stored(self, track: PendingTurn) -> None:
        """What was being written of it is stored; what has been said meanwhile is due."""
        track.writing, track.is_stored = None, True
        if track.part is not None and track.id not in self.later:
            self.hurry(track)
        if track.has_ended and track.part is None:
            del self.turns[track.id]

    def drop(self, track: PendingTurn) -> TurnUpdate | None:
        """What is said of it and not being written is not written any more; returns it."""
        self.later.pop(track.id, None)
        self.due.pop(track.id, None)
        part, track.part = track.part, None
        self.bytes -= part.size if part is not None else 0
        return part
