"""Spans in and out of the database. The same span twice is kept once; of two that differ, always the same one."""

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from django.db import connection
from django.utils import timezone
from pydantic_core import to_json

from dashboard.gateway.recording.complete_turns import execute_raw
from dashboard.ingest.answer_store import answer_of
from dashboard.ingest.conventions.observations import Seen
from dashboard.ingest.conventions.span_reader import is_about_a_model, seen
from dashboard.ingest.conventions.spans import LogEvent, Span, SpanEvent
from dashboard.ingest.wire.bodies import ParsedBody
from dashboard.turns.compression import packed, unpacked

log = structlog.get_logger(__name__)

PLACES_KEPT = timedelta(days=1)
SWEEP_SECONDS = 600.0
MOST_OF_TRACE = 20_000  #: spans of one trace that are kept; beyond, its exporter is told so
_SIGNED = 1 << 63

#: Where several requests of a sender bring spans of one trace, the second waits for the first: in one of so many lines
#: of this sender. A request of many traces holds them all, so no two senders share any.
LINES = 32
LOCK = "SELECT pg_advisory_xact_lock(line) FROM (SELECT unnest(%s::bigint[]) AS line ORDER BY 1) lines"
PUT = """
INSERT INTO ingest_piece (project_id, sender, trace, span, part, parent, content, answer, at)
SELECT $1::uuid, $2::uuid, given.trace, given.span, given.part, given.parent, given.content, given.answer,
       $3::timestamptz
  FROM json_to_recordset($4::json)
       AS given (trace uuid, span bigint, part bigint, parent bigint, content bytea, answer bigint)
ON CONFLICT (project_id, sender, trace, span, part) DO UPDATE
   SET content = excluded.content, parent = excluded.parent, answer = excluded.answer
 WHERE coalesce(excluded.content, '') > coalesce(ingest_piece.content, '')
RETURNING trace
"""
GET = """
SELECT trace, span, part, parent, content FROM ingest_piece
 WHERE project_id = %s AND sender = %s AND trace = ANY(%s::uuid[]) ORDER BY trace, span, part
"""
COUNT = """
SELECT trace, count(*) FROM ingest_piece
 WHERE project_id = %s AND sender = %s AND trace = ANY(%s::uuid[]) GROUP BY trace
"""
#: Places in traces that have come to nothing.
SWEEP = """
DELETE FROM ingest_piece place
 WHERE place.content IS NULL AND place.at < %s
   AND NOT EXISTS (SELECT FROM ingest_piece other WHERE other.project_id = place.project_id
                    AND other.sender = place.sender AND other.trace = place.trace AND other.content IS NOT NULL)
"""


#: What turns that are erased were made of; of a trace without any other turn, all of it. So are traces without any turn
#: that tell of the same calls.
FORGET = """
WITH forgotten AS (
DELETE FROM ingest_piece piece USING ingest_ingested gone
 WHERE gone.turn_id = ANY(%(ids)s::uuid[]) AND piece.project_id = gone.project_id
   AND piece.sender = gone.sender AND piece.trace = gone.trace
   AND (lpad(to_hex(piece.span), 16, '0') IN (SELECT jsonb_array_elements_text(gone.spans))
        OR NOT EXISTS (SELECT FROM ingest_ingested other
                        WHERE other.project_id = gone.project_id
                          AND other.sender = gone.sender AND other.trace = gone.trace
                          AND other.turn_id <> ALL(%(ids)s::uuid[])))
RETURNING piece.project_id, piece.sender, piece.answer)
DELETE FROM ingest_piece piece USING forgotten, ingest_piece same
 WHERE same.project_id = forgotten.project_id AND same.sender = forgotten.sender AND same.answer = forgotten.answer
   AND piece.project_id = same.project_id AND piece.sender = same.sender AND piece.trace = same.trace
   AND NOT EXISTS (SELECT FROM ingest_ingested turn
                    WHERE turn.project_id = same.project_id AND turn.sender = same.sender AND turn.trace = same.trace)
"""


