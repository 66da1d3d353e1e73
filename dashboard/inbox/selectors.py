"""The inbox as it stands: what a person has to decide, then what they have not seen."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from agentcore.reasons import TurnStatus
from dashboard.agents.models import Project
from dashboard.inbox.entries import Entry, entry_of_held, entry_of_notice
from dashboard.inbox.models import Notice
from dashboard.turns.models import Turn

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
