"""The filter form before its counts have loaded, or without scripts."""

from dataclasses import dataclass

from dashboard.timeline.facets import LABELS
from dashboard.turns.filters import NOT, WORDS, TimelineFilters


@dataclass(frozen=True, slots=True)
class UncountedFacet:
    """A facet without counts. `values` are the words it knows without asking, `chosen` those that are asked for,
    `excluded` those that are left out."""

    name: str
    label: str
    values: tuple[str, ...]
    chosen: tuple[str, ...]
    excluded: tuple[str, ...]


def chosen_facets(filters: TimelineFilters) -> tuple[UncountedFacet, ...]:
    """In the order of the facets."""
    return tuple(_facet(name, label, filters) for name, label in LABELS.items())


def _facet(name: str, label: str, filters: TimelineFilters) -> UncountedFacet:
    words = tuple(str(word) for word in WORDS[name] or ())
    return UncountedFacet(name, label, words, getattr(filters, name), getattr(filters, NOT[name]))