@dataclass(slots=True)
class Trace:
    """A trace as far as it has come. `parents`: of each span, by their ids in hexadecimal; `unread`: spans that could
    not be read; `answers`: of each call's span, the number of its answer's id."""

    id: UUID
    seen: list[Seen] = field(default_factory=list)
    parents: dict[str, str] = field(default_factory=dict)
    unread: set[str] = field(default_factory=set)
    answers: dict[str, int] = field(default_factory=dict)
    costly: bool = False  #: the schemas of its request took all the time that they may, so it has no turns


#: Of a piece: its span, its part, its span's parent, and what it holds, as JSON.
_Kept = tuple[int, int, int | None, bytes | None]


@dataclass(slots=True)
class _Row:
    """A piece that is to be kept. `content`: `text`, compressed."""

    trace: UUID
    span: int
    part: int
    parent: int | None
    text: bytes | None
    answer: int | None = None
    content: bytes | None = field(init=False)

    def __post_init__(self) -> None:
        self.content = None if self.text is None else packed(self.text)

    def columns(self) -> dict[str, Any]:
        content = None if self.content is None else f"\\x{self.content.hex()}"
        about = {"trace": self.trace, "span": self.span, "part": self.part, "parent": self.parent}
        return {**about, "content": content, "answer": self.answer}

    def kept(self) -> _Kept:
        return self.span, self.part, self.parent, self.text


def _place(row: _Row) -> tuple[int, int]:
    return row.span, row.part


@dataclass(frozen=True, slots=True)
class Changed:
    """Traces that have changed: those that were there before, and what is kept of those that were not."""

    grown: Set[UUID] = frozenset()
    whole: Mapping[UUID, Sequence[_Row]] = field(default_factory=dict)

    def without(self, traces: Set[UUID]) -> "Changed":
        return Changed(self.grown - traces, {trace: rows for trace, rows in self.whole.items() if trace not in traces})


def lock(
    project_id: UUID, sender: UUID, traces: Iterable[UUID], lines: int = LINES, answers: Iterable[int] = ()
) -> None:
    """Hold these traces of the sender, and these answers, until the transaction ends. `lines`: as many of a sender may
    be held at once."""
    lines_of_them = {trace.int % lines for trace in traces} | {answer % lines for answer in answers}
    with connection.cursor() as cursor:
        cursor.execute(LOCK, [[_number(b"%b%b%d" % (project_id.bytes, sender.bytes, line)) for line in lines_of_them]])


def _number(name: bytes) -> int:
    """What PostgreSQL calls a lock by: 64 bits of a name."""
    return int.from_bytes(hashlib.blake2b(name, digest_size=8, person=b"ingest").digest(), "big", signed=True)


def put(project_id: UUID, sender: UUID, taken: ParsedBody, at: datetime, new: Collection[UUID] = ()) -> Changed:
    """Keep what was taken; the traces that have changed by it. `new`: traces of which nothing is kept yet."""
    rows = {(row.trace, row.span, row.part): row for row in sorted(_rows(taken), key=lambda row: row.content or b"")}
    if not rows:
        return Changed()
    written = to_json([row.columns() for row in rows.values()]).decode()
    found = {trace for (trace,) in execute_raw(PUT, [project_id, sender, at, written])}
    whole: dict[UUID, list[_Row]] = {}
    for row in rows.values():
        if row.trace in new:
            whole.setdefault(row.trace, []).append(row)
    return Changed(found.difference(whole), whole)


def counts(project_id: UUID, sender: UUID, traces: Sequence[UUID]) -> dict[UUID, int]:
    """How many pieces are kept of each of these traces."""
    with connection.cursor() as cursor:
        cursor.execute(COUNT, [project_id, sender, list(traces)])
        return dict(cursor.fetchall())


def _rows(taken: ParsedBody) -> Iterator[_Row]:
    traces = {name: UUID(name) for name in {span.trace for span in taken.spans}}
    for span in taken.spans:
        text = _json(_told_of(span)) if is_kept(span) else None
        parent = signed(span.parent) if span.parent else None
        answer = None if text is None else answer_of(span)
        yield _Row(traces[span.trace], signed(span.id), 0, parent, text, answer)
    for log in taken.logs:
        text = _json({name: getattr(log, name) for name in LogEvent.__slots__})
        digest = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") % (_SIGNED - 1) + 1
        yield _Row(UUID(log.trace), signed(log.span), digest, None, text)


