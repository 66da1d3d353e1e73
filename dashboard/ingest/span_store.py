"""Spans in and out of the database. The same span twice is kept once; of two that differ, always the same one."""

import hashlib
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
from dashboard.ingest.conventions.log_places import logs_by_span
from dashboard.ingest.conventions.observations import Seen
from dashboard.ingest.conventions.span_reader import seen
from dashboard.ingest.conventions.spans import LogEvent, Span
from dashboard.ingest.piece_rows import Kept, Row, answer_of, read_again, unsigned
from dashboard.turns.compression import unpacked

log = structlog.get_logger(__name__)

PLACES_KEPT = timedelta(days=1)
SWEEP_SECONDS = 600.0
MOST_OF_TRACE = 20_000  #: spans of one trace that are kept; beyond, its exporter is told so

#: Requests of a sender wait for one another only where they bring spans of one trace, or tell of one answer: each has a
#: lock of its own. A database with usual settings has room for 6,400 locks of all its transactions, so a request that
#: needs more than `MOST_LOCKS`, or comes while `PLACES` others have theirs, takes lines instead: each is for a part of
#: the sender's traces and answers. A request with locks of its own shares its lines with others that have theirs.
MOST_LOCKS, PLACES = 512, 8
LINES = 32
_PLACE = 1_735_289_203  #: arbitrary and only ours
_OF_LOGS = 2**62  #: numbers of logs' locks
LOCK = "SELECT pg_advisory_xact_lock(number) FROM (SELECT unnest(%s::bigint[]) AS number ORDER BY 1) numbers"
SHARE = LOCK.replace("xact_lock", "xact_lock_shared")
TAKE_PLACE = "SELECT FROM generate_series(1, %s) place WHERE pg_try_advisory_xact_lock(%s, place) LIMIT 1"
PUT = """
WITH put AS (
INSERT INTO ingest_piece (project_id, sender, trace, span, part, parent, content, answer, at)
SELECT $1::uuid, $2::uuid, given.trace, given.span, given.part, given.parent, given.content, given.answer,
       $3::timestamptz
  FROM json_to_recordset($4::json)
       AS given (trace uuid, span bigint, part bigint, parent bigint, content bytea, answer bigint)
ON CONFLICT (project_id, sender, trace, span, part) DO UPDATE
   SET content = excluded.content, parent = excluded.parent, answer = excluded.answer
 WHERE coalesce(excluded.content, '') > coalesce(ingest_piece.content, '')
RETURNING trace)
SELECT DISTINCT trace FROM put
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
    not be read; `spans`: those whose content is kept."""

    id: UUID
    seen: list[Seen] = field(default_factory=list)
    parents: dict[str, str] = field(default_factory=dict)
    unread: set[str] = field(default_factory=set)
    spans: list[Span] = field(default_factory=list)
    costly: bool = False  #: the schemas of its request took all the time that they may, so it has no turns

    @property
    def answers(self) -> dict[str, int]:
        """Of each call's span, the number of its answer's id."""
        return {span.id: answer for span in self.spans if (answer := answer_of(span)) is not None}


def _place(row: Row) -> tuple[int, int]:
    return row.span, row.part


@dataclass(frozen=True, slots=True)
class Changed:
    """Traces that have changed: those that were there before, and what is kept of those that were not."""

    grown: Set[UUID] = frozenset()
    whole: Mapping[UUID, Sequence[Row]] = field(default_factory=dict)

    def without(self, traces: Set[UUID]) -> "Changed":
        return Changed(self.grown - traces, {trace: rows for trace, rows in self.whole.items() if trace not in traces})


def hold(
    project_id: UUID, sender: UUID, traces: Collection[UUID], answers: Collection[int] = (), *, alone: bool = False
) -> None:
    """Hold these traces of the sender, and these answers, for a request, until the transaction ends. `alone`: no other
    request of the sender is worked on meanwhile."""
    lines = range(LINES) if alone else {one % LINES for one in (*(trace.int for trace in traces), *answers)}
    has_own = not alone and len(traces) + len(answers) <= MOST_LOCKS and _has_place()
    _take(SHARE if has_own else LOCK, project_id, sender, [b"%d" % line for line in lines])
    if has_own:
        own = [b"trace %d" % trace.int for trace in traces] + [b"answer %d" % answer for answer in answers]
        _take(LOCK, project_id, sender, own)


