"""The live sockets: they read the database and push the very parts the pages were made of."""

from typing import Any
from uuid import UUID

from django.http import QueryDict
from django.template.loader import render_to_string

from agentcore.machine.snapshot import Snapshot
from dashboard.live.announcing import TIMELINE_GROUP, turn_group
from dashboard.live.recent import recent_turns
from dashboard.live.watching import Watcher
from dashboard.turns import history, listing, selectors
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.models import UNFINISHED, Turn
from dashboard.turns.shown import draft_shown
from dashboard.turns.views import turn_context

#: The parts of a turn's page that change while it runs.
TURN_PARTS = ("_head", "_machine", "_answer", "_moments", "_attempts", "_deck")
SLOW_DRAFT = 60_000  #: characters of a draft that are pushed in one `PACE`; longer ones are pushed less often


def _id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


class TurnConsumer(Watcher):
    """One turn. The page says with `seq` up to which record it is made."""

    def begin(self, given: QueryDict, /, **route: Any) -> None:
        self.turn_id: UUID = route["turn_id"]
        self.group = turn_group(self.turn_id)
        seq = str(given.get("seq", ""))
        self.seq = int(seq) if seq.isascii() and seq.isdigit() else -1
        self.sent: dict[str, str] = {}
        self.draft_sent = 0
        self.unfinished = True
        self.snapshot: Snapshot | None = None

    def is_waiting(self) -> bool:
        return self.unfinished

    def is_over(self) -> bool:
        return not self.unfinished

    def news(self) -> list[str]:
        try:
            turn = selectors.turn_get(self.turn_id)
        except Turn.DoesNotExist:
            self.unfinished = False
            return []
        self.unfinished = turn.status in UNFINISHED
        return [self.grown(turn) if turn.last_seq != self.seq else self.streamed(turn)]

    def grown(self, turn: Turn) -> str:
        """There are new records: the parts that changed by them."""
        self.seq = turn.last_seq
        context = {**turn_context(turn), "oob": True}
        page = context["page"]
        self.snapshot = page.shown.snapshot
        self.draft_sent = page.draft.length if page.draft else 0
        both = {**context, "shown": page.shown}
        return self.changed_parts({part: render_to_string(f"turns/{part}.html", both) for part in TURN_PARTS})

    def changed_parts(self, parts: dict[str, str]) -> str:
        """Those that differ from what was sent."""
        changed = [html for name, html in parts.items() if self.sent.get(name) != html]
        self.sent = parts
        return "".join(changed)

    def streamed(self, turn: Turn) -> str:
        """There is no new record: what has streamed since the last one."""
        if not self.unfinished:
            return ""
        if self.snapshot is None:
            self.snapshot = history.standing_of(turn).snapshot
        draft = draft_shown(turn, self.snapshot)
        length = draft.length if draft else 0
        if length == self.draft_sent:
            return ""
        self.draft_sent = length
        self.pace = Watcher.pace * (1 + length // SLOW_DRAFT)
        return render_to_string("turns/_draft.html", {"draft": draft, "oob_draft": True})


class TimelineConsumer(Watcher):
    """One page of the timeline, by the filters and the cursor of its address. The first page gets new turns as rows;
    a later one is told how many there are."""

    group = TIMELINE_GROUP
    pace = 0.3

    def begin(self, given: QueryDict, /, **_: Any) -> None:
        self.filters, _errors = TimelineFilters.parse(given)
        self.cursor = given.get("cursor", "")
        self.newest = _id(given.get("newest", ""))
        self.rows: dict[UUID, Turn] | None = None
        self.news_count = 0

    def is_waiting(self) -> bool:
        return True

    def news(self) -> list[str]:
        rows = {turn.id: turn for turn in listing.page_again(self.filters, self.cursor)}
        known, self.rows = self.rows, rows
        messages = self._differences(known, rows) if known is not None else [self._all(rows)]
        return [*messages, self._count()]

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
        if not self.cursor:
            return ""
        count = listing.newer_than(self.filters, self.newest)
        if count == self.news_count:
            return ""
        self.news_count = count
        context = {"count": count, "most": listing.MOST_COUNTED, "query": listing.query_of(self.filters), "oob": True}
        return render_to_string("turns/_new_turns.html", context)


def _row(turn: Turn, attribute: str, value: str = "true") -> str:
    """The page's own row, with one attribute more."""
    html = render_to_string("turns/_row.html", {"turn": turn})
    return html.replace("<tr ", f'<tr {attribute}="{value}" ', 1)


def _differs(known: Turn | None, turn: Turn) -> bool:
    """Whether a row that is shown says something else now. Its age does not count: the page counts that itself."""
    return known is not None and (known.last_seq, known.status) != (turn.last_seq, turn.status)


class AgentConsumer(Watcher):
    """The turns of one agent, newest first."""

    group = TIMELINE_GROUP
    pace = 0.5

    def begin(self, _given: QueryDict, /, **route: Any) -> None:
        self.name: str = route["name"]
        self.sent = ""

    def is_waiting(self) -> bool:
        return True

    def news(self) -> list[str]:
        html = render_to_string("live/_recent.html", {"recent": recent_turns(self.name), "oob": True})
        changed, self.sent = html != self.sent, html
        return [html] if changed else []
