"""How many turns there are of each value of each filter, under all other filters."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from dashboard.agents.models import Project
from dashboard.timeline.counting import Counts, count, held_by_rollups
from dashboard.timeline.values import MOST_COUNTED, Facet, FacetValue
from dashboard.turns.cohorts import COLUMNS, HAS_COLUMNS
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.finding import find
from dashboard.turns.models import Cohort, Turn
from dashboard.turns.reach import reach_of

LABELS: Mapping[str, str] = {
    "stop_reason": "Agent stopped",
    "model_stop_reason": "Model stopped",
    "status": "Status",
    "error_type": "Failed by",
    "has": "Has",
    "agent": "Agent",
    "model": "Model",
    "provider": "Provider",
    "tag": "Tag",
}


def facets(*, project: Project, filters: TimelineFilters) -> tuple[Facet, ...]:
    """All facets, in the order of LABELS. The counts of each are under all other filters: they say what choosing
    another value would find."""
    cohorts = list(Cohort.objects.filter(project=project))
    counts = count(project=project, filters=filters)
    found = {name: _counted(name, project, filters, cohorts, counts) for name in LABELS if name != "tag"}
    found["tag"] = _tags(project, filters)
    return tuple(_facet(name, filters, *found[name]) for name in LABELS)


def _counted(
    name: str, project: Project, filters: TimelineFilters, cohorts: Iterable[Cohort], counts: Counts
) -> tuple[Counter[str], bool]:
    """Turns by value of this facet, and whether the counts are capped."""
    nothing: dict[str, Any] = {name: ()}
    others = replace(filters, **nothing)
    if others != filters and not held_by_rollups(filters):
        counts = count(project=project, filters=others)
    by_value: Counter[str] = Counter()
    for cohort in cohorts:
        turns = counts.by_cohort.get(cohort.id, 0)
        if turns and _lets_through(others, cohort):
            by_value.update(dict.fromkeys(_values(name, cohort), turns))
    return by_value, counts.capped


def _lets_through(filters: TimelineFilters, cohort: Cohort) -> bool:
    chosen = ((column, getattr(filters, name)) for name, column in COLUMNS.items())
    return all(not values or getattr(cohort, column) in values for column, values in chosen) and all(
        getattr(cohort, HAS_COLUMNS[name]) for name in filters.has
    )


def _values(name: str, cohort: Cohort) -> Iterator[str]:
    """What the cohort's turns have of a facet; what is not known yet is no value."""
    if name == "has":
        yield from (value for value, column in HAS_COLUMNS.items() if getattr(cohort, column))
    elif (value := getattr(cohort, COLUMNS[name])) is not None:
        yield value


def _tags(project: Project, filters: TimelineFilters) -> tuple[Counter[str], bool]:
    """Of the newest turns that have any."""
    others = replace(filters, tag=())
    reach, most = reach_of(others), MOST_COUNTED + 1
    found = find(project=project, filters=others, reach=reach, limit=most, tagged=True)
    ids = [turn_id for turn_id, _ in found[:MOST_COUNTED]]
    tags = Turn.objects.filter(id__in=ids).values_list("tags", flat=True)
    return Counter(tag for tags_of_one in tags for tag in tags_of_one), len(found) > MOST_COUNTED


def _facet(name: str, filters: TimelineFilters, counts: Counter[str], capped: bool) -> Facet:
    """Most frequent values first; chosen ones are there though nothing has them."""
    chosen = getattr(filters, name)
    found = sorted({*counts, *chosen}, key=lambda value: (-counts[value], value))
    values = (FacetValue(value, counts[value], value in chosen, capped) for value in found)
    return Facet(name, LABELS[name], tuple(values))
