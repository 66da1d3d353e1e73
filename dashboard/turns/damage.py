"""What of a stored turn cannot be read any more, in words: its rows were changed, or damaged, past this program.

Whoever shows a turn reads it as if it were whole. Where that fails, each part of it is looked at by itself.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any
from uuid import UUID

import structlog

from agentcore import serial
from agentcore.errors import CoreError
from dashboard.agents.policies import stored_policy
from dashboard.turns import history
from dashboard.turns.models import Attempt, Checkpoint, Record, Turn
from dashboard.turns.record_reader import records_of
from dashboard.turns.shared_values import UNREADABLE

log = structlog.get_logger(__name__)

#: What is raised where something of a turn is read as what it no longer is.
DAMAGED = (CoreError, *UNREADABLE)
MOST = 20  #: faults that are listed
_FAULT = "{part} cannot be read."
_GAP = "Record {seq} is missing."
_MIXED = "The records can be read, but do not follow from each other."

#: The columns of JSON, and of what type each must be where it is not null.
_SHAPES: Mapping[type[Turn | Attempt], Mapping[str, type]] = {
    Turn: {"setup": dict, "overrides": dict, "breakpoints": list, "lint": list, "policy": dict, "policy_sources": dict},
    Attempt: {"response_headers": dict, "usage": dict, "tool_calls": list, "error": dict},
}
_IN_WORDS = {"setup": "beginning", "lint": "signs of truncation", "policy_sources": "sources of the policy"}
#: What is asked of the row of a turn and of one of its attempts, beyond the shapes.
_TURN: Mapping[str, Callable[[Turn], object]] = {
    "The policy": lambda turn: stored_policy(turn.policy),
    "The beginning": lambda turn: turn.setup.get("setup", {}).items(),
    "The state it began in": history.base_snapshot_of,
    "The conversation": lambda turn: history.messages_of(turn.id),
    "The client's request": history.client_body_of,
}
_ATTEMPT: Mapping[str, Callable[[Attempt], object]] = {
    "The request of call {index}": history.request_body_of,
    "The answer of call {index}": history.raw_response_of,
}


def damage_of(turn_id: UUID) -> list[str]:
    """Each part that cannot be read, as a sentence; empty where all can, and where there is no such turn.

    A turn that does not verify, but can be read, is not damaged: what fails for it fails for another reason.
    """
    turn = Turn.objects.filter(id=turn_id).first()
    if turn is None:
        return []
    found = list(dict.fromkeys(islice(_faults(turn), MOST)))
    if not found and not _reads(history.rebuilt_columns, turn):
        found.append(_MIXED)
    if found:
        log.warning("turn_damaged", turn=str(turn_id), faults=found)
    return found


def _faults(turn: Turn) -> Iterator[str]:
    yield from _misshapen(turn, "The {part}")
    yield from (_FAULT.format(part=part) for part, read in _TURN.items() if not _reads(read, turn))
    yield from _faults_of_records(turn)
    for attempt in Attempt.objects.filter(turn_id=turn.id).order_by("index"):
        yield from _misshapen(attempt, f"The {{part}} of call {attempt.index}")
        for part, asked in _ATTEMPT.items():
            if not _reads(asked, attempt):
                yield _FAULT.format(part=part.format(index=attempt.index))


def _faults_of_records(turn: Turn) -> Iterator[str]:
    expected = 1
    for row in records_of(turn.id):
        yield from (_GAP.format(seq=seq) for seq in range(expected, min(row.seq, expected + MOST)))
        expected = row.seq + 1
        if not _reads(_understood, row):
            yield _FAULT.format(part=f"Record {row.seq}")
    if expected <= turn.last_seq:
        yield _GAP.format(seq=expected)
    for checkpoint in Checkpoint.objects.filter(turn_id=turn.id):
        if not _reads(lambda row: serial.snapshot_from_json(row.snapshot), checkpoint):
            yield _FAULT.format(part=f"The checkpoint at record {checkpoint.seq}")


def _understood(row: Record) -> None:
    serial.event_from_json(row.event)
    if not all(isinstance(told, Mapping) for told in (*row.transitions, row.command, *row.observed)):
        raise TypeError


def _misshapen(row: Turn | Attempt, words: str) -> Iterator[str]:
    for column, shape in _SHAPES[type(row)].items():
        if not isinstance(getattr(row, column), shape | None):
            part = words.format(part=_IN_WORDS.get(column, column.replace("_", " ")))
            yield _FAULT.format(part=part)


def _reads(read: Callable[[Any], object], row: object) -> bool:
    try:
        read(row)
    except DAMAGED:
        return False
    return True
