"""Which traces tell of the same answers, by the ids that their provider gave them."""

from collections.abc import Iterable
from uuid import UUID

from django.db import connection

from dashboard.ingest.conventions.response_ids import answer_number
from dashboard.ingest.conventions.spans import Span

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
