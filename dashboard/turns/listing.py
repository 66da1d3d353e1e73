"""The timeline as a page lists it: its turns, and the addresses of its neighbours."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode
from uuid import UUID

from django.http import QueryDict

from dashboard.agents.models import Project
from dashboard.agents.selectors import project_default
from dashboard.turns import selectors
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.folding import sums_of
from dashboard.turns.models import Turn
from dashboard.turns.reach import FIRST

PAGE_LENGTH = 50
MOST_COUNTED = 99


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of the timeline. `query` is its filters as an address has them, `newest` the newest turn there was."""

    items: list[Turn]
    filters: TimelineFilters
    errors: Mapping[str, str]
    query: str
    cursor: str
    newer: str
    older: str
    newest: UUID | None

    @property
    def filtered(self) -> bool:
        return bool(self.query)

    @property
    def is_first(self) -> bool:
        return not self.cursor

    @property
    def address(self) -> str:
        """Where this list begins, its filters in the address."""
        return address_of(self.query)

    @property
    def socket(self) -> str:
        """The address at which this very page is kept up to date."""
        more = {"cursor": self.cursor, "newest": str(self.newest or "")} if self.cursor else {}
        return address_of(self.query, "/ws/timeline/", **more)


def listing_of(given: QueryDict) -> Listing:
    """The page an address asks for. A cursor that is not ours begins at the newest."""
    project = project_default()
    filters, errors = TimelineFilters.parse(given)
    found, cursor = _page(project, filters, given.get("cursor", ""))
    query = query_of(filters)
    return Listing(
        items=found.items,
        filters=filters,
        errors=errors,
        query=query,
        cursor=cursor,
        newer=address_of(query, cursor=found.previous) if found.previous else "",
        older=address_of(query, cursor=found.next) if found.next else "",
        newest=newest_id(project),
    )


def newest_id(project: Project) -> UUID | None:
    """The id of the newest turn there is."""
    return Turn.objects.filter(project=project).order_by("-id").values_list("id", flat=True).first()


def _page(project: Project, filters: TimelineFilters, cursor: str) -> tuple[selectors.Page, str]:
    try:
        page = selectors.timeline(project=project, filters=filters, cursor=cursor or None, limit=PAGE_LENGTH)
    except selectors.BadCursorError:
        page, cursor = selectors.timeline(project=project, filters=filters, limit=PAGE_LENGTH), ""
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
        cursor = str(selectors.Cursor(newer=False, id=UUID(int=held_at.int + 1)))
    return _page(project_default(), filters, cursor)[0].items


def newer_than(filters: TimelineFilters, newest: UUID | None) -> int:
    """How many turns have come since, up to one more than `MOST_COUNTED`."""
    return selectors.newer_count(
        project=project_default(), filters=filters, newer_than=newest or FIRST, most=MOST_COUNTED + 1
    )


def address_of(query: str, path: str = "/", **more: str) -> str:
    """A path with the filters of a query, and more."""
    added = "&".join(part for part in (query, urlencode(more)) if part)
    return f"{path}?{added}" if added else path
