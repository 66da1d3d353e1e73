"""Writes of a turn's history: one step, one transaction. The primary key (turn, seq) is the fence between workers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, connection, transaction

from agentcore import VERSION, serial
from agentcore.events import Event
from agentcore.machine.advance import Step
from agentcore.replay import Record
from dashboard.turns import models
from dashboard.turns.fields import storable_text
from dashboard.turns.history import MESSAGE_KEYS, body_text, messages_of, sha256_of
from dashboard.turns.projection import error_of, failed_by, project

CHECKPOINT_EVERY = 50  #: records
UNIQUE_VIOLATION = "23505"


class LostTurnError(Exception):
    """Another worker has taken the turn over; whoever gets this stops, for the turn is no longer its own."""


class LateArrivalError(Exception):
    """More of an answer has been kept than what its end was made of: read it again."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call about to be made: the body, the messages of it that are the turn's history, and where it goes."""

    index: int
    kind: str
    iteration: int
    provider: str
    model: str
    max_tokens: int
    url: str
    body: Mapping[str, Any]
    history: Sequence[Mapping[str, Any]]


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


@dataclass(frozen=True, slots=True)
class Entry:
    """One step to be recorded, with what belongs in the same transaction."""

    turn_id: UUID
    seq: int
    at: datetime
    started_at: datetime
    event: Event
    step: Step
    ended: CallEnd | None = None
    begun: Call | None = None


@transaction.atomic
def record_step(entry: Entry) -> None:
    """Commit the step: record, outcomes, attempt, checkpoint and the turn's row, all or nothing.

    Raises `LostTurnError` where another worker was first, `LateArrivalError` where more has been kept of the call that
    ends than was read.
    """
    record = Record.of(entry.seq, entry.event, entry.step)
    _insert_record(entry, record)
    _insert_outcomes(entry, record)
    if entry.ended is not None:
        _end_attempt(entry.turn_id, entry.ended)
    if entry.begun is not None:
        _begin_attempt(entry.turn_id, entry.begun, entry.at)
    if entry.seq % CHECKPOINT_EVERY == 0:
        snapshot = serial.to_json(entry.step.snapshot)
        models.Checkpoint.objects.create(turn_id=entry.turn_id, seq=entry.seq, snapshot=snapshot, core_version=VERSION)
    columns = project(entry.step.snapshot, seq=entry.seq, started_at=entry.started_at, at=entry.at)
    if (error_type := failed_by(record.transitions)) is not None:
        columns["error_type"] = error_type
    models.Turn.objects.filter(id=entry.turn_id).update(**columns)


def _insert_record(entry: Entry, record: Record) -> None:
    try:
        with transaction.atomic():
            models.Record.objects.bulk_create([record_row(entry, record)])
    except IntegrityError as error:
        if getattr(error.__cause__, "sqlstate", None) != UNIQUE_VIOLATION:
            raise
        raise LostTurnError(f"Record {entry.seq} of turn {entry.turn_id} was written by another worker.") from error


def is_recorded(entry: Entry) -> bool:
    """Whether this very step is stored: it was committed, and the word of that got lost."""
    event = serial.event_to_json(entry.event)
    row = models.Record.objects.filter(turn_id=entry.turn_id, seq=entry.seq, at=entry.at).first()
    return row is not None and row.event == event


def record_row(entry: Entry, record: Record) -> models.Record:
    """The step as its row, not yet stored."""
    return models.Record(
        turn_id=entry.turn_id,
        seq=record.seq,
        at=entry.at,
        event=serial.event_to_json(record.event),
        transitions=list(record.transitions),
        command=record.command,
        observed=list(record.observed),
        core_version=VERSION,
    )


def outcome_rows(entry: Entry, record: Record) -> list[models.Outcome]:
    """The judgements of the step as rows, not yet stored."""
    judged = enumerate(record.transitions)
    return [outcome_row(entry.turn_id, entry.seq, position, t) for position, t in judged if t["outcome"] is not None]


def _insert_outcomes(entry: Entry, record: Record) -> None:
    models.Outcome.objects.bulk_create(outcome_rows(entry, record))


