"""Spans in and out of the database. The same span twice is kept once; of two that differ, always the same one."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.utils import timezone

from dashboard.ingest.conventions.observations import Seen
from dashboard.ingest.conventions.span_reader import is_about_a_model, seen
from dashboard.ingest.conventions.spans import LogEvent, Span, SpanEvent
from dashboard.ingest.wire.bodies import ParsedBody
from dashboard.turns.compression import packed, unpacked

PLACES_KEPT = timedelta(days=1)
SWEEP_SECONDS = 600.0
MOST_OF_TRACE = 20_000  #: spans of one trace that are kept; beyond, its exporter is told so
_SIGNED = 1 << 63

#: Where several requests bring spans of one trace, the second waits for the first: in one of so many lines.
LINES = 32
LOCK = "SELECT pg_advisory_xact_lock(7316018, line) FROM (SELECT unnest(%s::int[]) AS line ORDER BY 1) lines"
PUT = """
INSERT INTO ingest_piece (project_id, sender, trace, span, part, parent, content, at)
SELECT %(project)s, %(sender)s, given.trace, given.span, given.part, given.parent, given.content, %(at)s
  FROM unnest(%(trace)s::uuid[], %(span)s::bigint[], %(part)s::bigint[], %(parent)s::bigint[], %(content)s::bytea[])
       AS given (trace, span, part, parent, content)
ON CONFLICT (project_id, sender, trace, span, part) DO UPDATE
   SET content = excluded.content, parent = excluded.parent
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


#: What turns that are erased were made of; of a trace without any other turn, all of it.
FORGET = """
DELETE FROM ingest_piece piece USING ingest_ingested gone
 WHERE gone.turn_id = ANY(%(ids)s::uuid[]) AND piece.project_id = gone.project_id
   AND piece.sender = gone.sender AND piece.trace = gone.trace
   AND (lpad(to_hex(piece.span), 16, '0') IN (SELECT jsonb_array_elements_text(gone.spans))
        OR NOT EXISTS (SELECT FROM ingest_ingested other
                        WHERE other.project_id = gone.project_id
                          AND other.sender = gone.sender AND other.trace = gone.trace
                          AND other.turn_id <> ALL(%(ids)s::uuid[])))
"""


@dataclass(slots=True)
class Trace:
    """A trace as far as it has come. `parents`: of each span, by their ids in hexadecimal."""

    id: UUID
    seen: list[Seen] = field(default_factory=list)
    parents: dict[str, str] = field(default_factory=dict)


def lock(traces: Iterable[UUID]) -> None:
    """Hold these traces until the transaction ends."""
    lines = sorted({trace.int % LINES for trace in traces})
    with connection.cursor() as cursor:
        cursor.execute(LOCK, [lines])


def put(project_id: UUID, sender: UUID, taken: ParsedBody, at: datetime) -> set[UUID]:
    """Keep what was taken; the traces that have changed by it."""
    rows = {row[:3]: row for row in sorted(_rows(taken), key=lambda row: row[4] or b"")}
    if not rows:
        return set()
    trace, span, part, parent, content = (list(column) for column in zip(*rows.values(), strict=True))
    columns = {"trace": trace, "span": span, "part": part, "parent": parent, "content": content}
    with connection.cursor() as cursor:
        cursor.execute(PUT, {"project": project_id, "sender": sender, "at": at, **columns})
        return {found for (found,) in cursor.fetchall()}


def counts(project_id: UUID, sender: UUID, traces: Sequence[UUID]) -> dict[UUID, int]:
    """How many pieces are kept of each of these traces."""
    with connection.cursor() as cursor:
        cursor.execute(COUNT, [project_id, sender, list(traces)])
        return dict(cursor.fetchall())


_Row = tuple[UUID, int, int, int | None, bytes | None]


def _rows(taken: ParsedBody) -> Iterator[_Row]:
    for span in taken.spans:
        content = _packed(_told_of(span)) if is_about_a_model(span) else None
        yield UUID(span.trace), signed(span.id), 0, signed(span.parent) if span.parent else None, content
    for log in taken.logs:
        text = _json({name: getattr(log, name) for name in LogEvent.__slots__})
        digest = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") % (_SIGNED - 1) + 1
        yield UUID(log.trace), signed(log.span), digest, None, packed(text)


def get(project_id: UUID, sender: UUID, traces: Sequence[UUID]) -> Iterator[Trace]:
    """All that is kept of these traces, one after another."""
    with connection.cursor() as cursor:
        cursor.execute(GET, [project_id, sender, list(traces)])
        found: dict[UUID, list[Any]] = {}
        for row in cursor.fetchall():
            found.setdefault(row[0], []).append(row)
    for trace_id in sorted(found):
        yield _trace(trace_id, found.pop(trace_id))


def _trace(trace_id: UUID, rows: Iterable[Any]) -> Trace:
    trace, spans, logs = Trace(trace_id), list[Span](), dict[str, list[LogEvent]]()
    for _, span, part, parent, content in rows:
        if part:
            log = _log(json.loads(unpacked(content)))
            logs.setdefault(log.span, []).append(log)
            continue
        trace.parents[unsigned(span)] = "" if parent is None else unsigned(parent)
        if content is not None:
            spans.append(_span(json.loads(unpacked(content))))
    told = (seen(span, logs.get(span.id, ())) for span in spans)
    trace.seen = [one for one in told if one is not None]
    return trace


def forget(turn_ids: Sequence[UUID]) -> None:
    """Let go of what these turns were made of, before they are erased."""
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
    return told


def _log(told: Mapping[str, Any]) -> LogEvent:
    return LogEvent(**told)


def _packed(told: Mapping[str, Any]) -> bytes:
    return packed(_json(told))


def _json(told: Mapping[str, Any]) -> bytes:
    """Sorted, so that the same span is the same bytes whatever the order of its attributes."""
    return json.dumps(told, sort_keys=True, separators=(",", ":")).encode()


def signed(span: str) -> int:
    """An id of 8 bytes as Postgres keeps it."""
    number = int(span, 16)
    return number - 2 * _SIGNED if number >= _SIGNED else number


def unsigned(span: int) -> str:
    return f"{span % (2 * _SIGNED):016x}"
