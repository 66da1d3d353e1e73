"""Replay that proves: the same events must give the same transitions, evaluations, commands and observations."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentcore.errors import CoreError
from agentcore.machine.advance import advance
from agentcore.replay.recording import Record, Recording


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first record where two runs part, both versions side by side."""

    seq: int
    recorded: Mapping[str, Any] | None
    replayed: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Verification:
    verified: bool
    records: int  #: how many records agreed
    divergence: Divergence | None = None


def verify(recording: Recording) -> Verification:
    """Feed the recorded events to the machine and compare all that comes out."""
    snapshot = recording.base_snapshot
    for agreed, record in enumerate(recording.records):
        try:
            step = advance(snapshot, record.event, recording.policy)
        except CoreError as error:
            refused = Divergence(record.seq, _judged(record), {"error": str(error)})
            return Verification(False, agreed, refused)
        replayed = Record.of(record.seq, record.event, step)
        if _judged(replayed) != _judged(record):
            return Verification(False, agreed, Divergence(record.seq, _judged(record), _judged(replayed)))
        snapshot = step.snapshot
    return Verification(True, len(recording.records))


def first_divergence(left: Recording, right: Recording) -> Divergence | None:
    """Where two runs part, looking at transitions and commands; None where they are the same to the end."""
    for one, other in zip(left.records, right.records, strict=False):
        if _judged(one) != _judged(other):
            return Divergence(one.seq, _judged(one), _judged(other))
    shared = min(len(left.records), len(right.records))
    if len(left.records) > shared:
        return Divergence(left.records[shared].seq, _judged(left.records[shared]), None)
    if len(right.records) > shared:
        return Divergence(right.records[shared].seq, None, _judged(right.records[shared]))
    return None


def _judged(record: Record) -> dict[str, Any]:
    return {
        "transitions": [dict(transition) for transition in record.transitions],
        "command": dict(record.command),
        "observed": [dict(observation) for observation in record.observed],
    }
