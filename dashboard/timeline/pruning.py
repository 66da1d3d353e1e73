"""Erasing the oldest turns of a project, by age, count and size: which would go, and letting them go in batches."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection

from dashboard.accounts.models import User
from dashboard.agents.models import Project
from dashboard.platform.ids import first_id_at
from dashboard.timeline.services import BATCH, turns_erase
from dashboard.turns.models import UNFINISHED

BY = "manage.py prune"  #: who has done it, in the notes of what was erased

#: Ended turns, the oldest first, with their bytes and with the count and the bytes of all that are as new or newer.
OLDEST = """
WITH turn AS (
    SELECT id, created_at, pg_column_size(turns_turn.*) AS bytes FROM turns_turn
     WHERE project_id = %(project)s AND status <> ALL(%(unfinished)s)
), sized AS (
    SELECT turn.id, turn.created_at, turn.bytes
         + coalesce((SELECT sum(pg_column_size(r.*)) FROM turns_record r WHERE r.turn_id = turn.id), 0)
         + coalesce((SELECT sum(pg_column_size(a.*)) FROM turns_attempt a WHERE a.turn_id = turn.id), 0)
         + coalesce((SELECT sum(pg_column_size(c.*)) FROM turns_attemptchunk c WHERE c.turn_id = turn.id), 0)
         + coalesce((SELECT sum(pg_column_size(o.*)) FROM turns_outcome o WHERE o.turn_id = turn.id), 0) AS bytes
      FROM turn
), ranked AS (
    SELECT id, created_at, bytes, count(*) OVER newer AS rank, sum(bytes) OVER newer AS total
      FROM sized WINDOW newer AS (ORDER BY id DESC ROWS UNBOUNDED PRECEDING)
)
SELECT id, created_at, bytes FROM ranked
 WHERE id < %(since)s OR rank > %(turns)s OR total > %(bytes)s
 ORDER BY id
"""
_NO_LIMIT = 2**62


@dataclass(frozen=True, slots=True)
class RetentionLimits:
    """What may stay; None: no limit. A turn goes where any of the three lets it go."""

    age: timedelta | None = None
    turns: int | None = None
    bytes: int | None = None  #: of rows: records, attempts, raw answers; not of indexes


@dataclass(frozen=True, slots=True)
class Plan:
    """The turns that would go, the oldest first."""

    turn_ids: tuple[UUID, ...]
    bytes: int
    oldest: datetime | None
    newest: datetime | None


def plan(*, project: Project, kept: RetentionLimits, now: datetime) -> Plan:
    """Which turns would go. Turns that have not ended stay."""
    values: dict[str, Any] = {
        "project": project.pk,
        "unfinished": list(UNFINISHED),
        "since": first_id_at(now - kept.age) if kept.age is not None else UUID(int=0),
        "turns": _NO_LIMIT if kept.turns is None else kept.turns,
        "bytes": _NO_LIMIT if kept.bytes is None else kept.bytes,
    }
    with connection.cursor() as cursor:
        cursor.execute(OLDEST, values)
        rows = cursor.fetchall()
    ids = tuple(turn_id for turn_id, _, _ in rows)
    times = [at for _, at, _ in rows]
    return Plan(ids, int(sum(size for _, _, size in rows)), min(times, default=None), max(times, default=None))


def prune(*, project: Project, planned: Plan) -> Iterator[int]:
    """Erase them batch by batch, each in its own transaction; yields how many each has erased. What is begun again goes
    on where it was ended."""
    by = User(username=BY)
    for start in range(0, len(planned.turn_ids), BATCH):
        yield turns_erase(project=project, chosen=planned.turn_ids[start : start + BATCH], by=by)
