"""The product's own queries and writes, against the schema of one project on its node.

The tables of the coordinator are not there, so whatever needs one of them fails.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError
from django.http import QueryDict
from django.utils import timezone

from dashboard.agents.current_project import working_in
from dashboard.agents.models import Agent, Project
from dashboard.agents.policy_layers import effective_policy_for
from dashboard.agents.selectors import project_current
from dashboard.bench import generated_histories
from dashboard.bench.chaos.scratch import using_database
from dashboard.bench.shards.layout import COMMON, Cluster, schema_of
from dashboard.bench.shards.traffic import import_calls
from dashboard.bench.turn_mix import Mix
from dashboard.platform.ids import new_id
from dashboard.timeline import cohort_cleanup
from dashboard.timeline.facets import facets
from dashboard.timeline.histogram import histogram
from dashboard.timeline.node_cleanup import nodes_sweep
from dashboard.timeline.rollups import fold_all
from dashboard.timeline.row_context import with_row_context
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.models import Turn
from dashboard.turns.seals.seal_check import BATCH, Checked, batches, check_turns
from dashboard.turns.seals.sealed_turns import Sealed
from dashboard.turns.timeline_page import PAGE_LENGTH, timeline_page
from dashboard.turns.views import turn_context

WRITTEN: Final = 3  #: turns that each way of writing adds
OPENED: Final = 5  #: turns whose pages are opened


@contextmanager
def within(made: Cluster, project: Project) -> Iterator[None]:
    """Django's default database is the node of the project, where the schema of the project is in the search path."""
    before = settings.DATABASES["default"]
    path = f"-c search_path={schema_of(project.pk)},{COMMON}"
    options = {**before["OPTIONS"], "options": path}
    node = {**before, "NAME": made.placed[project.pk].database, "OPTIONS": options}
    with using_database(node), working_in(project):
        yield


def _timeline() -> None:
    for query in ("", "status=completed", "q=ba", "sort=-tokens"):
        page = timeline_page(QueryDict(query))
        with_row_context(page.items, page.filters.q)
    filters = TimelineFilters()
    facets(project=project_current(), filters=filters)
    histogram(project=project_current(), filters=filters)


def _turn_pages() -> None:
    for turn in Turn.objects.order_by("-id")[:OPENED]:
        turn_context(turn)


def _policies() -> None:
    for agent in Agent.objects.all():
        effective_policy_for(agent, {})


def _worker_writes() -> None:
    mix, before = Mix(7), Turn.objects.count()
    for _ in range(WRITTEN):
        turn = Turn(id=new_id())
        generated_histories.make(project=project_current(), mix=mix, turn=turn, at=timezone.now())
    _expect(Turn.objects.count() == before + WRITTEN, "not all turns of a worker were stored")
    _expect(not Turn.objects.filter(cohort=None).exists(), "a trigger did not find the cohort of a turn")


def _gateway_writes() -> None:
    before = Turn.objects.count()
    import_calls(Mix(timezone.now().microsecond), WRITTEN)
    _expect(Turn.objects.count() == before + WRITTEN, "not all turns of a log were stored")


def _counts() -> None:
    _expect(fold_all() > 0, "the triggers counted no turn")


def _timeline_again() -> None:
    """Turns that were written on the node are of cohorts that were numbered there."""
    _timeline()
    filters, project = TimelineFilters(status=("completed",), provider=("openai",)), project_current()
    wanted = Turn.objects.filter(status="completed", provider="openai").order_by("-id")
    listed = timeline_page(QueryDict("status=completed&provider=openai")).items
    _expect([turn.id for turn in listed] == [turn.id for turn in wanted[:PAGE_LENGTH]], "the filters find other turns")
    counted = {each.name: each for each in facets(project=project, filters=filters)}["status"]
    counts = {value.value: value.count for value in counted.values}
    _expect(counts.get("completed") == wanted.count(), f"a facet counts {counts}, and {wanted.count()} are completed")
    bars = histogram(project=project, filters=filters).buckets
    _expect(sum(sum(bar.counts.values()) for bar in bars) == wanted.count(), "the chart has other turns")


def _cleanup() -> None:
    nodes_sweep()
    cohort_cleanup.sweep()


#: By name, in the order in which they are asked.
QUERIES: Final[Mapping[str, Callable[[], None]]] = {
    "the timeline with facets and chart": _timeline,
    "pages of turns": _turn_pages,
    "the policy of an agent": _policies,
    "writes of a worker": _worker_writes,
    "writes as the gateway's": _gateway_writes,
    "counts of the timeline": _counts,
    "the timeline of the turns just written": _timeline_again,
    "pages of the turns just written": _turn_pages,
    "clean-up": _cleanup,
}


class QueryFault(Exception):
    """A query gave something else than it should; its words say what."""


def _expect(holds: bool, words: str) -> None:
    if not holds:
        raise QueryFault(words)


def query_faults(made: Cluster, project: Project) -> Iterator[str]:
    """What of the product does not work in the schema of the project alone."""
    with within(made, project):
        for name, query in QUERIES.items():
            try:
                query()
            except (DatabaseError, QueryFault) as error:
                yield f"{project}: {name}: {str(error).strip().splitlines()[0]}"


def verify(made: Cluster, project: Project, sealed: Sealed, bared: frozenset[UUID]) -> Checked:
    """Verify every turn of the project that has begun, on its node. `sealed`: what the seals say, which are on the
    coordinator."""
    checked, begun = Checked(), Turn.objects.filter(last_seq__gt=0).order_by("id").values_list("id", flat=True)
    with within(made, project):
        for ids in batches(begun.iterator(), BATCH):
            check_turns(ids, checked, sealed, bared)
    return checked
