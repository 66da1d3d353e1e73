"""Maps a step of a turn to the columns of each table.

Whoever stores them, one by one through the ORM (`recorder`) or in groups (`dashboard.gateway.recording`), stores these.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Any
from uuid import UUID

from agentcore import VERSION, serial
from agentcore.events import Event
from agentcore.machine.advance import Step
from agentcore.replay import Record
from agentcore.states import State
from agentcore.values import quickly_made
from dashboard.turns.history import sha256_of
from dashboard.turns.known_answers import stored
from dashboard.turns.projection import error_of, failed_by, project
from dashboard.turns.record_compression import MOST_TOGETHER, packed_columns

CHECKPOINT_EVERY = 50  #: records
#: What statements look for by its type has a row of its own: an event, a command.
ALONE = ("operator_acted", "hold")
Columns = dict[str, Any]


@quickly_made
@dataclass(frozen=True, slots=True)
class CallRow:
    """A call about to be made: its body, the texts of the messages that are the turn's history, and where it goes."""

    index: int
    kind: str
    iteration: int
    provider: str
    model: str
    max_tokens: int | None
    url: str
    body: Mapping[str, Any]
    history: Sequence[str]
    text: str  #: of the body, as it goes out


@quickly_made
@dataclass(frozen=True, slots=True)
class CallEnd:
    """How a call ended. Milliseconds since it began; `columns` are those of the attempt that its answer fills.

    `pieces`: of how many stored pieces the answer was made, by one who did not store them; None: by who did.
    """

    index: int
    duration_ms: int
    first_token_ms: int | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)
    pieces: int | None = None


@quickly_made
@dataclass(frozen=True, slots=True)
class StepRows:
    """One step to be recorded, with what belongs in the same transaction."""

    turn_id: UUID
    seq: int
    at: datetime
    started_at: datetime
    event: Event
    step: Step
    ended: CallEnd | None = None
    begun: CallRow | None = None


def record_columns(entry: StepRows, record: Record, event: Any) -> Columns:
    """The step itself, whole; `event` is its event with nodes in place of messages (`NodeWriter`)."""
    return {
        "turn_id": entry.turn_id,
        "seq": record.seq,
        "at": entry.at,
        "event": event,
        "transitions": list(record.transitions),
        "command": record.command,
        "observed": list(record.observed),
        "core_version": VERSION,
        "judged": judged_column(record),
    }


def row_columns(*records: Columns) -> Columns:
    """The row of records that are committed together, one after the other."""
    judged = [one for record in records for one in record["judged"] or ()]
    return {**packed_columns(*records), "judged": judged or None}


def rows_of(records: Sequence[Columns]) -> Iterator[Sequence[Columns]]:
    """Records that are committed together, by the row that holds them."""
    for alone, found in groupby(records, key=_stands_alone):
        held, most = list(found), 1 if alone else MOST_TOGETHER
        yield from (held[n : n + most] for n in range(0, len(held), most))


def _stands_alone(record: Columns) -> bool:
    return record["event"]["type"] in ALONE or record["command"]["type"] in ALONE


def judged_column(record: Record) -> list[list[Any]] | None:
    """The judgements of a record as a row holds them, each as the values of `judgement`; None where it has none."""
    judged = [judgement(record.seq, position, transition) for position, transition in judged_in(record)]
    return [[*(told | {"evaluations": stored(told["evaluations"])}).values()] for told in judged] or None


def judged_in(record: Record) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The transitions of a record that were judged, by their position. `abort_partial` only carries out what the state
    before it decided: its outcome is that one again, and is no judgement of its own.
    """
    for position, transition in enumerate(record.transitions):
        if transition["outcome"] is not None and transition["from"] != State.ABORT_PARTIAL:
            yield position, transition


def judgement(seq: int, position: int, transition: Mapping[str, Any]) -> Columns:
    """What was judged at one transition of record `seq`, which has an outcome: what `Outcome` has, in its order."""
    outcome = transition["outcome"]
    error = error_of(outcome)
    return {
        "seq": seq,
        "position": position,
        "state": transition["from"],
        "decision": outcome["decision"],
        "resolved_by": outcome["resolvedBy"],
        "stop_reason": outcome["stopReason"],
        "error_type": error.get("errorType"),
        "handling": error.get("handling"),
        "evaluations": outcome["evaluations"],
    }


def begun_columns(turn_id: UUID, call: CallRow, request: str, at: datetime) -> Columns:
    """An attempt that begins; `request` is its body with nodes in place of messages (`NodeWriter`)."""
    return {
        "turn_id": turn_id,
        "index": call.index,
        "kind": call.kind,
        "iteration": call.iteration,
        "provider": call.provider,
        "model": call.model,
        "max_tokens": call.max_tokens,
        "request": request,
        "request_sha256": sha256_of(call.text),
        "request_url": call.url,
        "started_at": at,
    }


def ended_columns(ended: CallEnd) -> Columns:
    """What an attempt's end adds to it."""
    return {"duration_ms": ended.duration_ms, "first_token_ms": ended.first_token_ms, **ended.columns}


def kept_once(attempt: Columns, turn: Mapping[str, Any]) -> None:
    """An answer with which the turn ended stands in the turn's row alone; `turn`: its columns."""
    if turn.get("finished_at") is not None and attempt.get("text") == turn["output_text"]:
        attempt["text"] = None


def checkpoint_columns(entry: StepRows) -> Columns:
    """All the turn knows after the step."""
    snapshot = serial.to_json(entry.step.snapshot)
    return {"turn_id": entry.turn_id, "seq": entry.seq, "snapshot": snapshot, "core_version": VERSION}


def turn_columns(entry: StepRows, transitions: Iterable[Mapping[str, Any]]) -> Columns:
    """What the step changes in the turn's row; `transitions`: its own, after those that have changed no row yet."""
    columns = project(entry.step.snapshot, seq=entry.seq, started_at=entry.started_at, at=entry.at)
    if (error_type := failed_by(transitions)) is not None:
        columns["error_type"] = error_type
    return columns
