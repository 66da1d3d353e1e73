"""Writes: a notice is put in the transaction of what it tells of, and seen by a person."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.utils import timezone

from dashboard.agents.models import Project
from dashboard.inbox.models import Notice
from dashboard.turns.models import Turn


def notice_put(*, turn: Turn, kind: Notice.Kind, told: str) -> None:
    """`told`: what happened, as one sentence."""
    Notice.objects.create(project_id=turn.project_id, turn=turn, kind=kind, told=told)


def decision_put(*, turn: Turn, by: str, told: str, **_: Any) -> None:
    """A receiver of `live.signals.calls_decided`: the decision, for those who see its entry disappear."""
    seen = {"seen_at": timezone.now(), "seen_by": by}
    Notice.objects.create(project_id=turn.project_id, turn=turn, kind=Notice.Kind.DECIDED, told=told, **seen)


def expiry_put(*, turn: Turn, told: str, **_: Any) -> None:
    """A receiver of `live.signals.approval_expired`."""
    notice_put(turn=turn, kind=Notice.Kind.EXPIRED, told=told)


def notice_tell(*, project: Project, kind: Notice.Kind, title: str, address: str, told: str) -> None:
    """Of something that is no turn. `address`: the path of its page."""
    Notice.objects.create(project=project, kind=kind, title=title, address=address, told=told)


def notices_withdraw(*, project: Project, address: str) -> None:
    """Take back what nobody has seen yet of what has this page."""
    Notice.objects.filter(project=project, address=address, seen_at=None).delete()


def notices_see(*, project: Project, ids: Sequence[UUID], by: str) -> int:
    """Close these notices; returns how many were open. The first who saw one stays named."""
    waiting = Notice.objects.filter(project=project, id__in=ids, seen_at=None)
    return waiting.update(seen_at=timezone.now(), seen_by=by)
