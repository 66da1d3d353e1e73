"""A recording with what the turn knew before and after each of its records."""

from collections.abc import Iterator
from dataclasses import dataclass

from agentcore.argument_validation import required
from agentcore.errors import CoreError
from agentcore.replay.recorded_judgement import step_again
from agentcore.replay.recording import Record, Recording
from agentcore.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Span:
    """One record with the snapshots around it. `first` is the number of its first transition, from 1.

    `known` is false where this core cannot judge the event as it was recorded; the snapshots then stand still.
    """

    record: Record
    before: Snapshot
    after: Snapshot
    first: int
    known: bool = True

    @property
    def last(self) -> int:
        """The number of the record's last transition."""
        return self.first + max(0, len(self.record.transitions) - 1)


def fold(recording: Recording) -> tuple[Span, ...]:
    """The records with the snapshots around each. Never raises: a history that cannot be judged is still shown."""
    required(recording, Recording, "recording")
    return tuple(_spans(recording))


def _spans(recording: Recording) -> Iterator[Span]:
    snapshot, first, known = recording.base_snapshot, 1, True
    for record in recording.records:
        before = snapshot
        if known:
            try:
                snapshot = step_again(before, recording, record).snapshot
            except CoreError:
                known = False
        yield Span(record, before, snapshot, first, known)
        first += len(record.transitions)
