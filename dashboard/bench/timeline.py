"""`manage.py bench timeline`: pages of the timeline that is stored here, each case beside its own SQL, bare.

`selector` is what a page or an API answer waits for; `SQL` the same statements by a bare cursor, in the same run. Every
plan is looked at: what it scans is printed, and a scan of the whole table ends the run.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from django.db import connection, transaction
from django.http import QueryDict

from dashboard.agents.models import Project
from dashboard.agents.selectors import project_default
from dashboard.bench import write_rates
from dashboard.bench.turn_mix import RARE_WORD, vocabulary
from dashboard.platform.ids import first_id_at
from dashboard.timeline.facets import facets
from dashboard.timeline.histogram import histogram
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.models import Turn
from dashboard.turns.selectors import Cursor, timeline

RUNS = 20
LIMIT = 50
BOUND_MS = 100.0

WORDS = vocabulary()
#: Every hard case by name: the filters, as an address has them. `{…}` are words and moments of the made turns.
CASES: Mapping[str, str] = {
    "no filter": "",
    "a value of most turns": "status=completed",
    "a rare value": "status=held",
    "a value of old turns only": "model=gpt-4o",
    "two common values, never together": "status=completed&stop_reason=retry_limit",
    "three values, each common, rarely together": "provider=openai&status=partial&model_stop_reason=unknown",
    "three common values, never together": "status=partial&model_stop_reason=end_turn&agent=front-desk",
    "many values of each facet": "status=partial&status=failed&provider=gemini&provider=cohere&agent=coder&agent=tutor",
    "has an envelope retry": "has=envelope_retry",
    "has two things that never come together": "has=envelope_retry&has=continuation",
    "a limit that few turns ran out of": "resource=max_steps",
    "a limit, and a terminal reason of another": "resource=max_continuations&terminal_reason=budget_exhausted",
    "a failure of one hour": "error_type=model&since={middle}&until={hour}",
    "an empty stretch of time": "model=gpt-4o&since={middle}",
    "a word of most turns": "q={common}",
    "a word of one turn in ten": "q={tenth}",
    "a word of one turn in a hundred": "q={hundredth}",
    "a word of one turn in a thousand": "q={thousandth}",
    "a word of ten turns": "q={rare}",
    "a word of none": "q=zzyzx",
    "a phrase of common words": "q=%22{common}+{common2}%22",
    "without a word": "q=-{common}",
    "a common word, a rare value": "q={common}&status=held",
    "a common word, a limit few turns ran out of": "q={common}&resource=max_steps",
    "a common word, a common value, rarely together": "q={common}&model_stop_reason=safety_blocked",
    "a word of one in ten, in old turns only": "q={tenth}&model=gpt-4o",
    "a word of one in a hundred, and three facets": "q={hundredth}&status=partial&provider=openai&has=continuation",
    "many tokens (one in a thousand)": "tokens_from=20000",
    "tokens of every third turn": "tokens_from=300&tokens_to=600",
    "many tokens in no time": "tokens_from=2000&duration_to=1000",
    "a long wait, and failed": "duration_from=6000&status=failed",
    "tokens, in old turns only": "tokens_from=300&tokens_to=600&model=gpt-4o",
    "most tokens in no time, and completed": "tokens_from=2000&duration_to=4000&status=completed",
    "a word, and many tokens": "q={tenth}&tokens_from=10000",
    "a word of most turns, in no time": "q={common}&duration_to=200",
    "without a value of most turns": "not_status=completed",
    "without two values, and a third": "not_status=completed&not_status=partial&provider=openai",
    "without a tag": "not_tag=batch-7",
    "without a sign of a cut": "not_lint=output_at_cap",
    "oldest first": "sort=-age",
    "oldest first, a rare value": "sort=-age&status=held",
    "oldest first, a value of most turns": "sort=-age&status=completed",
    "oldest first, values never together": "sort=-age&status=completed&stop_reason=retry_limit",
    "oldest first, an envelope retry": "sort=-age&has=envelope_retry",
    "oldest first, a word of ten turns": "sort=-age&q={rare}",
    "oldest first, a common word and a rare value": "sort=-age&q={common}&status=held",
    "oldest first, many tokens": "sort=-age&tokens_from=20000",
    "oldest first, a rare tag": "sort=-age&tag=golden",
    "oldest first, of each run its newest": "sort=-age&fold=runs",
    "by prompt": "sort=prompt",
    "by prompt, a word of one turn in ten": "sort=-prompt&q={tenth}",
    "by tokens": "sort=-tokens",
    "by how they ended, of few": "sort=ended&status=held",
    "by time taken, a word of one turn in ten": "sort=-took&q={tenth}",
    "a tag of one turn in ten": "tag=batch-7",
    "a rare tag": "tag=golden",
    "a rare tag, a rare value": "tag=golden&has=envelope_retry&agent=invoices",
    "a tag, a word, a facet, a range": "tag=batch-7&q={tenth}&status=partial&duration_from=2000",
}
#: Cases that are also asked from the middle of the time on, towards older turns and towards newer ones.
DEEP = (
    "no filter", "a rare value", "has an envelope retry", "three values, each common, rarely together",
    "a word of one turn in a thousand", "many tokens (one in a thousand)", "a tag of one turn in ten", "oldest first",
)  # fmt: skip


class WholeTableError(Exception):
    """A page was found by reading the whole table: some index is missing, or the planner passed it by."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Milliseconds, of RUNS runs. Where others share the machine, the fastest says most of the work."""

    fastest: float
    p50: float
    p95: float

    def __str__(self) -> str:
        return f"{self.fastest:7.1f} {self.p50:7.1f} {self.p95:7.1f}"


