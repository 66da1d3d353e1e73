"""What is said of a turn, as rows: by table, each as the JSON in which Postgres takes it.

The columns are those of `dashboard.turns.row_mapping`, so the rows are the ones a driver would have written one by one.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.db import models as orm
from pydantic_core import to_json

from agentcore.events import ModelResponded
from agentcore.replay import Record
from dashboard.gateway.recording.deduplication import LARGE, Marked, marked, parameters, taken_out
from dashboard.gateway.recording.recorder_messages import (
    AnswerChunk,
    TurnUpdate,
    call_columns,
    defaults,
    new_columns,
    result_columns,
)
from dashboard.gateway.recording.row_text import row_text
from dashboard.gateway.recording.run_columns import RunRequest, answered_key, asked_with, said_by
from dashboard.gateway.recording.statements import HAS_PIECE, HAS_RECORD, PLAIN
from dashboard.gateway.routing import OBSERVE
from dashboard.platform.fields import storable_text
from dashboard.turns import models
from dashboard.turns.node_writer import NodeWriter
from dashboard.turns.nodes import NewNode
from dashboard.turns.record_compression import Stored, packed_raw
from dashboard.turns.request_frames import split
from dashboard.turns.row_mapping import (
    CHECKPOINT_EVERY,
    Columns,
    StepRows,
    begun_columns,
    checkpoint_columns,
    ended_columns,
    kept_once,
    record_columns,
    row_columns,
    rows_of,
    turn_columns,
)

#: Bytes of an answer, compressed, and characters, up to which it stands with its attempt, if it came whole.
WITH_ATTEMPT = 8 * 1024


@dataclass(slots=True)
class StoredTurn:
    """What is stored of a turn already, as far as the next part builds on it."""

    telling: NodeWriter = field(
        default_factory=lambda: NodeWriter(UUID(int=0))
    )  #: of a turn that has not begun, nobody's
    pieces: dict[int, int] = field(default_factory=dict)  #: how many, by attempt
    calls: set[int] = field(default_factory=set)  #: attempts that have a row
    asked: RunRequest | None = None  #: the conversation that the client sent


@dataclass(slots=True)
class CallChanges:
    """The calls of one part, by their numbers: those that begin, those that end, and the records of their ends."""

    begun: dict[int, Columns] = field(default_factory=dict)
    ended: dict[int, Columns] = field(default_factory=dict)
    told_by: dict[int, Stored] = field(default_factory=dict)
    ends: dict[int, int] = field(default_factory=dict)  #: by the number of its record, which call ends


@dataclass(slots=True)
class TableRows:
    """Of one turn or many: the rows of each table as JSON texts, in the order in which they were said.

    A row is made into text at once, while it is at hand: whole groups of rows took three times as long.
    """

    tables: dict[type[orm.Model], list[bytes]] = field(default_factory=dict)
    packed: list[bytes] = field(default_factory=list)  #: of the records
    raws: list[bytes] = field(default_factory=list)  #: of the pieces
    nodes: list[NewNode] = field(default_factory=list)  #: parents before children; few are not stored yet
    ended: list[bytes] = field(default_factory=list)  #: of attempts that were stored while they were open
    told: list[bytes] = field(default_factory=list)  #: what callers were told of turns that are stored
    large: Marked = field(default_factory=dict)  #: of one turn: the texts of which marks stand in its rows
    #: Of one turn: how it is found out whether they are stored: a statement's name, and what it takes beside the turn.
    found_by: tuple[str, tuple[int, ...]] | None = None

    def add(self, model: type[orm.Model], columns: Columns) -> None:
        self.tables.setdefault(model, []).append(self.text(model, columns))

    def text(self, model: type[orm.Model], columns: Columns) -> bytes:
        """A row, with marks for what is large."""
        return row_text(model, taken_out(columns, self.large) if self.large else columns)

    def add_all(self, others: "TableRows") -> None:
        for model, texts in others.tables.items():
            self.tables.setdefault(model, []).extend(texts)
        self.packed += others.packed
        self.raws += others.raws
        self.nodes += others.nodes
        self.ended += others.ended
        self.told += others.told
        self.large = others.large or self.large

    def json(self, model: type[orm.Model]) -> bytes:
        return listed(self.tables.get(model, ()))

    def parameters(self, nodes: Sequence[NewNode]) -> list[bytes | list[bytes] | None]:
        """Those that both statements begin with; `nodes`: of its nodes, those to be sent."""
        plain = [*parameters(self.large), *map(self.json, PLAIN), self.json(models.Record), self.packed]
        return [*plain, *self.pieces, *node_parameters(nodes)]

    @property
    def pieces(self) -> list[bytes | list[bytes] | None]:
        """The parameters that tell of pieces."""
        return [self.json(models.AttemptChunk), self.raws]


def node_parameters(nodes: Sequence[NewNode]) -> tuple[bytes, list[bytes]]:
    """Those that tell of nodes."""
    told = to_json([{"id": node.id, "parent_id": node.parent} for node in nodes])
    return told, [node.packed for node in nodes]


def listed(texts: Iterable[bytes]) -> bytes:
    """A list of JSON texts as one."""
    return b"[%b]" % b",".join(texts)


def add_part(rows: TableRows, turn_id: UUID, part: TurnUpdate, kept: StoredTurn) -> None:
    """The rows of one part; `kept` is brought up to date."""
    calls = CallChanges()
    turn: Columns = {}
    client: Sequence[bytes] = ()
    frame: bytes | None = None
    if part.size > LARGE:
        rows.large = marked((*_answers(part), *map(_joined, part.pieces)))
    if part.new is not None:
        if part.new.body:  # else the turn was ingested, and is no client's request
            asked = split(part.new.body)
            client, frame = asked.messages, asked.frame
        ruling = part.new.ruling
        kept.telling = NodeWriter(
            part.new.project_id, client=client, frame=frame, rules=ruling.rules, rules_text=ruling.text
        )
    records = [_add_step(rows, entry, kept, calls) for entry in part.entries]
    _add_records(rows, records, calls)
    if part.new is not None and records:
        turn |= new_columns(part.new, kept.telling.setup)
    if part.entries:
        turn |= turn_columns(part.entries[-1], [move for record in records for move in record["transitions"]])
        rows.found_by = HAS_RECORD.name, (part.entries[0].seq,)
    for piece in part.pieces:
        _add_piece(rows, turn_id, piece, kept, calls)
    if part.entries and (last := part.entries[-1].ended) is not None:
        kept_once(calls.ended[last.index], turn)
    _add_calls(rows, calls)
    turn |= _run(kept, part, client) if turn else {}
    rows.nodes += kept.telling.made
    kept.telling.made = []
    _add_turn(rows, turn_id, part, turn and turn | kept.telling.columns())


def _run(kept: StoredTurn, part: TurnUpdate, client: Sequence[bytes]) -> Columns:
    """What the turn goes on from, and what may go on from it, as far as it is told in this part."""
    columns: Columns = {}
    if (new := part.new) is not None:
        about = {"observed": new.mode == OBSERVE, "legacy": new.legacy}
        said, nodes = (client, kept.telling.of_client) if not new.by_items else (said_by(new.started.messages), ())
        kept.asked = asked_with(new.project_id, said, nodes, **about)
        columns |= {} if kept.asked is None else kept.asked.columns
    if part.entries and (key := answered_key(kept.asked, part.entries[-1].step.snapshot)) is not None:
        columns["answered_key"] = key
    return columns


def _joined(piece: AnswerChunk) -> str:
    """Its text, of which there is one copy from here on."""
    piece.texts = ["".join(piece.texts)]
    return piece.texts[0]


def _answers(part: TurnUpdate) -> Iterator[str]:
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


def _add_step(rows: TableRows, entry: StepRows, kept: StoredTurn, calls: CallChanges) -> Columns:
    """The rows of one step, but for its calls, the turn's, and its record, which is returned."""
    event, request = kept.telling.step(entry.event, entry.begun)
    if entry.seq % CHECKPOINT_EVERY == 0:
        rows.add(models.Checkpoint, checkpoint_columns(entry))
    if (ended := entry.ended) is not None:
        calls.ends[entry.seq] = ended.index
        calls.ended[ended.index] = {"turn_id": entry.turn_id, "index": ended.index, **ended_columns(ended)}
    if (call := entry.begun) is not None:
        calls.begun[call.index] = begun_columns(entry.turn_id, call, request, entry.at)
    return record_columns(entry, Record.of(entry.seq, entry.event, entry.step), event)


