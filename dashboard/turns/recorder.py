"""Writes of a turn's history: one step, one transaction. The primary key (turn, seq) is the fence between workers."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, connection, transaction
from django.db.models import F

from agentcore import serial
from agentcore.events import Started
from agentcore.replay import Record
from agentcore.states import State
from dashboard.platform.fields import storable_text
from dashboard.turns import models, nodes
from dashboard.turns.history import messages_of
from dashboard.turns.node_writer import NodeWriter
from dashboard.turns.projection import held_ms
from dashboard.turns.record_compression import packed_raw
from dashboard.turns.record_reader import record_at
from dashboard.turns.row_mapping import (
    CHECKPOINT_EVERY,
    CallEnd,
    CallRow,
    StepRows,
    begun_columns,
    checkpoint_columns,
    ended_columns,
    kept_once,
    record_columns,
    row_columns,
    turn_columns,
)
from dashboard.turns.shared_values import ASKED, SharedValues

__all__ = [
    "CallEnd",
    "CallRow",
    "LateArrivalError",
    "LostTurnError",
    "StepRows",
    "append_chunk",
    "is_recorded",
    "pieces_kept",
    "record_row",
    "record_step",
]

UNIQUE_VIOLATION = "23505"


class LostTurnError(Exception):
    """Another worker has taken the turn over; whoever gets this stops, for the turn is no longer its own."""


class LateArrivalError(Exception):
    """More of an answer has been kept than what its end was made of: read it again."""


@transaction.atomic
def record_step(entry: StepRows) -> None:
    """Commit the step: record, attempt, checkpoint and the turn's row, all or nothing.

    Raises `LostTurnError` where another worker was first, `LateArrivalError` where more has been kept of the call that
    ends than was read.
    """
    record = Record.of(entry.seq, entry.event, entry.step)
    telling = _telling(entry)
    event, request = telling.step(entry.event, entry.begun)
    keep(telling.made)
    _insert_record(entry, record, event)
    columns = turn_columns(entry, record.transitions)
    if record.transitions and record.transitions[0]["from"] == State.HELD:
        columns["held_ms"] = F("held_ms") + _held_until(entry)
    if entry.ended is not None:
        _end_attempt(entry.turn_id, entry.ended, columns)
    if entry.begun is not None:
        models.Attempt.objects.create(**begun_columns(entry.turn_id, entry.begun, request, entry.at))
    if entry.seq % CHECKPOINT_EVERY == 0:
        models.Checkpoint.objects.create(**checkpoint_columns(entry))
    if telling.made:
        columns |= telling.columns()
    if isinstance(entry.event, Started):
        columns["setup"] = {"setup": telling.setup}  # its record has the messages
    models.Turn.objects.filter(id=entry.turn_id).update(**columns)


def _held_until(entry: StepRows) -> int:
    """For how long the record before this step held the turn, in milliseconds."""
    before = record_at(entry.turn_id, entry.seq - 1)
    return held_ms([(before.command, before.event["at"]), ({}, entry.event.at)]) if before else 0


def _telling(entry: StepRows) -> NodeWriter:
    """What is stored of what the turn says, where the step says more."""
    first = entry.seq == 1
    asked = models.Turn.objects.only("project_id", "node_id", "shared_id", *(ASKED if first else ()))
    turn = asked.get(id=entry.turn_id)
    telling = NodeWriter(turn.project_id, turn.node_id, rules={name: getattr(turn, name) for name in ASKED if first})
    if entry.begun is not None:
        telling.wires, telling.shared = messages_of(entry.turn_id), SharedValues.of(turn.shared_id)
    return telling


def _insert_record(entry: StepRows, record: Record, event: Any) -> None:
    try:
        with transaction.atomic():
            models.Record.objects.bulk_create([models.Record(**row_columns(record_columns(entry, record, event)))])
    except IntegrityError as error:
        if getattr(error.__cause__, "sqlstate", None) != UNIQUE_VIOLATION:
            raise
        raise LostTurnError(f"Record {entry.seq} of turn {entry.turn_id} was written by another worker.") from error


def is_recorded(entry: StepRows) -> bool:
    """Whether this very step is stored: it was committed, and the word of that got lost."""
    event = serial.event_to_json(entry.event)
    record = record_at(entry.turn_id, entry.seq)
    return record is not None and (record.at, record.event) == (entry.at, event)


def record_row(entry: StepRows, record: Record) -> models.Record:
    """The step as its row, not yet stored, with all that its event says in it."""
    return models.Record(**row_columns(record_columns(entry, record, serial.event_to_json(entry.event))))


def _end_attempt(turn_id: UUID, ended: CallEnd, turn: Mapping[str, Any]) -> None:
    columns = ended_columns(ended)
    kept_once(columns, turn)
    models.Attempt.objects.filter(turn_id=turn_id, index=ended.index, duration_ms=None).update(**columns)
    # From here on nothing is appended any more: who tries waits for this transaction and finds the attempt ended.
    if ended.pieces is not None and pieces_kept(turn_id, ended.index) != ended.pieces:
        raise LateArrivalError(f"More has come of call {ended.index} of turn {turn_id}.")


def say(turn: models.Turn, wires: Sequence[str]) -> None:
    """Add messages to the turn's conversation, in the provider's form."""
    made = nodes.grown(turn.project_id, turn.node_id, {nodes.NodeForm.WIRE: [wire.encode() for wire in wires]})
    keep(made)
    models.Turn.objects.filter(id=turn.id).update(node_id=made[-1].id)


#: Held by this transaction: no eraser removes them before it ends. One that an eraser has just removed is not found.
HOLD = "SELECT id FROM turns_node WHERE id = ANY(%s) ORDER BY id FOR KEY SHARE"


@transaction.atomic
def keep(made: Iterable[nodes.NewNode]) -> None:
    """Store the nodes that are not there yet, and hold all of them against erasers until the transaction ends."""
    lacking = {one.id: one for one in made}
    while lacking:
        rows = [
            models.Node(id=one.id, parent_id=one.parent, packed=one.packed)
            for one in sorted(lacking.values(), key=lambda one: one.id)
        ]
        models.Node.objects.bulk_create(rows, batch_size=1000, ignore_conflicts=True)
        with connection.cursor() as cursor:
            cursor.execute(HOLD, [list(lacking)])
            for (held,) in cursor.fetchall():
                del lacking[held]


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
        "raw": packed_raw(raw),
        "text": storable_text(text),
        "at": at,
    }
    with connection.cursor() as cursor:
        cursor.execute(APPEND, piece)
        (found,) = cursor.fetchone()
    if not found:
        raise LostTurnError(f"Attempt {attempt} of turn {turn_id} was ended by another worker.")
