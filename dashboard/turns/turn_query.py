"""Finds turns by id, newest or oldest first, in bounded time whatever the filters are.

What makes this hard is that no index knows in advance which filters come together. Three ways, each bounded:

walk     the timeline itself, a few thousand turns from where the reader is, by an index that also holds each turn's
         cohort, tokens and duration. Finds whatever is not rare there.
cohorts  the turns of each cohort that matches, by an index that has them in order. Two filters that are common, each,
         and never come together have no cohort in common: nothing is read at all.
search   for words and tags: windows of time, each several times longer than the one before, and in each one query of
         the text index, which knows facets, tags and times as terms beside the words (`search_terms`).

A range is a condition on the walk; where that finds too little, Postgres' own statistics choose the shortest index.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.db import transaction

from dashboard.agents.models import Project
from dashboard.platform.replica import read_connection
from dashboard.platform.statement_timeout import SEARCH_SECONDS
from dashboard.turns import cohorts
from dashboard.turns.filters import RANGES, TimelineFilters
from dashboard.turns.id_range import FIRST, IdRange, after, growth_after, windows
from dashboard.turns.indexes import TOOK_SQL, WORDS_SQL
from dashboard.turns.search_terms import span_query, text_query
from dashboard.turns.search_words import Search, read

WALKED = 5_000  #: turns; a few milliseconds
WINDOW = 2_000  #: turns in the first window of a search
COMMON_TURNS = 20_000  #: from so many on, a range is common

WALK = """
SELECT id, cohort FROM (
    SELECT id, cohort, tokens, duration_ms, held_ms FROM turns_turn
     WHERE project_id = %(project)s AND id >= %(low)s AND id < %(high)s ORDER BY id {order} LIMIT %(walked)s
) walked WHERE {narrow} LIMIT %(limit)s
"""
COHORTS = """
SELECT found.id, found.cohort FROM unnest(%(cohorts)s::bigint[]) wanted (cohort) CROSS JOIN LATERAL (
    SELECT id, cohort FROM turns_turn
     WHERE cohort = wanted.cohort AND id >= %(low)s AND id < %(high)s AND {each} ORDER BY id {order} LIMIT %(limit)s
) found ORDER BY id {order} LIMIT %(limit)s
"""
#: Materialized, so that the order does not tempt the planner to walk: the walk has been tried.
RANGE = """
WITH found AS MATERIALIZED (
    SELECT id, cohort FROM turns_turn
     WHERE project_id = %(project)s AND id >= %(low)s AND id < %(high)s AND {narrow}
) SELECT id, cohort FROM found ORDER BY id {order} LIMIT %(limit)s
"""
#: Whether a range is so common that its cohorts are the shorter way.
COMMON = """
SELECT count(*) = %(common)s FROM (
    SELECT FROM turns_turn WHERE project_id = %(project)s AND {ranged} LIMIT %(common)s) ranged
"""
#: By an index of those turns alone that have a tag, or a sign of a cut, or are of one run.
RARE = """
SELECT id, cohort FROM turns_turn
 WHERE project_id = %(project)s AND id >= %(low)s AND id < %(high)s AND {narrow} ORDER BY id {order} LIMIT %(limit)s
"""
#: Materialized, so that the text index alone answers; a condition on the id would tempt the planner to walk.
SEARCH = """
WITH found AS MATERIALIZED (
    SELECT id, project_id, cohort, tokens, duration_ms, held_ms, tags, lint FROM turns_turn WHERE {search} @@ ({query})
) SELECT id, cohort FROM found
   WHERE project_id = %(project)s AND id >= %(low)s AND id < %(high)s AND {narrow} ORDER BY id {order} LIMIT %(limit)s
"""
#: As SEARCH, for phrases: the texts are read of one turn after another, in their order, until enough are found. Without
#: its offset the planner would read all of them at once.
PHRASES = """
WITH found AS MATERIALIZED (
    SELECT id, project_id, cohort, tokens, duration_ms, held_ms, tags, lint FROM turns_turn WHERE {search} @@ ({query})
), candidates AS MATERIALIZED (
    SELECT id, cohort FROM found
     WHERE project_id = %(project)s AND id >= %(low)s AND id < %(high)s AND {narrow} ORDER BY id {order}
) SELECT id, cohort FROM candidates CROSS JOIN LATERAL (
    SELECT FROM turns_turn WHERE turns_turn.id = candidates.id AND ({texts}) OFFSET 0
) said LIMIT %(limit)s
"""
#: Of turns that were held, how long the longest lasted of those that took no longer than this themselves.
LONGEST_HELD = f"""
SELECT max(duration_ms) FROM turns_turn WHERE project_id = %(project)s AND id >= %(low)s AND id < %(high)s
   AND held_ms > 0 AND {TOOK_SQL} <= %(most)s
