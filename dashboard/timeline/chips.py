"""What a timeline asks for, piece by piece: each can be taken away."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from dashboard.agents.models import Project
from dashboard.timeline.facets import value_words
from dashboard.turns.filter_names import LABELS
from dashboard.turns.filters import NOT, WORDS, TimelineFilters
from dashboard.turns.id_range import id_range_of
from dashboard.turns.timeline_page import query_of
from dashboard.turns.turn_query import find

#: By the column, what a range is called and counted in.
RANGE_WORDS: Mapping[str, tuple[str, str]] = {"tokens": ("Tokens", ""), "duration_ms": ("Took", " ms")}
MOST_DROPPED = 1_000  #: turns counted for each filter that could go


@dataclass(frozen=True, slots=True)
class Chip:
    """One thing the filters ask for, in words, and the filters without it."""

    label: str
    words: str
    without: TimelineFilters

    @property
    def query(self) -> str:
        """The filters without it, as an address has them."""
        return query_of(self.without)


@dataclass(frozen=True, slots=True)
class Drop:
    """How many turns there would be without a chip. `more`: there are more, and counting stopped."""

    chip: Chip
    count: int
    more: bool


def chips_of(filters: TimelineFilters) -> tuple[Chip, ...]:
    """In the order in which the page has the filters: words, time, values, ranges."""
    return (
        *_words(filters),
        *_run(filters),
        *_requested_again(filters),
        *_time(filters),
        *_values(filters),
        *_ranges(filters),
    )


def drops(*, project: Project, filters: TimelineFilters) -> tuple[Drop, ...]:
    """What taking away each chip would find, most first; those that would find nothing are left out."""
    found = [Drop(chip, *_counted(project, chip.without)) for chip in chips_of(filters)]
    return tuple(sorted((drop for drop in found if drop.count), key=lambda drop: -drop.count))


def _counted(project: Project, filters: TimelineFilters) -> tuple[int, bool]:
    found = find(project=project, filters=filters, reach=id_range_of(filters), limit=MOST_DROPPED + 1)
    return min(len(found), MOST_DROPPED), len(found) > MOST_DROPPED


def _words(filters: TimelineFilters) -> Iterator[Chip]:
    if filters.q:
        yield Chip("Words", f"“{filters.q}”", replace(filters, q=""))


def _run(filters: TimelineFilters) -> Iterator[Chip]:
    if filters.run:
        yield Chip("Run", f"{str(filters.run)[:13]}…", replace(filters, run=None))


def _requested_again(filters: TimelineFilters) -> Iterator[Chip]:
    if filters.requested_again:
        yield Chip("Requested again", filters.requested_again, replace(filters, requested_again=""))


def _time(filters: TimelineFilters) -> Iterator[Chip]:
    if filters.since or filters.until:
        yield Chip("When", span_words(filters.since, filters.until), replace(filters, since=None, until=None))


def _values(filters: TimelineFilters) -> Iterator[Chip]:
    for name in WORDS:
        yield from _each_of(filters, name, name, "")
        yield from _each_of(filters, name, NOT[name], "not ")


def _each_of(filters: TimelineFilters, name: str, asked: str, before: str) -> Iterator[Chip]:
    """Of the facet `name`, the words that the filter `asked` has."""
    chosen: tuple[str, ...] = getattr(filters, asked)
    for value in chosen:
        left: dict[str, Any] = {asked: tuple(other for other in chosen if other != value)}
        yield Chip(LABELS[name], f"{before}{value_words(name, value)}", replace(filters, **left))


def _ranges(filters: TimelineFilters) -> Iterator[Chip]:
    for column, (label, unit) in RANGE_WORDS.items():
        least, most = filters.range_of(column)
        if (least, most) != (None, None):
            name = column.removesuffix("_ms")
            nothing: dict[str, Any] = {f"{name}_from": None, f"{name}_to": None}
            yield Chip(label, f"{_bounds(least, most)}{unit}", replace(filters, **nothing))


def _bounds(least: int | None, most: int | None) -> str:
    if most is None:
        return f"≥ {least}"
    return f"≤ {most}" if least is None else f"{least} – {most}"


def span_words(since: datetime | None, until: datetime | None) -> str:
    """`20 Nov 2026, 14:00 – 15:30 UTC`; the day once where it is the same."""
    if since is None or until is None:
        return f"since {_moment(since)} UTC" if since else f"before {_moment(until)} UTC"
    same_day = since.date() == until.date()
    return f"{_moment(since)} – {_clock(until) if same_day else _moment(until)} UTC"


def _moment(moment: datetime | None) -> str:
    return f"{moment.day} {moment:%b %Y}, {_clock(moment)}" if moment else ""


def _clock(moment: datetime) -> str:
    return f"{moment:%H:%M:%S}" if moment.second else f"{moment:%H:%M}"
