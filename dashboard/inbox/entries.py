"""One entry of the inbox, read from a held turn or a notice."""

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

import structlog
from django.urls import reverse

from dashboard.inbox.models import Notice
from dashboard.live.operator_view import Approval, approval_of
from dashboard.turns.history import snapshot_at
from dashboard.turns.models import Turn
from dashboard.turns.record_reader import record_at
from dashboard.turns.templatetags.formatting import words

log = structlog.get_logger(__name__)

#: By kind: the heading of an entry, and the word whose hue and symbol it has.
HEADINGS = {
    "approval": ("Approval needed", "tool_call"),
    "held": ("Turn held", "held"),
    Notice.Kind.EXPIRED: ("Approval expired", "time_limit"),
    Notice.Kind.FAILED: ("Prediction failed", "failed"),
    Notice.Kind.ALERT: ("Alert firing", "error"),
    Notice.Kind.RESOLVED: ("Alert resolved", "completed"),
}


@dataclass(frozen=True, slots=True)
class Entry:
    """`key` names it on a page; `told` says what happened, where no approval does.

    `turn`: None where it is about something else. `about`: what was asked of the turn, or a title; `leads_to`: the path
    of its page.
    """

    kind: str
    key: str
    turn: Turn | None
    about: str
    leads_to: str
    since: datetime
    told: str = ""
    approval: Approval | None = None
    notice: Notice | None = None

    @property
    def heading(self) -> str:
        return HEADINGS[self.kind][0]

    @property
    def look(self) -> str:
        return HEADINGS[self.kind][1]

    @property
    def until(self) -> datetime | None:
        return self.approval.until if self.approval else None

    @property
    def said(self) -> str:
        """The whole of it in one line, for a notification."""
        return f"{self.turn.agent_name}: {self.about[:100]}" if self.turn else f"{self.about}: {self.told}"


def entry_of_notice(notice: Notice) -> Entry:
    what = (notice.turn, notice.about, notice.leads_to)
    return Entry(notice.kind, str(notice.id), *what, notice.created_at, told=notice.told, notice=notice)


def entry_of_held(turn: Turn) -> Entry:
    """Of a turn that waits for an operator. A held turn does not change under one record, so it is read once."""
    try:
        since, why, approval = _held(turn.id, turn.last_seq)
    except Exception:
        # One that cannot be read hides no other; its own page says what is wrong with it.
        log.exception("held_turn_unreadable", turn=str(turn.id))
        since, why, approval = None, "The reason for the hold cannot be read.", None
    kind = "approval" if approval else "held"
    leads_to = reverse("turns:detail", args=[turn.id])
    return Entry(kind, str(turn.id), turn, turn.input_text, leads_to, since or turn.created_at, why, approval)


@lru_cache(maxsize=256)
def _held(turn_id: Any, seq: int) -> tuple[datetime | None, str, Approval | None]:
    """Since when, why in words, and the approval it waits for."""
    record = record_at(turn_id, seq)
    if record is None:
        return None, "", None
    turn = Turn.objects.select_related("agent").get(id=turn_id)
    snapshot = snapshot_at(turn, seq)
    why = record.transitions[-1]["reason"] if record.transitions else ""
    before = words(snapshot.held_state) if snapshot.held_state else ""
    return (
        record.at,
        f"Held before the step “{before}”. Reason: {why}." if before else why,
        approval_of(turn, snapshot) if snapshot.approving else None,
    )
