"""Counts of turns by cohort and time, exact at any moment: what is folded, plus the changes that are not yet.

Turns tell their changes by triggers (migration 0001), append-only; `fold`, on a timer, sums them up into rollups of a
minute, an hour, six hours, a day and forever. A count over any range takes the longest pieces that fit, shorter ones
towards both ends, and turns themselves in the minutes it begins and ends within.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db import connection, transaction

from dashboard.agents.models import Project
from dashboard.platform.ids import first_id_at
from dashboard.turns.filters import EPOCH

LEVELS = (86_400, 21_600, 3_600, 60)  #: seconds of a rollup, longest first; each is some of the next
EVER = 0  #: the level of one rollup for all time
FOLD_SECONDS = 5.0  #: between two folds
BATCH = 20_000  #: changes folded at once
#: Only one folds at a time; the number is arbitrary and only ours.
LOCK = 7_260_431_120

#: Sums that come to nothing make no rollup.
TAKE = """
CREATE TEMPORARY TABLE timeline_folding ON COMMIT DROP AS
WITH taken AS (
    DELETE FROM timeline_change WHERE id IN (SELECT id FROM timeline_change ORDER BY id LIMIT %(batch)s)
    RETURNING project_id, minute, cohort, count
)
SELECT project_id, seconds, cohort, sum(count) AS count, sum(taken) AS taken,
       to_timestamp(CASE seconds WHEN 0 THEN 0 ELSE floor(extract(epoch FROM minute) / seconds) * seconds END) AS start
  FROM (SELECT project_id, minute, cohort, sum(count) AS count, count(*) AS taken FROM taken GROUP BY 1, 2, 3) minutes,
       unnest(%(levels)s::integer[]) seconds
 GROUP BY project_id, seconds, cohort, start
"""
FOLD = """
INSERT INTO timeline_rollup AS rollup (project_id, seconds, start, cohort, count)
SELECT project_id, seconds, start, cohort, count FROM timeline_folding WHERE count <> 0
ON CONFLICT (project_id, seconds, start, cohort) DO UPDATE SET count = rollup.count + excluded.count
"""
SWEEP = """
DELETE FROM timeline_rollup rollup USING timeline_folding folding
 WHERE rollup.count = 0 AND rollup.project_id = folding.project_id AND rollup.seconds = folding.seconds
   AND rollup.start = folding.start AND rollup.cohort = folding.cohort
"""
TAKEN = "SELECT coalesce(sum(taken), 0)::bigint FROM timeline_folding WHERE seconds = 0"

#: All counts of a range, in rows that have to be summed. `pieces` are of rollups, `edges` of turns themselves.
PIECE = """
SELECT start, cohort, count FROM timeline_rollup
 WHERE project_id = %(project)s AND seconds = {seconds} AND start >= '{start}' AND start < '{end}'
"""
CHANGES = """
SELECT minute AS start, cohort, count FROM timeline_change
 WHERE project_id = %(project)s AND minute >= '{start}' AND minute < '{end}'
"""
EDGE = """
SELECT whystop_minute(id) AS start, cohort, 1 AS count FROM turns_turn
 WHERE project_id = %(project)s AND id >= '{low}' AND id < '{high}'
"""
COUNTS = """
SELECT cohort, sum(count)::bigint FROM ({counted}) counted
 WHERE %(cohorts)s::bigint[] IS NULL OR cohort = ANY(%(cohorts)s)
 GROUP BY cohort HAVING sum(count) <> 0 ORDER BY 2 DESC, 1 DESC LIMIT %(most)s
"""
#: Later than any rollup (`whystop_minute`).
END = datetime(9001, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Span:
    """From `start` up to but without `end`, both whole multiples of `seconds` since the epoch."""

    seconds: int
    start: datetime
    end: datetime


def fold() -> int:
    """Folds a batch of changes into the rollups; returns how many. 0 too where another does it just now."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [LOCK])
        if cursor.fetchone() != (True,):
            return 0
        cursor.execute(TAKE, {"batch": BATCH, "levels": [EVER, *LEVELS]})
        cursor.execute(FOLD)
        cursor.execute(SWEEP)
        cursor.execute(TAKEN)
        (taken,) = cursor.fetchone() or (0,)
        cursor.execute("DROP TABLE timeline_folding")
    return int(taken)


def fold_all() -> int:
    """Folds until there is nothing left to fold; returns how many changes that were."""
    folded = 0
    while batch := fold():
        folded += batch
    return folded


def counts(
    *,
    project: Project,
    since: datetime | None = None,
    until: datetime | None = None,
    most: int | None = None,
    cohorts: list[int] | None = None,
) -> dict[int, int]:
    """How many turns of each cohort were made in this time, the largest first; cohorts without any are left out.
    `most`: of so many cohorts, the largest; None: of all. `cohorts`: of these alone."""
    with connection.cursor() as cursor:
        statement = COUNTS.format(counted=counted(since, until))
        cursor.execute(statement, {"project": project.pk, "most": most, "cohorts": cohorts})
        return dict(cursor.fetchall())


def counted(since: datetime | None, until: datetime | None, *, longest: int | None = None) -> str:
    """A query for the rows that a count of this time sums up, (start, cohort, count). No piece is longer than `longest`
    seconds; None: whatever is shortest, also one piece for all time."""
    if since is None and until is None and longest is None:
        ever = PIECE.format(seconds=EVER, start=EPOCH, end=END)
        return f"{ever} UNION ALL {CHANGES.format(start=EPOCH, end=END)}"
    since, until = since or EPOCH, min(until or END, END)
    first, last = _ceiling(since, 60), _floor(until, 60)
    if first >= last:
        return _edge(since, until)
    parts = [
        PIECE.format(seconds=span.seconds, start=span.start, end=span.end)
        for span in spans(first, last, longest or LEVELS[0])
    ]
    edges = [_edge(low, high) for low, high in ((since, first), (last, until)) if low < high]
    return " UNION ALL ".join([*parts, CHANGES.format(start=first, end=last), *edges])


def spans(start: datetime, end: datetime, longest: int = LEVELS[0]) -> Iterator[Span]:
    """The time from `start` to `end`, both whole minutes, in as few and long pieces as there are rollups for."""
    fitting = (level for level in LEVELS if level <= longest and _ceiling(start, level) < _floor(end, level))
    level = next(fitting, LEVELS[-1])
    first, last = _ceiling(start, level), _floor(end, level)
    if start < first:
        yield from spans(start, first, longest)
    if first < last:
        yield Span(level, first, last)
    if last < end:
        yield from spans(last, end, longest)


def _edge(low: datetime, high: datetime) -> str:
    return EDGE.format(low=first_id_at(low), high=first_id_at(high))


def _floor(moment: datetime, seconds: int) -> datetime:
    return moment - (moment - EPOCH) % timedelta(seconds=seconds)


def _ceiling(moment: datetime, seconds: int) -> datetime:
    return moment + (EPOCH - moment) % timedelta(seconds=seconds)
