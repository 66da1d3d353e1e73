"""The timeline's socket: rows that come, change and go, and how many wait while the page is held still."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self
from uuid import UUID

from django.http import QueryDict
from django.template.loader import render_to_string

from dashboard.agents.selectors import project_current
from dashboard.live.scenes import Scene
from dashboard.platform.notifications import TIMELINE_GROUP
from dashboard.platform.strict_json import read_strictly
from dashboard.timeline.row_context import with_row_context
from dashboard.turns import timeline_page
from dashboard.turns.filters import OLDEST_FIRST, TimelineFilters
from dashboard.turns.models import Turn
from dashboard.turns.timeline_page import RowState

NOTHING = UUID(int=0)


@dataclass(frozen=True, slots=True, eq=False)
class DisplayedRows:
    """What a page shows: its rows from the top, and how many turns it says are waiting for it."""

    #: by `row_state`; None: a page that was just opened, whose rows may be older than the socket
    rows: Mapping[UUID, RowState] | None
    waiting: int
    newest: UUID = NOTHING  #: the newest turn there was


OPENED = DisplayedRows(None, 0)


@dataclass(frozen=True, slots=True)
class Subject:
    """One page of the timeline, by the filters and the cursor of its address."""

    filters: TimelineFilters
    cursor: str = ""
    newest: UUID | None = None  #: of a later page: the newest turn there was when it was opened
    held_at: UUID | None = None  #: of a paused page: the newest turn there was

    @property
    def waits(self) -> bool:
        """Whether new turns are counted instead of shown. Oldest first, they come at the end of the last page."""
        return (bool(self.cursor) or self.held_at is not None) and self.filters.sort != OLDEST_FIRST


class TimelineScene(Scene):
    """One page of the timeline.

    The first page gets new turns as rows, until it says `{"tail": "pause"}` and from `{"tail": "resume"}` on; a paused
    or a later one is told how many there are. What a page shows already is kept true in either case. Who pauses goes
    over to the room of those who paused at the same turn.
    """

    group = TIMELINE_GROUP
    pace = 0.3

    def __init__(self, subject: Subject) -> None:
        self.subject: Subject = subject
        self.listed = OPENED
        self._turns: Mapping[UUID, Turn] = {}  #: those that are listed

    def heard(self, text: str, shows: Hashable) -> Self | None:
        try:
            wanted = read_strictly(text)["tail"]
        except (ValueError, TypeError, KeyError):
            return None
        if wanted == "resume" and self.subject.held_at is not None:
            return type(self)(replace(self.subject, held_at=None))
        if (
            wanted == "pause"
            and self.subject.held_at is None
            and not self.subject.cursor
            and isinstance(shows, DisplayedRows)
        ):
            return type(self)(replace(self.subject, held_at=shows.newest))
        return None

    def look(self) -> None:
        asked = self.subject
        # Read before the page: a turn that comes in between is counted. A sorted page need not show the newest turn.
        newest = timeline_page.newest_id(project_current()) if asked.filters.sort else None
        found = timeline_page.page_again(asked.filters, asked.cursor, held_at=asked.held_at)
        self._turns = {turn.id: turn for turn in with_row_context(found, asked.filters.q)}
        rows = {turn_id: timeline_page.row_state(turn) for turn_id, turn in self._turns.items()}
        still = asked.newest if asked.cursor else asked.held_at
        waiting = timeline_page.newer_than(asked.filters, still) if asked.waits else 0
        self.listed = DisplayedRows(rows, waiting, newest or max(rows, default=NOTHING))

    def since(self, shows: Hashable) -> tuple[list[str], Hashable]:
        now, rows = self.listed, self._turns
        known = shows if isinstance(shows, DisplayedRows) else None
        if isinstance(shows, str) and shows == timeline_page.rows_digest(rows.values()):
            known = replace(now, waiting=0)
        if known is None or known.rows is None or self._resorted(known.rows, rows):
            texts = [_all(rows)]
        else:
            texts = _differences(known.rows, rows)
        if known is None or known.waiting != now.waiting:
            texts.append(self._count(now.waiting))
        return texts, now

    def _resorted(self, known: Mapping[UUID, RowState], rows: Mapping[UUID, Turn]) -> bool:
        """Whether a list that is sorted has another order: rows then go where single ones cannot be put."""
        return bool(self.subject.filters.sort) and list(known) != list(rows)

    def _count(self, count: int) -> str:
        """How many turns wait above those that are shown."""
        address = timeline_page.address_of(timeline_page.query_of(self.subject.filters))
        context = {"count": count, "most": timeline_page.MOST_COUNTED, "address": address, "oob": True}
        return render_to_string("turns/_new_turns.html", context)


def watch_timeline(given: QueryDict, /, **_: Any) -> tuple[Scene, Hashable]:
    """The first push is the whole list, unless it is what the page says with `shown`. One that comes again may have
    been pushed other rows since."""
    filters, _errors = TimelineFilters.parse(given)
    cursor = given.get("cursor", "")
    shown = OPENED if "again" in given else given.get("shown", OPENED)
    return TimelineScene(Subject(filters, cursor, _id(given.get("newest", "")) if cursor else None)), shown


def _all(rows: Mapping[UUID, Turn]) -> str:
    return render_to_string("turns/_rows.html", {"turns": list(rows.values()), "oob": True})


def _differences(known: Mapping[UUID, RowState], rows: Mapping[UUID, Turn]) -> list[str]:
    """Rows that went or changed, then rows that came: a body and rows of a table do not parse side by side."""
    fresh = [turn_id for turn_id in rows if turn_id not in known]
    top = max(known, default=None)
    if any(top is not None and turn_id < top for turn_id in fresh):
        return [_all(rows)]  # a row in the middle: a filter lets an old turn through again
    gone = [f'<tr id="row-{turn_id}" hx-swap-oob="delete"></tr>' for turn_id in known.keys() - rows.keys()]
    changed = [_row(turn, "hx-swap-oob") for turn_id, turn in rows.items() if _differs(known.get(turn_id), turn)]
    added = "".join(_row(rows[turn_id], "class", "fresh") for turn_id in fresh)
    return ["".join(gone + changed), f'<tbody hx-swap-oob="afterbegin:#rows">{added}</tbody>' if added else ""]


def _id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _row(turn: Turn, attribute: str, value: str = "true") -> str:
    """The page's own row, with one attribute more."""
    html = render_to_string("turns/_row.html", {"turn": turn})
    return html.replace("<tr ", f'<tr {attribute}="{value}" ', 1)


def _differs(known: RowState | None, turn: Turn) -> bool:
    """Whether a row that is shown says something else now."""
    return known is not None and known != timeline_page.row_state(turn)