def outcome_row(turn_id: UUID, seq: int, position: int, transition: Mapping[str, Any]) -> models.Outcome:
    """What was judged at one transition of record `seq`, as a row; the transition has an outcome."""
    outcome = transition["outcome"]
    error = error_of(outcome)
    return models.Outcome(
        turn_id=turn_id,
        seq=seq,
        position=position,
        state=transition["from"],
        decision=outcome["decision"],
        resolved_by=outcome["resolvedBy"],
        stop_reason=outcome["stopReason"],
        error_type=error.get("errorType"),
        handling=error.get("handling"),
        evaluations=outcome["evaluations"],
    )


def _end_attempt(turn_id: UUID, ended: CallEnd) -> None:
    open_attempt = models.Attempt.objects.filter(turn_id=turn_id, index=ended.index, duration_ms=None)
    open_attempt.update(duration_ms=ended.duration_ms, first_token_ms=ended.first_token_ms, **ended.columns)
    # From here on nothing is appended any more: who tries waits for this transaction and finds the attempt ended.
    if ended.pieces is not None and pieces_kept(turn_id, ended.index) != ended.pieces:
        raise LateArrivalError(f"More has come of attempt {ended.index} of turn {turn_id}.")


def _begin_attempt(turn_id: UUID, call: Call, at: datetime) -> None:
    models.Attempt.objects.create(
        turn_id=turn_id,
        index=call.index,
        kind=call.kind,
        iteration=call.iteration,
        provider=call.provider,
        model=call.model,
        max_tokens=call.max_tokens,
        request=_difference(turn_id, call),
        request_sha256=sha256_of(body_text(dict(call.body))),
        request_url=call.url,
        started_at=at,
    )


def _difference(turn_id: UUID, call: Call) -> str:
    """The body with its messages told as the turn's first n messages and a tail; new history is stored on the way."""
    key = next((key for key in MESSAGE_KEYS if isinstance(call.body.get(key), list)), None)
    if key is None:
        return body_text(dict(call.body))
    stored = messages_of(turn_id)
    history = [json.dumps(message, separators=(",", ":")) for message in call.history]
    shared = _shared_prefix(stored, history)
    if shared == len(stored):
        new = enumerate(history[shared:], start=shared)
        models.TurnMessage.objects.bulk_create(models.TurnMessage(turn_id=turn_id, n=n, wire=wire) for n, wire in new)
        shared = len(history)
    told = {"history": shared, "tail": call.body[key][shared:]}
    return body_text({name: told if name == key else value for name, value in call.body.items()})


def _shared_prefix(left: Sequence[str], right: Sequence[str]) -> int:
    pairs = zip(left, right, strict=False)
    return next((n for n, (one, other) in enumerate(pairs) if one != other), min(len(left), len(right)))


def pieces_kept(turn_id: UUID, attempt: int) -> int:
    """How many pieces of an answer are stored."""
    return models.AttemptChunk.objects.filter(turn_id=turn_id, attempt=attempt).count()


#: A piece of an attempt that is open. Its row is held meanwhile, so that it does not end in between; a piece that is
#: there already was sent twice, because the word that it was kept got lost.
APPEND = """
    WITH open AS (
        SELECT 1 FROM turns_attempt WHERE turn_id = %(turn)s AND index = %(attempt)s AND duration_ms IS NULL FOR SHARE
    ), kept AS (
        INSERT INTO turns_attemptchunk (turn_id, attempt, n, raw, text, at)
        SELECT %(turn)s, %(attempt)s, %(n)s, %(raw)s, %(text)s, %(at)s FROM open
        ON CONFLICT DO NOTHING
    )
    SELECT count(*) FROM open
"""


def append_chunk(*, turn_id: UUID, attempt: int, n: int, raw: bytes, text: str, at: datetime) -> None:
    """Keep a piece of an answer that is still streaming; the same piece twice is kept once.

    Raises `LostTurnError` where the attempt has been ended by a worker that took the turn over.
    """
    piece: dict[str, Any] = {
        "turn": turn_id,
        "attempt": attempt,
        "n": n,
        "raw": raw,
        "text": storable_text(text),
        "at": at,
    }
    with connection.cursor() as cursor:
        cursor.execute(APPEND, piece)
        (found,) = cursor.fetchone()
    if not found:
        raise LostTurnError(f"Attempt {attempt} of turn {turn_id} was ended by another worker.")
