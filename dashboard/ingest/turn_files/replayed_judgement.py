"""What a file's history comes to when it is judged here: nothing that can be derived is taken from the file."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import IntegerField

from agentcore import serial
from agentcore.errors import CoreError, RecordingError
from agentcore.policy import Policy
from agentcore.reasons import StopReason, TurnStatus
from agentcore.replay import Record, Recording, Verification, step_again
from agentcore.snapshot import Snapshot
from agentcore.type_check import misfits
from dashboard.agents.policies import stored_policy
from dashboard.ingest.turn_files import file_schema
from dashboard.ingest.turn_files.contradictions import turn_doubt
from dashboard.turns.models import UNFINISHED, Turn
from dashboard.turns.projection import failed_by, held_ms, project
from dashboard.turns.turn_view import recording_view

UNREADABLE = "It cannot be read: {why}."


@dataclass(frozen=True, slots=True)
class ReplayedTurn:
    """`columns`: what the history tells of the turn's row; `doubt`: why it cannot verify, as far as the file alone
    tells; empty where nothing speaks against it."""

    recording: Recording
    columns: dict[str, Any]
    doubt: str


def judge(turn: file_schema.Turn) -> ReplayedTurn:
    """Fold the history. Raises `ValidationError` by field where it is not one."""
    _check_order(turn)
    recording = _recording(turn)
    try:
        columns = _columns(turn, recording)
        doubt = turn_doubt(turn, recording, columns)
        recording_view(recording)
    except ValidationError:
        raise
    except Exception as error:  # a well-typed file can still contradict itself in more ways than have names
        raise ValidationError({"turn.records": UNREADABLE.format(why=_why(error))}) from error
    return ReplayedTurn(recording, columns, doubt)


def _check_order(turn: file_schema.Turn) -> None:
    first = turn.attempts[0].index if turn.attempts else 1  # a fork counts on from its parent's
    for index, attempt in enumerate(turn.attempts, start=first):
        if attempt.index != index:
            raise ValidationError({"turn.attempts": f"Attempt {index} is expected here, not attempt {attempt.index}."})


def _recording(turn: file_schema.Turn) -> Recording:
    with _about("turn.policy"):
        policy = _typed(Policy, stored_policy(turn.policy), "turn.policy")
    with _about("turn.base_snapshot"):
        base = Snapshot() if turn.base_snapshot is None else serial.snapshot_from_json(turn.base_snapshot)
        _typed(Snapshot, base, "turn.base_snapshot")
    _check_setup(turn)
    return Recording(policy, base, tuple(_records(turn.records)))


def _check_setup(turn: file_schema.Turn) -> None:
    """What a re-run would begin with."""
    with _about("turn.setup"):
        if set(turn.setup) == {"setup", "messages"}:
            begins = {"type": "started", "at": 0.0, **turn.setup, "breakpoints": turn.breakpoints}
            event = serial.event_from_json(begins)
            _typed(type(event), event, "turn.setup")
        elif not set(turn.setup) <= {"by"} or not all(isinstance(by, str) for by in turn.setup.values()):
            raise ValidationError({"turn.setup": "It must have setup and messages, or by."})


def _records(rows: list[file_schema.Record]) -> Iterator[Record]:
    for seq, row in enumerate(rows, start=1):
        if row.seq != seq:
            raise ValidationError({"turn.records": f"A record is missing: {row.seq} is in the place of {seq}."})
        place = f"turn.records.{seq - 1}.event"
        with _about(place):
            event = serial.event_from_json(row.event)
            _typed(type(event), event, place)
        yield Record(seq, event, tuple(row.transitions), row.command, tuple(row.observed))


def _typed(cls: Any, value: Any, place: str) -> Any:
    wrong = next(misfits(cls, value), None)
    if wrong is not None:
        raise ValidationError({f"{place}.{wrong}".rstrip("."): "It is not of the type or size that a turn has there."})
    return value


@contextmanager
def _about(place: str) -> Iterator[None]:
    """What goes wrong within is said of this place."""
    try:
        yield
    except (CoreError, TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
        within = error.place if isinstance(error, RecordingError) else ""
        raise ValidationError({f"{place}.{within}".rstrip("."): UNREADABLE.format(why=_why(error))}) from error


def _why(error: BaseException) -> str:
    return (str(error) if isinstance(error, CoreError) else type(error).__name__).rstrip(".")[:200]


def _columns(turn: file_schema.Turn, recording: Recording) -> dict[str, Any]:
    snapshot = recording.base_snapshot
    for record in recording.records:
        snapshot = step_again(snapshot, recording, record).snapshot
    first, last = (turn.records[0].at, turn.records[-1].at) if turn.records else (None, None)
    columns = project(snapshot, seq=len(turn.records), started_at=first, at=last)
    columns["error_type"] = failed_by(move for record in recording.records for move in record.transitions)
    columns["held_ms"] = held_ms((record.command, record.event.at) for record in recording.records)
    if columns["status"] in UNFINISHED:
        columns |= _given_up(turn.gave_up)
    faults = {f"turn.{name}": words for name, words in _out_of_range(columns)}
    if faults:
        raise ValidationError(faults)
    return columns


def _given_up(why: str | None) -> dict[str, Any]:
    """As of a turn of ours that could not go on."""
    if why is None:
        raise ValidationError({"turn.records": "The history has no end: this turn was still running."})
    return {
        "status": TurnStatus.INTERRUPTED.value,
        "stop_reason": StopReason.ERROR.value,
        "terminal_reason": "interrupted",
        "error_code": "interrupted",
        "error_message": why,
        "notice": "This turn was interrupted and could not continue; the text so far is kept.",
        "verdict": f"Interrupted: {why}",
    }


def _out_of_range(columns: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for field in Turn._meta.concrete_fields:
        value = columns.get(field.attname)
        if isinstance(field, IntegerField) and value is not None:
            try:
                field.run_validators(value)
            except ValidationError:
                yield field.attname, "A total of the history is out of range."


def doubt_of(found: Verification) -> str:
    """Why a stored history does not verify, in words; empty where it does."""
    if found.verified or found.divergence is None:
        return ""
    replayed = found.divergence.replayed or {}
    if "error" in replayed and found.divergence.recorded is None:  # it replays, and what else is stored disagrees
        return str(replayed["error"])
    why = f": {replayed['error']}" if "error" in replayed else ""
    return f"When it is evaluated again, record {found.divergence.seq} has another result{why}"