def lock(project_id: UUID, sender: UUID, traces: Iterable[UUID]) -> None:
    """Hold each of these traces, which no request brings, until the transaction ends."""
    _take(LOCK, project_id, sender, [b"%d" % (trace.int % _OF_LOGS) for trace in traces])


def _has_place() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(TAKE_PLACE, [PLACES, _PLACE])
        return bool(cursor.rowcount)


def _take(statement: str, project_id: UUID, sender: UUID, names: Iterable[bytes]) -> None:
    numbers = [_number(project_id.bytes + sender.bytes + name) for name in names]
    with connection.cursor() as cursor:
        cursor.execute(statement, [numbers])


def _number(name: bytes) -> int:
    """What PostgreSQL calls a lock by: 64 bits of a name."""
    return int.from_bytes(hashlib.blake2b(name, digest_size=8, person=b"ingest").digest(), "big", signed=True)


def put(project_id: UUID, sender: UUID, pieces: Iterable[Row], at: datetime, new: Collection[UUID] = ()) -> Changed:
    """Keep what was taken; the traces that have changed by it. `new`: traces of which nothing is kept yet."""
    rows = {(row.trace, row.span, row.part): row for row in sorted(pieces, key=lambda row: row.content or b"")}
    if not rows:
        return Changed()
    written = to_json([row.columns() for row in rows.values()]).decode()
    found = {trace for (trace,) in execute_raw(PUT, [project_id, sender, at, written])}
    whole: dict[UUID, list[Row]] = {}
    for row in rows.values():
        if row.trace in new:
            whole.setdefault(row.trace, []).append(row)
    return Changed(found.difference(whole), whole)


def counts(project_id: UUID, sender: UUID, traces: Sequence[UUID]) -> dict[UUID, int]:
    """How many pieces are kept of each of these traces."""
    with connection.cursor() as cursor:
        cursor.execute(COUNT, [project_id, sender, list(traces)])
        return dict(cursor.fetchall())


def get(project_id: UUID, sender: UUID, changed: Changed) -> Iterator[Trace]:
    """All that is kept of these traces, one after another. What came just now is not read again."""
    found: dict[UUID, Iterable[Kept]] = {
        trace: (row.kept() for row in sorted(rows, key=_place)) for trace, rows in changed.whole.items()
    }
    stored: dict[UUID, list[Kept]] = {}
    for trace, span, part, parent, content in _stored(project_id, sender, sorted(changed.grown)):
        text = None if content is None else unpacked(content)
        stored.setdefault(trace, []).append((span, part, parent, read_again(text, part)))
    found |= stored
    for trace_id in sorted(found):
        yield _trace(trace_id, found.pop(trace_id))


def _stored(project_id: UUID, sender: UUID, traces: Sequence[UUID]) -> Iterable[Any]:
    if not traces:
        return []
    with connection.cursor() as cursor:
        cursor.execute(GET, [project_id, sender, list(traces)])
        return list(cursor.fetchall())


def _trace(trace_id: UUID, rows: Iterable[Kept]) -> Trace:
    trace, told = Trace(trace_id), list[LogEvent]()
    for span, part, parent, held in rows:
        if isinstance(held, LogEvent):
            told.append(held)
        if part:
            continue
        trace.parents[unsigned(span)] = "" if parent is None else unsigned(parent)
        if isinstance(held, Span):
            trace.spans.append(held)
    logs = logs_by_span(trace.spans, told)
    for one in trace.spans:
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


def forget(*, turn_ids: Sequence[UUID], **_: object) -> None:
    """A receiver of `turns_leave`: lets go of what these turns were made of, before they are erased."""
    with connection.cursor() as cursor:
        cursor.execute(FORGET, {"ids": list(turn_ids)})


def sweep() -> int:
    """Let go of what came to nothing; returns how many places."""
    with connection.cursor() as cursor:
        cursor.execute(SWEEP, [timezone.now() - PLACES_KEPT])
        return int(cursor.rowcount)