"""  # noqa: S608 - made of a constant
AT = "SELECT id FROM turns_turn WHERE project_id = %(project)s AND id >= %(low)s AND id < %(high)s ORDER BY id {order}"
#: Where a search begins, where its first window ends, and where there is nothing more.
MARKS = f"""
SELECT ({AT} LIMIT 1), ({AT} LIMIT 1 OFFSET %(window)s), ({AT.format(order="{reverse}")} LIMIT 1)
"""

#: What the planner cannot know: these reads are short, and of indexes that are in memory. Reading the whole table, or
#: compiling, never pays; nor does a bitmap, but for the text index, which knows no other way.
SHORT_READS: Mapping[str, str] = {
    "enable_seqscan": "off",
    "jit": "off",
    "random_page_cost": "1.1",
    "work_mem": "'32MB'",  # a bitmap without room for each turn keeps pages, and all words of their turns are read
}

#: What few turns have, and the condition that an index of those holds.
HAVING: Mapping[str, str] = {"tags": "tagged", "lint": "linted"}

Found = tuple[UUID, int]  #: a turn's id and its cohort


def find(*, project: Project, filters: TimelineFilters, reach: IdRange, limit: int, having: str = "") -> list[Found]:
    """The first `limit` turns in the order of `reach` that the filters let through. `having` one of HAVING: of those
    with anything there."""
    wanted = cohorts.matching(project=project, filters=filters)
    if wanted == []:
        return []
    searched = bool(filters.q or filters.tag or filters.not_tag or filters.not_lint)
    with _short_reads(searched):
        rare = {"linted": True, "codes": list(filters.lint)} if filters.lint else {}
        rare |= {HAVING[having]: True} if having else {}
        rare |= {"run": filters.run} if filters.run else {}
        rare |= {"not_tags": list(filters.not_tag)} if filters.not_tag else {}
        rare |= {"not_codes": list(filters.not_lint)} if filters.not_lint else {}
        rare |= {"requested_again": filters.requested_again} if filters.requested_again else {}
        values = {"project": project.pk, "cohorts": wanted, **_bounds(filters), **rare}
        asked = _implied(_with_held(filters, project, reach), wanted) if searched else filters
        finding = _Finding(asked, reach, limit, values)
        return finding.by_search() if searched else finding.by_index()


def _implied(filters: TimelineFilters, wanted: list[int] | None) -> TimelineFilters:
    """The text index knows no terminal reasons and resources as terms, but why the agent stopped, which they imply."""
    if filters.stop_reason or not (filters.terminal_reason or filters.resource):
        return filters
    return replace(filters, stop_reason=cohorts.stop_reasons(wanted))


def _with_held(filters: TimelineFilters, project: Project, reach: IdRange) -> TimelineFilters:
    """The text index knows from when to when a turn lasted: one that was held may have taken less."""
    if filters.duration_to is None:
        return filters
    values = {"project": project.pk, "most": filters.duration_to, "low": reach.low, "high": reach.high}
    with read_connection().cursor() as cursor:
        cursor.execute(LONGEST_HELD, values)
        (longest,) = cursor.fetchone() or (None,)
    return replace(filters, duration_to=max(filters.duration_to, longest or 0))


@dataclass(frozen=True, slots=True)
class _Finding:
    filters: TimelineFilters
    reach: IdRange
    limit: int
    values: dict[str, Any]

    def by_index(self) -> list[Found]:
        if not self.values.keys().isdisjoint({*HAVING.values(), "run"}):
            return self._rows(RARE, self.reach, self.limit)
        found = self._rows(WALK, self.reach, self.limit)
        if len(found) == self.limit or self._conditions(*CONDITIONS) == "TRUE":
            return found
        return self._rows(COHORTS if self._few_cohorts() else RANGE, self.reach, self.limit)

    def _few_cohorts(self) -> bool:
        if self.values["cohorts"] is None or not _bounds(self.filters):
            return self.values["cohorts"] is not None
        ((common,),) = self._run(COMMON, self.reach, common=COMMON_TURNS)
        return bool(common)

    def by_search(self) -> list[Found]:
        if self.filters.q and not self._search.alternatives:
            return []  # nothing but punctuation asks for no word
        found: list[Found] = []
        counts = [0]  #: of each window

        def growth() -> float:
            return growth_after(found=counts[-1], wanted=self.limit - len(found))

        for window in self._windows(growth):
            rows = self._rows(PHRASES if self._search.checked else SEARCH, window, self.limit - len(found))
            found += rows
            counts.append(len(rows))
            if len(found) == self.limit:
                break
        return found

    def _windows(self, growth: Callable[[], float]) -> Iterator[IdRange]:
        """From the first turn to the last, or to the last of a cohort that matches."""
        reach = self.reach if self.values["cohorts"] is None else self._with_cohorts()
        ((begin, marker, end),) = self._run(MARKS, reach, window=WINDOW)
        return windows(reach, begin, marker, end, growth) if begin else iter(())

    def _with_cohorts(self) -> IdRange:
        """The part of the reach that has turns of these cohorts."""
        turned = replace(self.reach, newest_first=not self.reach.newest_first)
        ends = [turn_id for reach in (self.reach, turned) for turn_id, _ in self._rows(COHORTS, reach, 1)]
        return replace(self.reach, low=min(ends), high=after(max(ends))) if ends else replace(self.reach, high=FIRST)

    def _rows(self, sql: str, reach: IdRange, limit: int) -> list[Found]:
        return self._run(sql, reach, limit=limit, walked=max(WALKED, limit), **self._query(reach))

    def _run(self, sql: str, reach: IdRange, **values: Any) -> list[Any]:
        narrow, ranged = self._conditions(*CONDITIONS), self._conditions(*BOUNDS)
        each = self._conditions(*BOUNDS, "requested_again")
        places = {"order": reach.order, "reverse": reach.reverse, "narrow": narrow, "ranged": ranged, "each": each}
        texts, patterns = self._search.texts_sql()
        statement = sql.format(**places, search=WORDS_SQL, query="%(terms)s::tsquery", texts=texts)
        with read_connection().cursor() as cursor:
            cursor.execute(statement, {**self.values, **values, **patterns, "low": reach.low, "high": reach.high})
            rows: list[Any] = cursor.fetchall()
            return rows

    def _conditions(self, *names: str) -> str:
        """Those that have a value, of conditions that the indexes' own columns answer."""
        return " AND ".join(CONDITIONS[name] for name in names if self.values.get(name) is not None) or "TRUE"

    @property
    def _search(self) -> Search:
        return read(self.filters.q)

    def _query(self, reach: IdRange) -> dict[str, str]:
        words = self._search.indexed
        parts = (f"({words})" if words else "", text_query(self.filters), span_query(reach.low, reach.last))
        return {"terms": " & ".join(part for part in parts if part)}


