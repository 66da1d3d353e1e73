"""A span, or a log event, as it is kept: a row of JSON, compressed; and how it is read again.

Also holds which traces tell of the same answers, by the ids that their provider gave them.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

from agentcore.values import replace
from dashboard.ingest.conventions.answer_ids import answer_number
from dashboard.ingest.conventions.span_kinds import is_about_a_model
from dashboard.ingest.conventions.spans import Attributes, LogEvent, Span, SpanEvent
from dashboard.ingest.wire.bodies import ParsedBody
from dashboard.turns.compression import packed

#: Traces with a response id that others have too, and those others. Of an id that many traces have, none: a server
#: repeats it, and its calls are never taken for one (`shared_answers`).
SHARING = """
SELECT mine.trace, other.trace
  FROM (SELECT DISTINCT trace, answer FROM ingest_piece
         WHERE project_id = %(project)s AND sender = %(sender)s AND trace = ANY(%(traces)s::uuid[])
           AND answer IS NOT NULL) mine
 CROSS JOIN LATERAL (
    SELECT array_agg(same.trace) AS traces
      FROM (SELECT trace FROM ingest_piece
             WHERE project_id = %(project)s AND sender = %(sender)s AND answer = mine.answer LIMIT %(most)s + 1) same
    HAVING count(*) <= %(most)s) others
 CROSS JOIN LATERAL unnest(others.traces) AS other (trace)
 WHERE other.trace <> mine.trace
"""


def answer_of(span: Span) -> int | None:
    """The number of its answer's id; None where there is none, or it cannot be read."""
    try:
        return answer_number(span)
    except Exception:
        return None


def sharing(project_id: UUID, sender: UUID, traces: Iterable[UUID], most: int) -> dict[UUID, set[UUID]]:
    """Those of the traces with a response id that other traces have too, and those. `most`: spans of one such id."""
    found: dict[UUID, set[UUID]] = {}
    with connection.cursor() as cursor:
        cursor.execute(SHARING, {"project": project_id, "sender": sender, "traces": list(traces), "most": most})
        for trace, other in cursor.fetchall():
            found.setdefault(trace, set()).add(other)
    return found


_SIGNED = 1 << 63
_HOLDERS = frozenset({dict, list})
_encoded = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode

#: Of a piece: its span, its part, its span's parent, and what it holds, as it is read from what is stored.
Kept = tuple[int, int, int | None, Span | LogEvent | None]


@dataclass(slots=True)
class Row:
    """A piece that is to be kept. `content`: what it `holds`, as JSON, compressed."""

    trace: UUID
    span: int
    part: int
    parent: int | None
    content: bytes | None
    holds: Span | LogEvent | None
    answer: int | None = None

    @property
    def is_let_go(self) -> bool:
        """Whether it is a span that is not about a model."""
        return self.content is None

    def columns(self) -> dict[str, Any]:
        content = None if self.content is None else f"\\x{self.content.hex()}"
        about = {"trace": self.trace, "span": self.span, "part": self.part, "parent": self.parent}
        return {**about, "content": content, "answer": self.answer}

    def kept(self) -> Kept:
        return self.span, self.part, self.parent, self.holds


def rows_of(taken: ParsedBody) -> list[Row]:
    """What was taken as it is to be kept: its spans in their order, then its log events."""
    names = {span.trace for span in taken.spans} | {event.trace for event in taken.logs}
    traces = {name: UUID(name) for name in names}
    return [_row(traces[span.trace], span) for span in taken.spans] + [
        _log_row(traces[event.trace], event) for event in taken.logs
    ]


def _row(trace: UUID, span: Span) -> Row:
    parent = signed(span.parent) if span.parent else None
    if not is_kept(span):
        return Row(trace, signed(span.id), 0, parent, None, None)
    text = _json(_told_of(span))
    return Row(trace, signed(span.id), 0, parent, packed(text), _as_read(span, text), answer_of(span))


def _log_row(trace: UUID, event: LogEvent) -> Row:
    text = _json({name: getattr(event, name) for name in LogEvent.__slots__})
    digest = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") % (_SIGNED - 1) + 1
    return Row(trace, signed(event.span), digest, None, packed(text), _log(json.loads(text)))


def _as_read(span: Span, text: bytes) -> Span:
    """The span as reading its text gives it again: the order of its attributes is part of what turns are made of."""
    told = (span.attributes, *(event.attributes for event in span.events))
    if not all(_HOLDERS.isdisjoint(map(type, attributes.values())) for attributes in told):
        return _span(json.loads(text))
    events = tuple([SpanEvent(event.name, _in_order(event.attributes)) for event in span.events])
    return replace(span, attributes=_in_order(span.attributes), events=events)


def _in_order(attributes: Attributes) -> Attributes:
    return {name: attributes[name] for name in sorted(attributes)}


def is_kept(span: Span) -> bool:
    """Whether it is about a model, as far as it can be read."""
    try:
        return is_about_a_model(span)
    except Exception:  # it is told as one that could not be read, once it is read again
        return True


def read_again(text: bytes | None, part: int) -> Span | LogEvent | None:
    if text is None:
        return None
    return (_log if part else _span)(json.loads(text))


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
    return _encoded(told).encode()


def signed(span: str) -> int:
    """An id of 8 bytes as Postgres keeps it."""
    number = int(span, 16)
    return number - 2 * _SIGNED if number >= _SIGNED else number


def unsigned(span: int) -> str:
    return f"{span % (2 * _SIGNED):016x}"
