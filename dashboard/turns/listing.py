"""The timeline as a page lists it: its turns, its filters as fields, and the addresses of its neighbours."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import QueryDict

from agentcore.reasons import NormalizedStopReason, StopReason, TurnStatus
from dashboard.agents.models import Project
from dashboard.agents.selectors import agent_list, project_default
from dashboard.turns import selectors
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.models import Turn

PAGE_LENGTH = 50
MOST_COUNTED = 99


@dataclass(frozen=True, slots=True)
class Choice:
    """A filter with its choices; `chosen` is the first value that is set."""

    name: str
    label: str
    options: tuple[str, ...]
    chosen: str


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of the timeline. `query` is its filters as an address has them, `newest` the newest turn there was."""

    items: list[Turn]
    choices: tuple[Choice, ...]
    filters: TimelineFilters
    errors: Mapping[str, str]
    query: str
    cursor: str
    newer: str
    older: str
    newest: UUID | None

    @property
    def filtered(self) -> bool:
        return bool(self.filters.as_dict())

    @property
    def is_first(self) -> bool:
        return not self.cursor

    @property
    def address(self) -> str:
        """Where this list begins, its filters in the address."""
        return _address("/", self.query)

    @property
    def socket(self) -> str:
        """The address at which this very page is kept up to date."""
        more = {"cursor": self.cursor, "newest": str(self.newest or "")} if self.cursor else {}
        return _address("/ws/timeline/", self.query, **more)


def listing_of(given: QueryDict) -> Listing:
    """The page an address asks for. A cursor that is not ours begins at the newest."""
    project = project_default()
    filters, errors = TimelineFilters.parse(given)
    found, cursor = _page(project, filters, given.get("cursor", ""))
    query = query_of(filters)
    newest = Turn.objects.filter(project=project).order_by("-id").values_list("id", flat=True).first()
    return Listing(
        items=found.items,
        choices=_choices(project, filters),
        filters=filters,
        errors=errors,
        query=query,
        cursor=cursor,
        newer=_address("/", query, cursor=found.previous) if found.previous else "",
        older=_address("/", query, cursor=found.next) if found.next else "",
        newest=newest,
    )


def _page(project: Project, filters: TimelineFilters, cursor: str) -> tuple[selectors.Page, str]:
    try:
        page = selectors.timeline(project=project, filters=filters, cursor=cursor or None, limit=PAGE_LENGTH)
    except selectors.BadCursorError:
        return selectors.timeline(project=project, filters=filters, limit=PAGE_LENGTH), ""
    return page, cursor


def query_of(filters: TimelineFilters) -> str:
    """The filters as an address has them."""
    return urlencode(filters.as_dict(), doseq=True)


def page_again(filters: TimelineFilters, cursor: str) -> list[Turn]:
    """The turns that are now on a page that was shown before."""
    return _page(project_default(), filters, cursor)[0].items


def newer_than(filters: TimelineFilters, newest: UUID | None) -> int:
    """How many turns have come since, up to one more than `MOST_COUNTED`."""
    turns = selectors.turns_matching(project=project_default(), filters=filters)
    newer = turns.filter(id__gt=newest) if newest else turns
    return len(newer.values_list("id")[: MOST_COUNTED + 1])


def _address(path: str, query: str, **more: str) -> str:
    added = "&".join(part for part in (query, urlencode(more)) if part)
    return f"{path}?{added}" if added else path


def _choices(project: Project, filters: TimelineFilters) -> tuple[Choice, ...]:
    agents = tuple(agent.name for agent in agent_list(project=project))
    options: tuple[tuple[str, str, tuple[Any, ...]], ...] = (
        ("stop_reason", "Agent stopped", tuple(StopReason)),
        ("model_stop_reason", "Model stopped", tuple(NormalizedStopReason)),
        ("status", "Status", tuple(TurnStatus)),
        ("model", "Model", tuple(selectors.models_seen(project))),
        ("agent", "Agent", agents),
    )
    return tuple(
        Choice(name, label, tuple(map(str, values)), next(iter(getattr(filters, name)), ""))
        for name, label, values in options
    )