#: Whether the model truncated any answer of a turn. The inner select leaves `id` to the turn; the offset keeps the
#: planner from reading all attempts at once: only turns that all other conditions let through are looked at.
TRUNCATED = """EXISTS (
    SELECT FROM (SELECT turn_id, stop_reason, tool_calls FROM turns_attempt) said
     WHERE said.turn_id = id AND (said.stop_reason = 'max_tokens' OR said.tool_calls @> '[{"issue": "truncated"}]')
    OFFSET 0)"""
#: What ranges are of.
RANGED: Mapping[str, str] = {"tokens": "tokens", "duration_ms": TOOK_SQL}
#: By the value they need; a value that is None makes no condition.
CONDITIONS = {
    "cohorts": "cohort = ANY(%(cohorts)s)",
    "tagged": "NOT (tags = '{}')",
    "linted": "NOT (lint = '[]')",
    "run": "id = ANY(ARRAY(SELECT id FROM turns_turn WHERE run_id = %(run)s) || %(run)s::uuid)",
    "requested_again": TRUNCATED,
    "codes": "lint ?| %(codes)s::text[]",
    "not_tags": "NOT (tags && %(not_tags)s::text[])",
    "not_codes": "NOT (lint ?| %(not_codes)s::text[])",
    **{low: f"{RANGED[column]} >= %({low})s" for column, (low, _) in RANGES.items()},
    **{high: f"{RANGED[column]} <= %({high})s" for column, (_, high) in RANGES.items()},
}
BOUNDS = tuple(name for pair in RANGES.values() for name in pair)


def _bounds(filters: TimelineFilters) -> dict[str, int]:
    return {name: value for name in BOUNDS if (value := getattr(filters, name)) is not None}


@contextmanager
def _short_reads(searched: bool) -> Iterator[None]:
    connection = read_connection()
    within = connection.in_atomic_block  # a transaction of its own ends the settings by itself
    with transaction.atomic(using=connection.alias, savepoint=False), connection.cursor() as cursor:
        settings = {**SHORT_READS, "enable_bitmapscan": "on" if searched else "off"}
        settings |= {} if within else {"statement_timeout": f"{SEARCH_SECONDS * 1000}"}
        cursor.execute("; ".join(f"SET LOCAL {name} = {value}" for name, value in settings.items()))
        yield
        if within:
            cursor.execute("; ".join(f"SET LOCAL {name} TO DEFAULT" for name in settings))
