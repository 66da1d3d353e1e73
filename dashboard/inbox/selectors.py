"""The inbox as it stands: what a person has to decide, then what they have not seen.

Also holds one entry of the inbox, read from a held turn or a notice.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

import structlog
from django.db.models import QuerySet
from django.urls import reverse

from agentcore.reasons import TurnStatus
from agentcore.snapshot import Snapshot
from agentcore.states import State
from dashboard.agents.models import Project
from dashboard.inbox.models import Notice
from dashboard.live.operator_view import Approval, approval_of
from dashboard.turns.history import snapshot_at
from dashboard.turns.models import Record, Turn
from dashboard.turns.record_reader import records_of
from dashboard.turns.status_text import before_step, is_at_breakpoint

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
    """`key` names it on a page, and what was told of already; `told` says what happened, where no approval does.

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
        held = _held(turn.id, turn.last_seq)
    except Exception:
        # One that cannot be read hides no other; its own page says what is wrong with it.
        log.exception("held_turn_unreadable", turn=str(turn.id))
        held = _Held(0, None, "The reason for the hold cannot be read.", None)
    kind = "approval" if held.approval else "held"
    what = (turn, turn.input_text, reverse("turns:detail", args=[turn.id]))
    # The same turn may be held again, which nobody has been told of yet.
    key = f"{turn.id}-{held.seq}"
    return Entry(kind, key, *what, held.since or turn.created_at, held.why, held.approval)


@dataclass(frozen=True, slots=True)
class _Held:
    """`seq`, `since`: the record that began to hold the turn; `why`: in words; `approval`: what it waits for."""

    seq: int
    since: datetime | None
    why: str
    approval: Approval | None


def _told(why: str, held: Snapshot) -> str:
    """Why it is held, and before which step. A breakpoint at that step is told without the step's name again."""
    before = held.held_state
    if before is None:
        return why
    if is_at_breakpoint(held):
        return f"Held by a breakpoint {before_step(before)}."
    return f"Held {before_step(before)}. Reason: {why}."


@lru_cache(maxsize=256)
def _held(turn_id: Any, seq: int) -> _Held:
    record = _holding_record(turn_id, seq)
    if record is None:
        return _Held(0, None, "", None)
    turn = Turn.objects.select_related("agent").get(id=turn_id)
    snapshot = snapshot_at(turn, seq)
    why = record.transitions[-1]["reason"] if record.transitions else ""
    told = _told(why, snapshot)
    return _Held(record.seq, record.at, told, approval_of(turn, snapshot) if snapshot.approving else None)


def _holding_record(turn_id: Any, seq: int) -> Record | None:
    """The record that began to hold a turn whose last is `seq`: what operators change meanwhile holds it on."""
    for record in records_of(turn_id, upto=seq, backwards=True):
        if not record.transitions or record.transitions[-1]["from"] != State.HELD:
            return record
    return None


MOST = 100  #: entries that are listed, of either sort
SEEN = 10  #: notices that somebody has seen, listed last
NEVER = datetime.max.replace(tzinfo=UTC)
#: Columns of turns that no entry shows.
UNSHOWN = ("output_text", "setup", "base_snapshot", "breakpoints", "envelope", "policy_sources")


@dataclass(frozen=True, slots=True)
class Inbox:
    """`count`: of everything that waits, also of what is not listed."""

    entries: tuple[Entry, ...]
    count: int

    @property
    def shown_count(self) -> str:
        return f"{self.count}" if self.count < MOST else f"{MOST - 1}+"


def inbox_of(project: Project) -> Inbox:
    """What ends first comes first; then what has waited longest, notices last."""
    held = Turn.objects.filter(project=project, status=TurnStatus.HELD)
    notices = Notice.objects.filter(project=project, seen_at=None)
    turns = list(held.defer(*UNSHOWN).order_by("id")[:MOST])
    told = list(notices.select_related("turn").defer(*(f"turn__{name}" for name in UNSHOWN)).order_by("-id")[:MOST])
    count = _counted(len(turns), held) + _counted(len(told), notices)
    waiting = sorted(map(entry_of_held, turns), key=lambda entry: (entry.until or NEVER, entry.since))
    return Inbox((*waiting, *map(entry_of_notice, told)), count)


def _counted(found: int, rows: QuerySet[Any]) -> int:
    return found if found < MOST else rows.count()


def notice_get(project: Project, notice_id: UUID) -> Notice:
    """Raises `Notice.DoesNotExist`."""
    return Notice.objects.select_related("turn").get(project=project, id=notice_id)


def notices_seen(project: Project) -> list[Notice]:
    """The last that somebody has seen."""
    rows = Notice.objects.filter(project=project).exclude(seen_at=None).select_related("turn")
    return list(rows.defer(*(f"turn__{name}" for name in UNSHOWN)).order_by("-seen_at")[:SEEN])
