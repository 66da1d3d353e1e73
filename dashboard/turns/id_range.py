"""A range of turn ids, and its windows: pieces of growing size."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from uuid import UUID

from dashboard.platform.ids import first_id_at
from dashboard.turns.filters import TimelineFilters

LEAST_GROWTH, MOST_GROWTH = 2.0, 16.0  #: of one window over the one before
SPARE = 1.5  #: times as far as it should take is looked
FIRST, BEYOND = UUID(int=0), UUID(int=2**128 - 1)


@dataclass(frozen=True, slots=True)
class IdRange:
    """Ids from `low` up to but without `high`, read newest first or oldest first."""

    low: UUID = FIRST
    high: UUID = BEYOND
    newest_first: bool = True

    @property
    def order(self) -> str:
        return "DESC" if self.newest_first else "ASC"

    @property
    def reverse(self) -> str:
        return "ASC" if self.newest_first else "DESC"

    @property
    def last(self) -> UUID:
        """The largest id within."""
        return UUID(int=max(0, self.high.int - 1))


def id_range_of(filters: TimelineFilters, *, older_than: UUID | None = None, newer_than: UUID | None = None) -> IdRange:
    """The filters' times, from a place in the timeline on. Ids tell when a turn was made."""
    lows = [FIRST, *([first_id_at(filters.since)] if filters.since else [])]
    highs = [BEYOND, *([first_id_at(filters.until)] if filters.until else [])]
    if newer_than is not None:
        lows.append(after(newer_than))
    if older_than is not None:
        highs.append(older_than)
    return IdRange(max(lows), min(highs), newest_first=newer_than is None)


def windows(
    reach: IdRange, begin: UUID, marker: UUID | None, end: UUID, growth: Callable[[], float] = lambda: MOST_GROWTH
) -> Iterator[IdRange]:
    """Pieces of the reach in its order, without gaps. `begin` and `end` are the first and last turn in that order;
    `marker`, if there is one, says how far the first window goes; `growth`, asked after each, how the next grows."""
    low, high = sorted((begin, end))
    width = abs(_milliseconds(begin) - _milliseconds(marker or end)) + 1
    left = IdRange(low, after(high), reach.newest_first)
    while left.low < left.high:
        piece, left = _split(left, width)
        yield piece
        width = int(width * growth())


def growth_after(*, found: int, wanted: int) -> float:
    """How many times longer the next window should be, if this one held `found` and `wanted` more are."""
    return min(MOST_GROWTH, max(LEAST_GROWTH, SPARE * wanted / found)) if found else MOST_GROWTH


def _split(reach: IdRange, width: int) -> tuple[IdRange, IdRange]:
    """The first `width` milliseconds of the reach, and the rest."""
    if reach.newest_first:
        cut = max(reach.low, UUID(int=max(0, _milliseconds(reach.last) - width) << 80))
        return IdRange(cut, reach.high, True), IdRange(reach.low, cut, True)
    cut = min(reach.high, UUID(int=min(2**48 - 1, _milliseconds(reach.low) + width + 1) << 80))
    return IdRange(reach.low, cut, False), IdRange(cut, reach.high, False)


def after(id: UUID) -> UUID:
    """The next larger id there could be."""
    return UUID(int=min(id.int + 1, BEYOND.int))


def _milliseconds(id: UUID) -> int:
    return id.int >> 80