def _add_records(rows: TableRows, records: Sequence[Columns], calls: CallChanges) -> None:
    """Records that are committed together stand in one row, as far as they may."""
    for together in rows_of(records):
        columns = row_columns(*together)
        rows.packed.append(columns.pop("packed"))
        rows.add(models.Record, columns)
        stored = columns["turn_id"], columns["seq"], rows.packed[-1]
        calls.told_by |= {calls.ends[record["seq"]]: stored for record in together if record["seq"] in calls.ends}


def _add_calls(rows: TableRows, calls: CallChanges) -> None:
    for index, columns in calls.begun.items():
        rows.add(models.Attempt, {**defaults(models.Attempt), **columns, **calls.ended.pop(index, {})})
    for columns in calls.ended.values():
        rows.ended.append(rows.text(models.Attempt, {**defaults(models.Attempt), **columns}))


def _add_piece(rows: TableRows, turn_id: UUID, piece: AnswerChunk, kept: StoredTurn, calls: CallChanges) -> None:
    n = kept.pieces[piece.attempt] = kept.pieces.get(piece.attempt, 0) + 1
    text: str | None = storable_text("".join(piece.texts))
    piece.texts.clear()  # each part is made into rows once, and a large answer would be there twice
    raw = b"".join(piece.raws)
    piece.raws.clear()
    ended = calls.ended.get(piece.attempt, {})
    text = None if n == 1 and text and text == ended.get("text") else text  # the attempt has it
    packed = packed_raw(raw, calls.told_by.get(piece.attempt) if len(raw) <= LARGE else None)
    if n == 1 and ended and len(packed) + len(text or "") <= WITH_ATTEMPT:
        ended |= {"raw": f"\\x{packed.hex()}", "raw_text": text, "raw_at": piece.at}
        return
    rows.add(models.AttemptChunk, {"turn_id": turn_id, "attempt": piece.attempt, "n": n, "text": text, "at": piece.at})
    rows.raws.append(packed)
    rows.found_by = rows.found_by or (HAS_PIECE.name, (piece.attempt, n))


def _add_turn(rows: TableRows, turn_id: UUID, part: TurnUpdate, turn: Columns) -> None:
    told = {} if part.told is None else result_columns(part.told)
    if part.new is not None and part.new.body:  # a turn that was ingested is nobody's call
        turn |= call_columns(part.new) | told
    elif told:
        rows.told.append(rows.text(models.Turn, {"id": turn_id, **told}))
    if turn:
        rows.add(models.Turn, {**turn, "id": turn_id})
