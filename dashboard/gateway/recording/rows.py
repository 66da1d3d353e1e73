"""What is said of a turn, as rows: by table, each as the JSON in which Postgres takes it.

The columns are those of `dashboard.turns.entries`, so the rows are the ones a driver would have written one by one.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

from django.db import models as orm

from agentcore.events import ModelResponded, Started
from agentcore.replay import Record
from agentcore.values import quickly_made
from dashboard.gateway.models import GatewayCall
from dashboard.gateway.recording.going_on import Asked, answered_key, asked_with
from dashboard.gateway.recording.large import LARGE, Marked, marked, taken_out
from dashboard.gateway.recording.row_text import row_text
from dashboard.gateway.recording.statements import HAS_PIECE, HAS_RECORD, columns_of
from dashboard.gateway.routing import OBSERVE, Ruling
from dashboard.turns import models
from dashboard.turns.entries import (
    CHECKPOINT_EVERY,
    Columns,
    Entry,
    begun_columns,
    checkpoint_columns,
    ended_columns,
    outcomes_columns,
    record_columns,
    turn_columns,
)
from dashboard.turns.fields import storable_text
from dashboard.turns.nodes import NewNode
from dashboard.turns.packing import packed_raw
from dashboard.turns.request_frames import split
from dashboard.turns.telling import Telling


@quickly_made
@dataclass(frozen=True, slots=True)
class NewTurn:
    """A turn that has begun, and how it was asked: the columns of its row and of its call."""

    id: UUID
    project_id: UUID
    agent_id: UUID | None
    agent_name: str
    provider: str
    model: str
    max_tokens: int
    input_text: str
    started: Started  #: the first event; its setup and messages are the row's `setup`
    ruling: Ruling  #: policy, its sources and its version
    body: bytes  #: the client's request, verbatim
    created_at: datetime
    created_by_id: int | None
    caller: str  #: the key's or token's name
    key_id: UUID | None
    mode: str
    stream: bool
    n: int
    legacy: bool = False  #: it offered functions, not tools


@quickly_made
@dataclass(frozen=True, slots=True)
class Told:
    """What the caller was told in the end, as a row of calls keeps it."""

    status: int
    finish_reason: str | None
    source: str  #: of the reason: a `ReasonSighting.source`, or `machine`
    continued: bool
    disconnected: bool
    overhead_us: int


@dataclass(slots=True)
class Piece:
    """Bytes of an answer as they came, one after the other, and the text in them."""

    attempt: int
    at: datetime  #: of the last of them
    raws: list[bytes]
    texts: list[str]


@dataclass(slots=True)
class Part:
    """What has been said of a turn since its last part was written."""

    since: float  #: seconds, the loop's
    new: NewTurn | None = None
    entries: list[Entry] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    told: Told | None = None
    size: int = 0  #: bytes, about
    waiting: "list[tuple[float, asyncio.Future[None]]]" = field(default_factory=list)  #: since when who waits for it


@dataclass(slots=True)
class Kept:
    """What is stored of a turn already, as far as the next part builds on it."""

    telling: Telling = field(default_factory=lambda: Telling(UUID(int=0)))  #: of a turn that has not begun, nobody's
    pieces: dict[int, int] = field(default_factory=dict)  #: how many, by attempt
    calls: set[int] = field(default_factory=set)  #: attempts that have a row
    asked: Asked | None = None  #: the conversation that the client sent


@dataclass(slots=True)
class Rows:
    """Of one turn or many: the rows of each table as JSON texts, in the order in which they were said.

    A row is made into text at once, while it is at hand: whole groups of rows took three times as long.
    """

    tables: dict[type[orm.Model], list[bytes]] = field(default_factory=dict)
    packed: list[bytes] = field(default_factory=list)  #: of the records
    raws: list[bytes] = field(default_factory=list)  #: of the pieces
    nodes: list[NewNode] = field(default_factory=list)  #: parents before children; few are not stored yet
    ended: list[bytes] = field(default_factory=list)  #: of attempts that were stored while they were open
    large: Marked = field(default_factory=dict)  #: of one turn: the texts of which marks stand in its rows
    #: Of one turn: how it is found out whether they are stored: a statement's name, and what it takes beside the turn.
    found_by: tuple[str, tuple[int, ...]] | None = None

    def add(self, model: type[orm.Model], columns: Columns) -> None:
        self.tables.setdefault(model, []).append(self.text(model, columns))

    def text(self, model: type[orm.Model], columns: Columns) -> bytes:
        """A row, with marks for what is large."""
        return row_text(model, taken_out(columns, self.large) if self.large else columns)

    def add_all(self, others: "Rows") -> None:
        for model, texts in others.tables.items():
            self.tables.setdefault(model, []).extend(texts)
        self.packed += others.packed
        self.raws += others.raws
        self.nodes += others.nodes
        self.ended += others.ended
        self.large = others.large or self.large

    def json(self, model: type[orm.Model]) -> bytes:
        return listed(self.tables.get(model, ()))


def listed(texts: Iterable[bytes]) -> bytes:
    """A list of JSON texts as one."""
    return b"[%b]" % b",".join(texts)


def add_part(rows: Rows, turn_id: UUID, part: Part, kept: Kept) -> None:
    """The rows of one part; `kept` is brought up to date."""
    begun: dict[int, Columns] = {}
    turn: Columns = {}
    moves: list[Mapping[str, Any]] = []
    client: Sequence[bytes] = ()
    if part.size > LARGE:
        rows.large = marked(_answers(part))
    if part.new is not None:
        asked = split(part.new.body)
        client = asked.messages
        frame = asked.frame if part.new.body else None  # a turn that was ingested is no client's request
        kept.telling = Telling(part.new.project_id, client=client, frame=frame)
    for entry in part.entries:
        record = Record.of(entry.seq, entry.event, entry.step)
        event, request = kept.telling.step(entry.event, entry.begun)
        if part.new is not None and entry is part.entries[0]:
            turn |= _new_columns(part.new, event["setup"])
        columns = record_columns(entry, record, event)
        rows.packed.append(columns.pop("packed"))
        rows.add(models.Record, columns)
        for judged in outcomes_columns(entry, record):
            rows.add(models.Outcome, judged)
        _add_call(rows, entry, request, begun)
        if entry.seq % CHECKPOINT_EVERY == 0:
            rows.add(models.Checkpoint, checkpoint_columns(entry))
        moves += record.transitions
    if part.entries:
        turn |= turn_columns(part.entries[-1], moves)
        rows.found_by = HAS_RECORD.name, (part.entries[0].seq,)
    for columns in begun.values():
        rows.add(models.Attempt, columns)
    for piece in part.pieces:
        _add_piece(rows, turn_id, piece, kept)
    turn |= _run(kept, part, client) if turn else {}
    rows.nodes += kept.telling.made
    kept.telling.made = []
    _add_turn(rows, turn_id, part, turn and turn | kept.telling.columns())


def _run(kept: Kept, part: Part, client: Sequence[bytes]) -> Columns:
    """What the turn goes on from, and what may go on from it, as far as it is told in this part."""
    columns: Columns = {}
    if (new := part.new) is not None:
        about = {"observed": new.mode == OBSERVE, "legacy": new.legacy}
        kept.asked = asked_with(new.project_id, client, kept.telling.of_client, **about)
        columns |= {} if kept.asked is None else kept.asked.columns
    if part.entries and (key := answered_key(kept.asked, part.entries[-1].step.snapshot)) is not None:
        columns["answered_key"] = key
    return columns


def _answers(part: Part) -> Iterator[str]:
    """The texts of answers in it, which stand in many rows: what was said, thought aloud, and called with."""
    for entry in reversed(part.entries):
        yield entry.step.snapshot.output_text
        if entry.ended is not None:
            yield entry.ended.columns.get("text") or ""
            for call in entry.ended.columns.get("tool_calls") or ():
                yield call.get("raw") or ""
                yield from (value for value in (call.get("arguments") or {}).values() if isinstance(value, str))
        if isinstance(entry.event, ModelResponded):
            yield entry.event.response.reasoning_content or ""


def _add_call(rows: Rows, entry: Entry, request: str, begun: dict[int, Columns]) -> None:
    if (ended := entry.ended) is not None:
        columns = ended_columns(ended)
        if ended.index in begun:
            begun[ended.index] |= columns
        else:
            whole = {**_defaults(models.Attempt), **columns, "turn_id": entry.turn_id, "index": ended.index}
            rows.ended.append(rows.text(models.Attempt, whole))
    if (call := entry.begun) is not None:
        begun[call.index] = {**_defaults(models.Attempt), **begun_columns(entry.turn_id, call, request, entry.at)}


def _add_piece(rows: Rows, turn_id: UUID, piece: Piece, kept: Kept) -> None:
    n = kept.pieces[piece.attempt] = kept.pieces.get(piece.attempt, 0) + 1
    text = storable_text("".join(piece.texts))
    rows.add(models.AttemptChunk, {"turn_id": turn_id, "attempt": piece.attempt, "n": n, "text": text, "at": piece.at})
    rows.raws.append(packed_raw(b"".join(piece.raws)))
    rows.found_by = rows.found_by or (HAS_PIECE.name, (piece.attempt, n))


def _add_turn(rows: Rows, turn_id: UUID, part: Part, turn: Columns) -> None:
    if turn:
        turn["id"] = turn_id
        rows.add(models.Turn, turn)
    told = {} if part.told is None else _told_columns(part.told)
    if (new := part.new) is not None:
        rows.add(GatewayCall, {**_defaults(GatewayCall), **_call_columns(new), **told})
    elif told:
        rows.add(GatewayCall, {"turn_id": turn_id, **told})


def _new_columns(new: NewTurn, setup: Any) -> Columns:
    """The columns a step does not change. Its first record has the messages that the turn was started with."""
    return {
        **_defaults(models.Turn),
        "project_id": new.project_id,
        "agent_id": new.agent_id,
        "agent_name": new.agent_name,
        "provider": new.provider,
        "input_text": storable_text(new.input_text),
        "setup": {"setup": setup},
        "policy": new.ruling.stored,
        "policy_version_id": new.ruling.version_id,
        "policy_sources": new.ruling.sources,
        "keep_raw_days": new.ruling.keep_raw_days,
        "created_at": new.created_at,
        "created_by_id": new.created_by_id,
    }


def _call_columns(new: NewTurn) -> Columns:
    return {
        "turn_id": new.id,
        "project_id": new.project_id,
        "key_id": new.key_id,
        "caller": new.caller,
        "mode": new.mode,
        "stream": new.stream,
        "n": new.n,
        "created_at": new.created_at,
    }


def _told_columns(told: Told) -> Columns:
    return {
        "status": told.status,
        "client_finish_reason": told.finish_reason,
        "finish_source": told.source,
        "continued": told.continued,
        "disconnected": told.disconnected,
        "overhead_us": told.overhead_us,
    }


@cache
def _defaults(model: type[orm.Model]) -> Columns:
    """What columns are that nobody speaks of. Not among them: what is made anew each time, an id, and what is null."""
    fields = {field.column: field for field in model._meta.concrete_fields}
    empty = {name: fields[name].get_default() for name in columns_of(model) if not fields[name].primary_key}
    return {name: value for name, value in empty.items() if value is not None}
