"""Which traces tell of the same answers, by the ids that their provider gave them."""

import hashlib
import re
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db import connection

from dashboard.ingest.conventions.attributes import first
from dashboard.ingest.conventions.span_reader import kind_of
from dashboard.ingest.conventions.spans import Span
from dashboard.ingest.conventions.tables import Kind

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
_NAMES = ("gen_ai.response.id", "ai.response.id")
_WHOLE = ("output.value", "mlflow.spanOutputs")  #: the provider's own answer, as JSON
_AT_ITS_START = re.compile(r'\s*\{\s*"id"\s*:\s*"([^"\\]{1,200})"')
_LEAST = 16  #: letters and digits; what clients and small servers invent is shorter, such as `chatcmpl-123`
_LEAST_KINDS = 8  #: of different characters
_HALF = 1 << 63


def is_issued(response_id: str) -> bool:
    """Whether it is long and mixed enough to be an id that a provider gave to one answer only."""
    marks = [mark for mark in response_id if mark.isalnum()]
    return len(marks) >= _LEAST and len(set(marks)) >= _LEAST_KINDS and any(mark.isdigit() for mark in marks)


def answer_number(span: Span) -> int | None:
    """What a call's span is found by: 64 bits of its answer's id, as a signed number. None where no id is told."""
    told = first(span.attributes, _NAMES) or _in_whole(first(span.attributes, _WHOLE))
    if not isinstance(told, str) or not is_issued(told) or not _is_call(span):
        return None
    digest = hashlib.blake2b(told.encode(errors="replace"), digest_size=8, person=b"answer").digest()
    return int.from_bytes(digest, "big") - _HALF


def _is_call(span: Span) -> bool:
    found = kind_of(span)
    return found is not None and found[1] is Kind.CALL


def _in_whole(answer: Any) -> str | None:
    found = _AT_ITS_START.match(answer) if isinstance(answer, str) else None
    return found[1] if found else None


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
