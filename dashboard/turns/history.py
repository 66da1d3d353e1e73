"""Reads of a turn's history, as values of the core: the recording, where it stands, what was sent and what came.

Reads the attempts of one turn, from what was read ahead for a list where it was.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from agentcore import serial
from agentcore.errors import DecodeError
from agentcore.machine.advance import Step, advance
from agentcore.messages import ChatResponse
from agentcore.policy import Policy
from agentcore.providers import UnknownProviderError, get_provider
from agentcore.replay import Record, Recording, as_judged
from agentcore.snapshot import Snapshot
from dashboard.agents.policies import stored_policy
from dashboard.turns import models, nodes
from dashboard.turns.models import Attempt
from dashboard.turns.projection import failed_by, held_ms, project
from dashboard.turns.read_ahead import once, read_ahead
from dashboard.turns.record_reader import record_at, records_of
from dashboard.turns.request_frames import MESSAGE_KEYS, joined


def _compact() -> Callable[[Any], str]:
    """`json` makes its encoder anew for each text, which takes twice as long as a short one does; so one is kept."""
    python = json.JSONEncoder(separators=(",", ":"))
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return python.encode
    write = make(None, python.default, json.encoder.encode_basestring_ascii, None, ":", ",", False, False, True)
    return lambda value: "".join(write(value, 0))


#: As goes over the wire: ASCII, without a space. For values that hold no value within itself.
compact_json = _compact()


@dataclass(frozen=True, slots=True)
class TurnPosition:
    """Where a turn stands: its last snapshot and the step that led there (None before the first record)."""

    policy: Policy
    snapshot: Snapshot
    seq: int
    step: Step | None
    started_at: datetime | None
    last_at: datetime | None


def base_snapshot_of(turn: models.Turn) -> Snapshot:
    return Snapshot() if turn.base_snapshot is None else serial.snapshot_from_json(turn.base_snapshot)


def recording_of(turn: models.Turn, *, upto: int | None = None) -> Recording:
    """The whole history of a turn, or its records up to number `upto`."""
    return once(("recording", turn.id, upto), lambda: recording_from(turn, _all_read(turn.id, upto)))


def _all_read(turn_id: UUID, upto: int | None) -> list[models.Record]:
    """The records, of which the first is asked for again: it has what the turn began with."""
    rows, held = list(records_of(turn_id, upto=upto)), read_ahead()
    if held.answers is not None and rows:
        held.first_records.setdefault(turn_id, rows[:1])
    return rows


def recording_from(turn: models.Turn, rows: Iterable[models.Record]) -> Recording:
    """The same from all the records of the turn, where the caller has them already."""
    return Recording(stored_policy(turn.policy), base_snapshot_of(turn), tuple(map(_record, rows)))


def _record(row: models.Record) -> Record:
    event = serial.event_from_json(row.event)
    return Record(row.seq, event, tuple(row.transitions), row.command, tuple(row.observed))


def position_of(turn: models.Turn) -> TurnPosition:
    """Fold the history from its last checkpoint."""
    policy = stored_policy(turn.policy)
    checkpoint = models.Checkpoint.objects.filter(turn_id=turn.id).order_by("-seq").first()
    snapshot = serial.snapshot_from_json(checkpoint.snapshot) if checkpoint else base_snapshot_of(turn)
    since = checkpoint.seq if checkpoint else 0
    return _fold(policy, snapshot, since, records_of(turn.id, after=since - 1), _started_at(turn))


def snapshot_at(turn: models.Turn, seq: int) -> Snapshot:
    """All the turn knew after record `seq`, or after its last one where it has none of that number."""
    checkpoint = models.Checkpoint.objects.filter(turn_id=turn.id, seq__lte=seq).order_by("-seq").first()
    snapshot = serial.snapshot_from_json(checkpoint.snapshot) if checkpoint else base_snapshot_of(turn)
    since = checkpoint.seq if checkpoint else 0
    rows = records_of(turn.id, after=since, upto=seq)
    return _fold(stored_policy(turn.policy), snapshot, since, rows, None).snapshot


def _fold(
    policy: Policy, snapshot: Snapshot, since: int, rows: Iterable[models.Record], started_at: datetime | None
) -> TurnPosition:
    step, seq, last_at = None, since, None
    for row in rows:
        last_at = row.at
        if row.seq > since:
            step = advance(snapshot, serial.event_from_json(row.event), as_judged(policy, row.transitions, row.command))
            snapshot, seq = step.snapshot, row.seq
    return TurnPosition(policy, snapshot, seq, step, started_at, last_at)


def _started_at(turn: models.Turn) -> datetime | None:
    first = record_at(turn.id, 1)
    return first.at if first else None


def rebuilt_columns(turn: models.Turn, rows: Sequence[models.Record] | None = None) -> dict[str, Any]:
    """The turn's projection made again from its records alone. `rows`: these, where the caller has them already."""
    rows = list(records_of(turn.id)) if rows is None else rows
    started = rows[0].at if rows else None
    standing = _fold(stored_policy(turn.policy), base_snapshot_of(turn), 0, rows, started)
    columns = project(standing.snapshot, seq=standing.seq, started_at=started, at=standing.last_at)
    failed = failed_by(transition for row in rows for transition in row.transitions)
    return {**columns, "error_type": failed, "held_ms": held_ms((row.command, row.event["at"]) for row in rows)}


def begun_as(turn: models.Turn) -> dict[str, Any]:
    """The turn's setup with the messages that it began with: its first record has those of a gateway's turn."""
    setup: dict[str, Any] = turn.setup
    if "setup" not in setup or "messages" in setup:
        return setup
    first = record_at(turn.id, 1)
    return {**setup, "messages": first.event.get("messages", []) if first else []}


