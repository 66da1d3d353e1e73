"""The timeline's socket: rows that come, change and go, and how many wait while the page is held still."""

import json
from typing import Any
from uuid import UUID

from django.http import QueryDict
from django.template.loader import render_to_string

from dashboard.live.announcing import TIMELINE_GROUP
from dashboard.live.watching import Watcher
from dashboard.turns import listing
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.models import Turn

NOTHING = UUID(int=0)


class TimelineConsumer(Watcher):
    """One page of the timeline, by the filters and the cursor of its address.

    The first page gets new turns as rows, until it says `{"tail": "pause"}` and from `{"tail": "resume"}` on; a paused
    or a later one is told how many there are. What a page shows already is kept true in either case.
    """

    group = TIMELINE_GROUP
    pace = 0.3

    def begin(self, given: QueryDict, /, **_: Any) -> None:
        self.filters, _errors = TimelineFilters.parse(given)
        self.cursor = given.get("cursor", "")
        self.newest = _id(given.get("newest", ""))
        self.rows: dict[UUID, Turn] | None = None
        self.news_count = 0
        self.paused = False
        self.held_at: UUID | None = None  #: the newest turn a paused page shows

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:  # noqa: ARG002
        """The page pauses or resumes; anything else is not for us."""
        try:
            wanted = json.loads(text_data or "")["tail"]
        except (ValueError, TypeError, KeyError):
            return
        if wanted in ("pause", "resume"):
            self.paused = wanted == "pause"
            self._changed.set()

    def is_waiting(self) -> bool:
        return True

    def news(self) -> list[str]:
        self._hold()
        rows = {turn.id: turn for turn in listing.page_again(self.filters, self.cursor, held_at=self.held_at)}
        known, self.rows = self.rows, rows
        messages = self._differences(known, rows) if known is not None else [self._all(rows)]
        return [*messages, self._count()]

    def _hold(self) -> None:
        """A page that has shown nothing yet takes its rows first and is paused then."""
        if not self.paused:
            self.held_at = None
        elif self.held_at is None and self.rows is not None and not self.cursor:
            self.held_at = max(self.rows, default=NOTHING)

    def _all(self, rows: dict[UUID, Turn]) -> str:
        """The page may be older than the socket, so the first push is the whole list."""
        return render_to_string("turns/_rows.html", {"turns": list(rows.values()), "oob": True})

    def _differences(self, known: dict[UUID, Turn], rows: dict[UUID, Turn]) -> list[str]:
        """Rows that went or changed, then rows that came: a body and rows of a table do not parse side by side."""
        fresh = [turn_id for turn_id in rows if turn_id not in known]
        top = max(known, default=None)
        if any(top is not None and turn_id < top for turn_id in fresh):
            return [self._all(rows)]  # a row in the middle: a filter lets an old turn through again
        gone = [f'<tr id="row-{turn_id}" hx-swap-oob="delete"></tr>' for turn_id in known.keys() - rows.keys()]
        changed = [_row(turn, "hx-swap-oob") for turn_id, turn in rows.items() if _differs(known.get(turn_id), turn)]
        added = "".join(_row(rows[turn_id], "class", "fresh") for turn_id in fresh)
        return ["".join(gone + changed), f'<tbody hx-swap-oob="afterbegin:#rows">{added}</tbody>' if added else ""]

    def _count(self) -> str:
        """How many turns wait above those that are shown, where that has changed."""
        still = self.newest if self.cursor else self.held_at
        count = listing.newer_than(self.filters, still) if self.cursor or still is not None else 0
        if count == self.news_count:
            return ""
        self.news_count = count
        context = {"count": count, "most": listing.MOST_COUNTED, "address": self._address, "oob": True}
        return render_to_string("turns/_new_turns.html", context)

    @property
    def _address(self) -> str:
        return listing.address_of(listing.query_of(self.filters))


def _id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _row(turn: Turn, attribute: str, value: str = "true") -> str:
    """The page's own row, with one attribute more."""
    html = render_to_string("turns/_row.html", {"turn": turn})
    return html.replace("<tr ", f'<tr {attribute}="{value}" ', 1)


def _differs(known: Turn | None, turn: Turn) -> bool:
    """Whether a row that is shown says something else now. Its age does not count: the page counts that itself."""
    return known is not None and (known.last_seq, known.status, known.tags) != (turn.last_seq, turn.status, turn.tags)
