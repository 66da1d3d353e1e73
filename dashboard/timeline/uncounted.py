"""The filters as far as no counting is needed: what the page shows until the counts are there, or without scripts."""

from dataclasses import dataclass

from dashboard.timeline.facets import LABELS
from dashboard.turns.filters import WORDS, TimelineFilters


@dataclass(frozen=True, slots=True)
class Uncounted:
    """A facet without counts. `values` are the words it knows without asking, `chosen` those that are set."""

    name: str
    label: str
    values: tuple[str, ...]
    chosen: tuple[str, ...]


def chosen_facets(filters: TimelineFilters) -> tuple[Uncounted, ...]:
    """In the order of the facets."""
    return tuple(
        Uncounted(name, label, tuple(str(word) for word in WORDS[name] or ()), getattr(filters, name))
        for name, label in LABELS.items()
    )