def messages_of(turn_id: UUID) -> list[str]:
    """The turn's conversation in the provider's form, each message as JSON text."""
    return messages_from(turn_id, models.Turn.objects.filter(id=turn_id).values_list("node_id", flat=True).first())


def messages_from(turn_id: UUID, head: UUID | None) -> list[str]:
    """The same, where the caller knows the last node of the conversation; None: an earlier release stored it."""
    if head is not None:
        return [wire.decode() for wire in nodes.said(nodes.read(head), nodes.NodeForm.WIRE)]
    return list(models.TurnMessage.objects.filter(turn_id=turn_id).order_by("n").values_list("wire", flat=True))


def client_body_of(turn: models.Turn) -> bytes | None:
    """What the client of the gateway sent, byte for byte; None of a turn that no client asked for."""
    frame = next(
        (node[nodes.NodeForm.FRAME] for node in nodes.read(turn.shared_id) if nodes.NodeForm.FRAME in node), None
    )
    if frame is None:
        request = models.ClientRequest.objects.filter(turn_id=turn.id).first()
        if request is None:
            return None
        if request.frame_id is None:
            return bytes(request.body or b"")
        frame = nodes.read_one(request.frame_id)[nodes.NodeForm.FRAME]
    return joined(frame, nodes.said(nodes.read(turn.node_id), nodes.NodeForm.CLIENT))


def request_body_of(attempt: models.Attempt, messages: Sequence[str] | None = None) -> str:
    """The exact JSON text of the request as it was sent. `messages`: the turn's, where the caller has them already."""
    body = json.loads(attempt.request)
    if not isinstance(body, dict):  # what it refers to is gone
        return str(attempt.request)
    key = next((key for key in MESSAGE_KEYS if isinstance(body.get(key), dict)), None)
    if key is not None:
        stored = messages_of(attempt.turn_id) if messages is None else messages
        history = [json.loads(wire) for wire in stored[: body[key]["history"]]]
        body[key] = history + body[key]["tail"]
    return body_text(body)


def body_text(body: dict[str, Any]) -> str:
    """A request body as it goes over the wire: ASCII, so that any text a model ever said can be sent and stored."""
    return compact_json(body)


def sha256_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def raw_response_of(attempt: models.Attempt) -> bytes:
    """The bytes the provider sent, as they came."""
    chunks = models.Piece.objects.filter(turn_id=attempt.turn_id, attempt=attempt.index).order_by("n")
    return b"".join(bytes(raw) for raw in chunks.values_list("raw", flat=True))


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A piece of an answer as it was kept: when, after the call began, in seconds; how many bytes; the text in them."""

    after: float
    size: int
    text: str


def pieces_of(attempt: models.Attempt) -> list[StoredChunk]:
    """The pieces an answer came in, as they were kept."""
    chunks = models.Piece.objects.filter(turn_id=attempt.turn_id, attempt=attempt.index).order_by("n")
    rows = chunks.values_list("at", "raw", "text")
    return [StoredChunk(max(0.0, (at - attempt.started_at).total_seconds()), len(raw), text) for at, raw, text in rows]


def draft_of(turn: models.Turn) -> str:
    """The text streamed so far by the attempt that is in flight; empty where none is."""
    running = models.Attempt.objects.filter(turn_id=turn.id, duration_ms=None).order_by("-index").first()
    if running is None:
        return ""
    chunks = models.Piece.objects.filter(turn_id=turn.id, attempt=running.index).order_by("n")
    return "".join(chunks.values_list("text", flat=True))


def partial_of(turn: models.Turn, attempt: models.Attempt) -> ChatResponse | None:
    """What had arrived of an attempt whose worker is gone, decoded from its stored bytes."""
    raw = raw_response_of(attempt)
    if not raw:
        return None
    try:
        decoder = get_provider(turn.provider).stream_decoder(max_tokens=attempt.max_tokens)
        decoder.feed(raw)
        return decoder.close()
    except (DecodeError, UnknownProviderError):
        return None


#: Large columns that nobody asks of the attempts of many turns.
UNREAD = ("raw", "raw_text", "response_headers")


def attempts_read(turn_id: UUID, *columns: str) -> list[Attempt]:
    """All attempts of a turn, in order. `columns`: what is asked of them."""
    known = read_ahead().attempts.get(turn_id)
    if known is not None:
        return known
    rows = Attempt.objects.filter(turn_id=turn_id).order_by("index").only("turn_id", "index", *columns)
    return once(("attempts", turn_id, columns), lambda: list(rows))


def first_attempt(turn_id: UUID, *columns: str) -> Attempt | None:
    """The first call of a turn; None before it is made. `columns`: what is asked of it."""
    known = read_ahead().attempts.get(turn_id)
    if known is not None:
        return known[0] if known else None
    rows = Attempt.objects.filter(turn_id=turn_id).order_by("index").only("turn_id", "index", *columns)
    return once(("first call", turn_id, columns), rows.first)


def attempts_read_ahead(turns: Iterable[UUID]) -> None:
    """Where a page or an answer remembers what was read: those of all these turns, by one statement."""
    held = read_ahead()
    if held.answers is not None:
        held.attempts.update(attempts_of_all([turn_id for turn_id in turns if turn_id not in held.attempts]))


def attempts_of_all(turns: Collection[UUID]) -> dict[UUID, list[Attempt]]:
    """Those of each of these turns, in order, by one statement."""
    found: dict[UUID, list[Attempt]] = {turn_id: [] for turn_id in turns}
    for attempt in (
        Attempt.objects.filter(turn_id__in=found).order_by("turn_id", "index").defer(*UNREAD) if found else ()
    ):
        found[attempt.turn_id].append(attempt)
    return found
