"""Verification: the same events must give the same transitions, evaluations and commands (design §3.9).

Observations are not compared: they are shown to operators, have no effect on the turn, and newer versions make more of
them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentcore import serial
from agentcore.argument_validation import door, required
from agentcore.errors import CoreError
from agentcore.machine.advance import Step, advance
from agentcore.replay.recorded_judgement import with_stand_ins
from agentcore.replay.recording import Record, Recording


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first record at which two runs differ, with both versions."""

    seq: int  #: of the first record that differs
    recorded: Mapping[str, Any] | None  #: None: the recording has no such record
    replayed: Mapping[str, Any] | None  #: None: the replay has no such record


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of verifying a recording."""

    verified: bool  #: whether all agreed
    records: int  #: how many records agreed
    divergence: Divergence | None = None  #: None: there is none
    #: what could not be verified because it was not stored, one sentence each
    missing: tuple[str, ...] = ()


@door
def verify(recording: Recording) -> Verification:
    """Feed the recorded events to the machine and compare the transitions, evaluations and commands that come out.

    Criteria and a resolver that were neither stored with the recording nor given when it was read are replaced by their
    recorded results; `missing` says so.
    """
    required(recording, Recording, "recording")
    snapshot = recording.base_snapshot
    for agreed, record in enumerate(recording.records):
        try:
            step = advance(snapshot, record.event, with_stand_ins(recording.policy, record.transitions, record.command))
        except CoreError as error:
            refused = Divergence(record.seq, _shown(record), {"error": str(error)})
            return Verification(False, agreed, refused, recording.missing)
        if not _agrees(record, step):
            replayed = Record.of(record.seq, record.event, step)
            parted = Divergence(record.seq, _shown(record), _shown(replayed))
            return Verification(False, agreed, parted, recording.missing)
        snapshot = step.snapshot
    return Verification(True, len(recording.records), missing=recording.missing)


def first_divergence(left: Recording, right: Recording) -> Divergence | None:
    """The first difference between the transitions and commands of two runs; None if they are the same to the end."""
    for one, other in zip(left.records, right.records, strict=False):
        if (one.transitions, one.command) != (other.transitions, other.command):
            return Divergence(one.seq, _shown(one), _shown(other))
    shared = min(len(left.records), len(right.records))
    if len(left.records) > shared:
        return Divergence(left.records[shared].seq, _shown(left.records[shared]), None)
    if len(right.records) > shared:
        return Divergence(right.records[shared].seq, None, _shown(right.records[shared]))
    return None


def _agrees(record: Record, step: Step) -> bool:
    transitions = tuple(serial.transition_to_json(transition) for transition in step.transitions)
    return tuple(record.transitions) == transitions and record.command == serial.command_to_json(step.command)


def _shown(record: Record) -> dict[str, Any]:
    return {
        "transitions": [dict(transition) for transition in record.transitions],
        "command": dict(record.command),
        "observed": [dict(observation) for observation in record.observed],
    }
