"""How many turns there are of each value of each filter, under all other filters."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from agentcore.policy import LIMIT_NAMES
from dashboard.agents.models import Project
from dashboard.agents.samples import agents_on_simulator
from dashboard.platform.replica import read_connection
from dashboard.timeline.turn_counts import Counts, TurnCounts, held_by_rollups
from dashboard.timeline.values import MOST_COUNTED, Facet, FacetValue
from dashboard.turns.cohorts import COLUMNS, HAS_COLUMNS
from dashboard.turns.error_types import error_words
from dashboard.turns.filter_names import LABELS
from dashboard.turns.filters import NOT, TimelineFilters
from dashboard.turns.id_range import id_range_of
from dashboard.turns.models import Cohort
from dashboard.turns.provider_words import STORED, is_of_simulator, name_of, words_of
from dashboard.turns.reason_looks import reason_label
from dashboard.turns.turn_query import find

NAMES = (*COLUMNS, "has")
#: How values are called that are not shown as they are stored.
NAMED: Mapping[str, Callable[[str], str]] = {
    **dict.fromkeys(("lint", "stop_reason", "model_stop_reason", "terminal_reason", "status"), reason_label),
    "has": lambda word: word.replace("_", " "),
    "error_type": error_words,
    "resource": lambda key: LIMIT_NAMES.get(key, key),
    "provider": name_of,
}
#: Filters of what few turns have, and the column with the list of it.
RARE: Mapping[str, str] = {"lint": "lint", "tag": "tags"}

#: Each value of such a column, and how many of these turns have it.
VALUES: Mapping[str, str] = {
    "lint": """
        SELECT value, count(*) FROM turns_turn CROSS JOIN LATERAL jsonb_array_elements_text
               (CASE jsonb_typeof(lint) WHEN 'array' THEN lint ELSE '[]' END) value
         WHERE id = ANY(%s) GROUP BY 1""",
    "tags": """
        SELECT value, count(*) FROM turns_turn CROSS JOIN LATERAL unnest(tags) value
         WHERE id = ANY(%s) GROUP BY 1""",
}


class Cohorts(dict[int, Sequence[tuple[str, ...]]]):
    """By cohort: its values of each of NAMES; what is not known is none."""

    def __init__(self, on_simulator: Collection[str]) -> None:
        super().__init__()
        self.on_simulator = on_simulator

    def learn(self, counted: Mapping[int, int]) -> None:
        """Read the cohorts that were counted and are not known yet. Others may begin, and be counted, at any moment."""
        columns = (*COLUMNS.values(), *HAS_COLUMNS.values())
        rows = Cohort.objects.filter(id__in=[*(counted.keys() - self.keys())]).values_list("id", *columns)
        self.update({cohort: self._values(values) for cohort, *values in rows})

    def _values(self, columns: Sequence[Any]) -> Sequence[tuple[str, ...]]:
        words, flags = dict(zip(COLUMNS, columns, strict=False)), columns[len(COLUMNS) :]
        found: dict[str, tuple[str, ...]] = {name: () if word is None else (word,) for name, word in words.items()}
        answered = words["model_stop_reason"] is not None
        simulated = is_of_simulator(words["model"], words["agent"], answered=answered, on_simulator=self.on_simulator)
        found["provider"] = words_of(words["provider"], simulated=simulated)
        has = tuple(name for name, flag in zip(HAS_COLUMNS, flags, strict=True) if flag)
        return [*found.values(), has]


def value_words(name: str, value: str) -> str:
    """How pages call a value of the facet `name`."""
    return NAMED[name](value) if name in NAMED else value


def facets(*, project: Project, filters: TimelineFilters) -> tuple[Facet, ...]:
    """All facets, in the order of LABELS. The counts of each are under all other filters: they say what choosing
    another value would find."""
    cohorts, counting = Cohorts(agents_on_simulator(project=project)), TurnCounts(project)
    found = {name: _counted(name, counting, filters, cohorts) for name in NAMES}
    found |= {name: _rare(name, column, counting, filters) for name, column in RARE.items()}
    return tuple(_facet(name, filters, *found[name]) for name in LABELS)


def _counted(name: str, counting: TurnCounts, filters: TimelineFilters, cohorts: Cohorts) -> tuple[Counter[str], bool]:
    """Turns by value of this facet, and whether the counts are capped."""
    others = _without(filters, name)
    counts = _counts(name, counting, filters, others)
    chosen = [(place, set(values)) for place, other in enumerate(NAMES) if (values := getattr(others, other))]
    refused = [(place, values) for place, other in enumerate(NAMES) if (values := getattr(others, NOT[other]))]
    own, by_value = NAMES.index(name), Counter[str]()
    cohorts.learn(counts.by_cohort)
    for cohort, turns in counts.by_cohort.items():
        values = cohorts.get(cohort)
        if values is None:
            continue  # read on a replica that is behind: the next request counts it
        if all(_lets_through(NAMES[place], wanted, values[place]) for place, wanted in chosen) and all(
            set(words).isdisjoint(values[place]) for place, words in refused
        ):
            for value in values[own]:
                by_value[value] += turns
    return by_value, counts.capped


def _counts(name: str, counting: TurnCounts, filters: TimelineFilters, others: TimelineFilters) -> Counts:
    """Under the other filters. Where these are of the largest cohorts alone, those of the values that are named here
    are counted beside them."""
    counts, named = counting.count(others), (*getattr(filters, name), *getattr(filters, NOT[name]))
    if not (counts.capped and named and held_by_rollups(filters)):
        return counts
    chosen: dict[str, Any] = {name: named}
    return Counts({**counting.count(replace(others, **chosen)).by_cohort, **counts.by_cohort}, capped=True)


def _without(filters: TimelineFilters, name: str) -> TimelineFilters:
    """As if nothing were asked of this facet."""
    nothing: dict[str, Any] = {name: (), NOT[name]: ()}
    return replace(filters, **nothing)


def _lets_through(name: str, wanted: set[str], values: tuple[str, ...]) -> bool:
    """Any of the values wanted; of what a turn `has`, all."""
    return wanted.issubset(values) if name == "has" else not wanted.isdisjoint(values)


def _rare(name: str, column: str, counting: TurnCounts, filters: TimelineFilters) -> tuple[Counter[str], bool]:
    """Of the newest turns that have any; under filters that rollups do not hold, of the newest that are found."""
    others = _without(filters, name)
    if held_by_rollups(others):
        reach, most = id_range_of(others), MOST_COUNTED + 1
        found = find(project=counting.project, filters=others, reach=reach, limit=most, having=column)
        found, capped = found[:MOST_COUNTED], len(found) == most
    else:
        found, capped = counting.newest(others)
    return _values_of(column, [turn_id for turn_id, _ in found]), capped


def _values_of(column: str, turn_ids: Sequence[UUID]) -> Counter[str]:
    """Of thousands of turns: counted there, and named as one array, for a list of so many is long in the reading."""
    with read_connection().cursor() as cursor:
        cursor.execute(VALUES[column], [list(turn_ids)])
        return Counter(dict(cursor.fetchall()))


def _facet(name: str, filters: TimelineFilters, counts: Counter[str], capped: bool) -> Facet:
    """Most frequent values first; chosen and excluded ones are there though nothing has them."""
    chosen, refused = getattr(filters, name), getattr(filters, NOT[name])
    # A program's word for what is stored is listed where an address has it, not beside what pages call the same turns.
    listed = {value for value in counts if name != "provider" or not value.startswith(STORED)}
    found = sorted({*listed, *chosen, *refused}, key=lambda value: (-counts[value], value))
    values = (
        FacetValue(value, value_words(name, value), counts[value], value in chosen, capped, value in refused)
        for value in found
    )
    return Facet(name, LABELS[name], tuple(values))
