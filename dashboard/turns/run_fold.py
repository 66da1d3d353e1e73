"""The timeline with one row per run: its newest matching turn."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from uuid import UUID

from django.db.models import QuerySet

from dashboard.agents.models import Project
from dashboard.platform.replica import read_connection
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.id_range import IdRange, after
from dashboard.turns.models import UNFINISHED, Turn
from dashboard.turns.models.turn import RunSums
from dashboard.turns.turn_query import find

MOST_AT_ONCE = 5_000  #: turns that are looked at in one go, where runs are long

SUMS = """
SELECT run, count(*), sum(input_tokens)::bigint, sum(output_tokens)::bigint, bool_or(tokens_estimated),
       min(created_at), max(coalesce(finished_at, created_at)), bool_or(status = ANY(%(unfinished)s))
  FROM (
    SELECT run_id AS run, input_tokens, output_tokens, tokens_estimated, created_at, finished_at, status
      FROM turns_turn WHERE run_id = ANY(%(runs)s)
    UNION ALL
    SELECT id, input_tokens, output_tokens, tokens_estimated, created_at, finished_at, status
      FROM turns_turn WHERE id = ANY(%(runs)s)
  ) turns GROUP BY run
"""


def sums_of(runs: Iterable[UUID]) -> dict[UUID, RunSums]:
    """By run, of those that there are."""
    with read_connection().cursor() as cursor:
        cursor.execute(SUMS, {"runs": list(runs), "unfinished": list(UNFINISHED)})
        return {row[0]: RunSums(*row) for row in cursor.fetchall()}


def find_folded(
    *, project: Project, filters: TimelineFilters, reach: IdRange, limit: int, matching: QuerySet[Turn]
) -> list[UUID]:
    """As `find`, but of each run its newest turn alone; what comes in between is passed over.

    `matching`: all turns that the filters let through, oldest first.
    """
    kept, step = list[UUID](), 2 * limit
    while len(kept) < limit:
        found = [turn_id for turn_id, _ in find(project=project, filters=filters, reach=reach, limit=step)]
        newest = _newest(matching, found)
        kept += [turn_id for turn_id in found if turn_id in newest]
        if len(found) < step:
            break
        reach = replace(reach, high=found[-1]) if reach.newest_first else replace(reach, low=after(found[-1]))
        step = min(2 * step, MOST_AT_ONCE)
    return kept[:limit]


def _newest(matching: QuerySet[Turn], turn_ids: Collection[UUID]) -> set[UUID]:
    """The newest turn that the filters let through of each run that one of these is of."""
    runs = {run_id or turn_id for turn_id, run_id in _runs(id__in=turn_ids)}
    members = {turn_id: run_id or turn_id for turn_id, run_id in _runs(run_id__in=runs)} | {run: run for run in runs}
    if len(members) == len(runs):
        return set(turn_ids)
    found = matching.filter(id__in=members).values_list("id", flat=True)
    return set({members[turn_id]: turn_id for turn_id in found}.values())  # oldest first, so the newest stays


def _runs(**asked: Collection[UUID]) -> list[tuple[UUID, UUID | None]]:
    return list(Turn.objects.filter(**asked).values_list("id", "run_id"))
