"""The live sockets: they read the database and push the very parts the pages were made of."""

from typing import Any
from uuid import UUID

from django.http import QueryDict
from django.template.loader import render_to_string

from agentcore.machine.snapshot import Snapshot
from dashboard.live.announcing import TIMELINE_GROUP, turn_group
from dashboard.live.recent import recent_turns
from dashboard.live.watching import Watcher
from dashboard.turns import history, selectors
from dashboard.turns.models import UNFINISHED, Turn
from dashboard.turns.shown import draft_shown
from dashboard.turns.views import turn_context

#: The parts of a turn's page that change while it runs.
TURN_PARTS = ("_head", "_machine", "_answer", "_moments", "_attempts", "_deck", "_break")
SLOW_DRAFT = 60_000  #: characters of a draft that are pushed in one `PACE`; longer ones are pushed less often


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
