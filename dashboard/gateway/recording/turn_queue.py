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
    """The turns with parts that are not stored yet. A turn is added with its first record, and removed when it
    has ended and all of it is stored."""

    def __init__(self) -> None:
        self.turns: dict[UUID, PendingTurn] = {}
        self.due: dict[UUID, PendingTurn] = {}
        self.later: dict[UUID, PendingTurn] = {}  #: they have unstored parts that nobody waits for
        self.bytes = 0  #: approximate size of all parts that are not stored

    @property
    def is_full(self) -> bool:
        return self.bytes > MOST_BYTES

    def update(self, track: PendingTurn, size: int) -> TurnUpdate:
        """The part of the turn that is not being written yet, to which the caller adds `size` bytes."""
        if track.part is None:
            track.part = TurnUpdate(asyncio.get_running_loop().time())
            self.later[track.id] = track
        track.part.size += size
        self.bytes += size
        return track.part

    def hurry(self, track: PendingTurn) -> None:
        """Make the turn due: somebody waits until it is stored, or it has ended."""
        self.later.pop(track.id, None)
        self.due[track.id] = track

    def next_group(self, waits: Callable[[UUID], bool]) -> Iterator[Given]:
        """The due parts to write in one transaction, up to `GROUP_TURNS` and `GROUP_BYTES`. A turn of which `waits` is
        True is left out: it needs something that is being written, and becomes due again after that."""
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
        """Note that the part that was being written is stored. A part that was added meanwhile becomes due."""
        track.writing, track.is_stored = None, True
        if track.part is not None and track.id not in self.later:
            self.hurry(track)
        if track.has_ended and track.part is None:
            del self.turns[track.id]

    def drop(self, track: PendingTurn) -> TurnUpdate | None:
        """Remove the turn's part that is not being written, and return it; None if there is none."""
        self.later.pop(track.id, None)
        self.due.pop(track.id, None)
        part, track.part = track.part, None
        self.bytes -= part.size if part is not None else 0
        return part
