"""The timeline as a page lists it: its turns, and the addresses of its neighbours."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import QueryDict

from dashboard.agents.models import Project
from dashboard.agents.selectors import project_current
from dashboard.turns import selectors
from dashboard.turns.filters import NEWEST_FIRST, OLDEST_FIRST, SORTED_BY, TimelineFilters
from dashboard.turns.id_range import FIRST
from dashboard.turns.models import Turn
from dashboard.turns.run_fold import sums_of
from dashboard.turns.search_words import is_unspaced
from dashboard.turns.sort_order import WORDS

PAGE_LENGTH = 50
SHOWN = 1_000  #: characters of a prompt that are read for its row
SEARCHED = 120_000  #: of a prompt and an answer, where the words of a search stand: the index has no more
MOST_COUNTED = 99
IN_SIGHT = 24  #: rows that fill a window of 1,440 px


@dataclass(frozen=True, slots=True)
class Heading:
    """The head of a column: `aria` as `aria-sort` has it, empty where the list is in another order."""

    address: str
    aria: str


@dataclass(frozen=True, slots=True)
class TimelinePage:
    """One page of the timeline. `query` is its filters as an address has them, `newest` the newest turn there was."""

    items: list[Turn]
    filters: TimelineFilters
    errors: Mapping[str, str]
    query: str
    cursor: str
    newer: str
    older: str
    newest: UUID | None
    sorted_among: int = 0  #: of how many turns, where there are more than were sorted

    @property
    def filtered(self) -> bool:
        return bool(self.query)

    @property
    def is_first(self) -> bool:
        return not self.cursor

    @property
    def can_pause(self) -> bool:
        """Whether turns that come push rows down: oldest first, they come at the end of the last page."""
        return self.is_first and self.filters.sort != OLDEST_FIRST

    @property
    def address(self) -> str:
        """Where this list begins, its filters in the address."""
        return address_of(self.query)

    @property
    def in_sight(self) -> str:
        """The id of the element with which the page can be shown: what comes after it is below the window."""
        return f"row-{self.items[IN_SIGHT - 1].id}" if len(self.items) > IN_SIGHT else "whole"

    @property
    def searches_unspaced(self) -> bool:
        """Whether words are searched for in a script that puts no spaces between them."""
        return is_unspaced(self.filters.q)

    @property
    def headings(self) -> dict[str, "Heading"]:
        """What a click on the head of each column that sorts leads to."""
        return {name: _heading(self.filters, name) for name in (*SORTED_BY, NEWEST_FIRST)}

    @property
    def socket(self) -> str:
        """The address at which this very page is kept up to date. It says which rows the page shows."""
        more = {"cursor": self.cursor, "newest": str(self.newest or "")} if self.cursor else {}
        return address_of(self.query, "/ws/timeline/", **more, shown=rows_digest(self.items))


RowState = tuple[object, ...]


def row_state(turn: Turn) -> RowState:
    """What a row is made of, as far as it can change. Its age does not count: the page counts that itself."""
    return turn.last_seq, turn.status, turn.tags, turn.run_id, turn.run_sums


def rows_digest(turns: Iterable[Turn]) -> str:
    """Equal where two lists have the same rows, in the same order and state."""
    states = repr([(turn.id, row_state(turn)) for turn in turns])
    return hashlib.blake2s(states.encode(), digest_size=8).hexdigest()


def _heading(filters: TimelineFilters, name: str) -> Heading:
    """Large numbers first, words from A, the newest turns; a second click turns the order."""
    rising, falling = "" if name == NEWEST_FIRST else name, f"-{name}"
    first, second = (rising, falling) if name in WORDS or name == NEWEST_FIRST else (falling, rising)
    sort = second if filters.sort == first else first
    aria = {rising: "ascending", falling: "descending"}.get(filters.sort, "")
    return Heading(address_of(query_of(replace(filters, sort=sort))), aria)


def timeline_page(given: QueryDict) -> TimelinePage:
    """The page an address asks for. A cursor that is not ours begins at the newest."""
    project = project_current()
    filters, errors = TimelineFilters.parse(given)
    found, cursor = _page(project, filters, given.get("cursor", ""))
    query = query_of(filters)
    return TimelinePage(
        items=found.items,
        filters=filters,
        errors=errors,
        query=query,
        cursor=cursor,
        newer=address_of(query, cursor=found.previous) if found.previous else "",
        older=address_of(query, cursor=found.next) if found.next else "",
        newest=newest_id(project),
        sorted_among=found.sorted_among,
    )


def newest_id(project: Project) -> UUID | None:
    """The id of the newest turn there is."""
    return Turn.objects.filter(project=project).order_by("-id").values_list("id", flat=True).first()


def _page(project: Project, filters: TimelineFilters, cursor: str) -> tuple[selectors.Page, str]:
    beginning = SEARCHED if filters.q else SHOWN
    asked: dict[str, Any] = {"project": project, "filters": filters, "limit": PAGE_LENGTH, "beginning": beginning}
    try:
        page = selectors.timeline(**asked, cursor=cursor or None)
    except selectors.BadCursorError:
        page, cursor = selectors.timeline(**asked), ""
    if filters.fold:
        sums = sums_of(turn.run for turn in page.items)
        for turn in page.items:
            turn.run_sums = sums.get(turn.run)
    return page, cursor


def query_of(filters: TimelineFilters) -> str:
    """The filters as an address has them."""
    return urlencode(filters.as_dict(), doseq=True)


def page_again(filters: TimelineFilters, cursor: str, *, held_at: UUID | None = None) -> list[Turn]:
    """The turns that are now on a page that was shown before; held, none that is newer than `held_at`."""
    if held_at is not None and not cursor:
        cursor = selectors.held_cursor(filters, held_at)
    return _page(project_current(), filters, cursor)[0].items


def newer_than(filters: TimelineFilters, newest: UUID | None) -> int:
    """How many turns have come since, up to one more than `MOST_COUNTED`."""
    return selectors.newer_count(
        project=project_current(), filters=filters, newer_than=newest or FIRST, most=MOST_COUNTED + 1
    )


def address_of(query: str, path: str = "/", **more: str) -> str:
    """A path with the filters of a query, and more."""
    added = "&".join(part for part in (query, urlencode(more)) if part)
    return f"{path}?{added}" if added else path