def lines() -> Iterator[str]:
    """The figures of everything, line by line."""
    project = project_default()
    turns = Turn.objects.filter(project=project)
    first, last = turns.order_by("id").first(), turns.order_by("-id").first()
    if first is None or last is None:
        yield "There are no turns here; `manage.py bench load` generates some."
        return
    middle = first.created_at + (last.created_at - first.created_at) / 2
    yield f"{turns.count():,} turns; milliseconds, {RUNS} runs each"
    yield f"{'page of ' + str(LIMIT):<56} {'selector: fastest, p50, p95':>27} {'SQL alone':>23}   found  scans"
    older, newer = (str(Cursor(direction, first_id_at(middle))) for direction in (False, True))
    worst = 0.0
    for name, query in CASES.items():
        filters = filters_of(query, middle)
        cursors = {"": None, **({" (older, deep)": older, " (newer, deep)": newer} if name in DEEP else {})}
        for suffix, cursor in cursors.items():
            spread, line = page_line(name + suffix, project, filters, cursor)
            worst = max(worst, spread.p95)
            yield line
    yield f"worst p95 {worst:.1f} ms; wanted: under {BOUND_MS:.0f}"
    yield from counted_lines(project, middle)
    yield from write_rates.lines()


def filters_of(query: str, middle: Any) -> TimelineFilters:
    ranks = {"common": 0, "common2": 1, "tenth": 60, "hundredth": 700, "thousandth": 8_000}
    words = {name: WORDS[rank] for name, rank in ranks.items()}
    moments = {"middle": f"{middle:%Y-%m-%dT%H:%M:%SZ}", "hour": f"{middle + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}"}
    filters, errors = TimelineFilters.parse(QueryDict(query.format(**words, **moments, rare=RARE_WORD)))
    assert not errors, errors
    return filters


def page_line(name: str, project: Project, filters: TimelineFilters, cursor: str | None) -> tuple[Spread, str]:
    def page() -> int:
        return len(timeline(project=project, filters=filters, cursor=cursor, limit=LIMIT).items)

    statements = statements_of(page)
    scans = sorted(set(scans_of(statements)))
    whole = [scan for scan in scans if scan.startswith("Seq Scan on turns_turn")]
    if whole:
        raise WholeTableError(f"{name}: {', '.join(whole)}")
    measured, bare = spread_of(page), spread_of(lambda: run(statements))
    return measured, f"{name:<56} {measured}    {bare}  {page():>5}  {', '.join(scans)}"


def counted_lines(project: Project, middle: Any) -> Iterator[str]:
    """Facets and histograms, which come after the page as fragments of their own."""
    yield f"{'facets, histogram':<56} {'fastest, p50, p95':>23}"
    asked = {
        "no filter": "",
        "two facets": "status=partial&provider=openai",
        "half of the time": "since={middle}",
        "one hour": "since={middle}&until={hour}",
        "a word of most turns": "q={common}",
        "a word of one turn in a hundred": "q={hundredth}",
        "a range": "tokens_from=300&tokens_to=600",
    }
    for name, query in asked.items():
        filters = filters_of(query, middle)
        for what, read in (("facets", facets), ("histogram", histogram)):
            spread = spread_of(partial(read, project=project, filters=filters))
            yield f"{f'{what}, {name}':<56} {spread}"


def spread_of(work: Callable[[], object]) -> Spread:
    work()
    times = sorted(_timed(work) for _ in range(RUNS))
    return Spread(times[0], times[len(times) // 2], times[int(len(times) * 0.95) - 1])


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def statements_of(work: Callable[[], object]) -> list[str]:
    """The SQL that `work` runs, with its values in place."""
    ran: list[str] = []

    def keep(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        ran.append(context["cursor"].mogrify(sql, params) if params else sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(keep):
        work()
    return ran


def run(statements: list[str]) -> None:
    with connection.cursor() as cursor:
        for sql in statements:
            cursor.cursor.execute(sql)
            if cursor.cursor.description:
                cursor.cursor.fetchall()


def scans_of(statements: list[str]) -> Iterator[str]:
    """Which scans the plans have, such as `Index Only Scan turn_walk`. What is no query is run: it sets the planner."""
    with transaction.atomic(), connection.cursor() as cursor:
        for sql in statements:
            query = sql.lstrip().startswith(("SELECT", "WITH"))
            cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}" if query else sql)
            if query:
                (plan,) = cursor.fetchone() or ("[]",)
                yield from _scans((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"])


def _scans(node: Mapping[str, Any]) -> Iterator[str]:
    if "Index Name" in node:
        yield f"{node['Node Type']} {node['Index Name'].removeprefix('turns_')}"
    elif node["Node Type"] == "Seq Scan":
        yield f"Seq Scan on {node['Relation Name']}"
    for child in node.get("Plans", ()):
        yield from _scans(child)