def is_kept(span: Span) -> bool:
    """Whether it is about a model, as far as it can be read."""
    try:
        return is_about_a_model(span)
    except Exception:  # it is told as one that could not be read, once it is read again
        return True


def get(project_id: UUID, sender: UUID, changed: Changed) -> Iterator[Trace]:
    """All that is kept of these traces, one after another. What came just now is not read again."""
    found: dict[UUID, Iterable[_Kept]] = {
        trace: (row.kept() for row in sorted(rows, key=_place)) for trace, rows in changed.whole.items()
    }
    stored: dict[UUID, list[_Kept]] = {}
    for trace, span, part, parent, content in _stored(project_id, sender, sorted(changed.grown)):
        text = None if content is None else unpacked(content)
        stored.setdefault(trace, []).append((span, part, parent, text))
    found |= stored
    for trace_id in sorted(found):
        yield _trace(trace_id, found.pop(trace_id))


def _stored(project_id: UUID, sender: UUID, traces: Sequence[UUID]) -> Iterable[Any]:
    if not traces:
        return []
    with connection.cursor() as cursor:
        cursor.execute(GET, [project_id, sender, list(traces)])
        return list(cursor.fetchall())


def _trace(trace_id: UUID, rows: Iterable[_Kept]) -> Trace:
    trace, spans, logs = Trace(trace_id), list[Span](), dict[str, list[LogEvent]]()
    for span, part, parent, text in rows:
        if part:
            event = _log(json.loads(text or b""))
            logs.setdefault(event.span, []).append(event)
            continue
        trace.parents[unsigned(span)] = "" if parent is None else unsigned(parent)
        if text is not None:
            spans.append(_span(json.loads(text)))
    for one in spans:
        _read(trace, one, logs.get(one.id, ()))
    return trace


def _read(trace: Trace, span: Span, logs: Sequence[LogEvent]) -> None:
    try:
        one = seen(span, logs)
    except Exception:
        # Whatever a stranger's span holds, it must not keep the others of its request from being stored.
        log.exception("span_not_read", trace=span.trace, span=span.id)
        trace.unread.add(span.id)
        return
    if one is not None:
        trace.seen.append(one)
        if (answer := answer_of(span)) is not None:
            trace.answers[span.id] = answer


def forget(*, turn_ids: Sequence[UUID], **_: object) -> None:
    """A receiver of `turns_leave`: lets go of what these turns were made of, before they are erased."""
    with connection.cursor() as cursor:
        cursor.execute(FORGET, {"ids": list(turn_ids)})


def sweep() -> int:
    """Let go of what came to nothing; returns how many places."""
    with connection.cursor() as cursor:
        cursor.execute(SWEEP, [timezone.now() - PLACES_KEPT])
        return int(cursor.rowcount)


def _span(told: Mapping[str, Any]) -> Span:
    events = tuple(SpanEvent(**event) for event in told["events"])
    return Span(**{**told, "events": events})


def _told_of(span: Span) -> dict[str, Any]:
    """Its fields; `dataclasses.asdict` would copy every attribute, in five times as long."""
    told = {name: getattr(span, name) for name in Span.__slots__}
    told["events"] = [{"name": event.name, "attributes": event.attributes} for event in span.events]
    if not span.dropped:  # as spans of earlier releases are kept: the same span is the same bytes
        del told["dropped"]
    return told


def _log(told: Mapping[str, Any]) -> LogEvent:
    return LogEvent(**told)


def _json(told: Mapping[str, Any]) -> bytes:
    """Sorted, so that the same span is the same bytes whatever the order of its attributes."""
    return json.dumps(told, sort_keys=True, separators=(",", ":")).encode()


def signed(span: str) -> int:
    """An id of 8 bytes as Postgres keeps it."""
    number = int(span, 16)
    return number - 2 * _SIGNED if number >= _SIGNED else number


def unsigned(span: int) -> str:
    return f"{span % (2 * _SIGNED):016x}"
