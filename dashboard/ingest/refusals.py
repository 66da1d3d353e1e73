"""What exporters were told is refused, by sender and reason: for people, who never see these answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet
from django.utils import timezone

from dashboard.accounts.models import User
from dashboard.accounts.roles import ADMINISTER_KEYS, may
from dashboard.agents.models import Project
from dashboard.gateway.models import GatewayKey
from dashboard.gateway.selectors import keys_seen_by
from dashboard.ingest.models import Refusal

KEPT = timedelta(days=90)  #: since the latest was refused
SWEEP_SECONDS = 3_600.0
SHOWN_FOR = timedelta(days=7)
MOST_SHOWN = 50
NOTE = """
INSERT INTO ingest_refusal (project_id, sender, why, number, first_at, last_at)
SELECT %(project)s, %(sender)s, given.why, given.number, %(at)s, %(at)s
  FROM unnest(%(whys)s::text[], %(numbers)s::bigint[]) given (why, number) ORDER BY given.why
ON CONFLICT (project_id, sender, why) DO UPDATE
   SET number = ingest_refusal.number + excluded.number, last_at = excluded.last_at
"""


@dataclass(frozen=True, slots=True)
class RefusalView:
    """`sender`: the name of a key, or of a user whose token was used; `key_id`: None where it was a token."""

    id: int
    sender: str
    key_id: UUID | None
    why: str
    number: int
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True, slots=True)
class Filters:
    """Which refusals. `why`: a part of the reason; `since` and `until`: when the latest was refused."""

    key_id: UUID | None = None
    why: str = ""
    since: datetime | None = None
    until: datetime | None = None

    def within(self, rows: QuerySet[Refusal]) -> QuerySet[Refusal]:
        asked = {
            "sender": self.key_id,
            "why__icontains": self.why or None,
            "last_at__gte": self.since,
            "last_at__lt": self.until,
        }
        return rows.filter(**{name: value for name, value in asked.items() if value is not None})


def refusals_note(project_id: UUID, sender: UUID, refused: Mapping[str, int], *, at: datetime) -> None:
    """Add what a request was refused of. In the caller's transaction."""
    if not refused:
        return
    given: dict[str, Any] = {
        "project": project_id,
        "sender": sender,
        "at": at,
        "whys": [*refused],
        "numbers": [*refused.values()],
    }
    with connection.cursor() as cursor:
        cursor.execute(NOTE, given)


def sweep() -> int:
    """Let go of reasons that have not come up for long; returns how many."""
    return Refusal.objects.filter(last_at__lt=timezone.now() - KEPT).delete()[0]


def refusals_seen_by(user: User, project: Project, filters: Filters) -> QuerySet[Refusal]:
    """What of a project a user may see: what their keys and tokens were refused, or all where they look after keys."""
    rows = filters.within(Refusal.objects.filter(project_id=project.pk))
    if may(user, ADMINISTER_KEYS):
        return rows
    keys = keys_seen_by(user, project=project).values_list("pk", flat=True)
    return rows.filter(sender__in=[*keys, UUID(int=user.pk)])


def refusals_lately(user: User, project: Project) -> list[RefusalView]:
    """What a user may see of the last days, latest first."""
    rows = refusals_seen_by(user, project, Filters(since=timezone.now() - SHOWN_FOR))
    return views_of(list(rows.order_by("-last_at", "why")[:MOST_SHOWN]))


def views_of(rows: Sequence[Refusal]) -> list[RefusalView]:
    names = _names({row.sender for row in rows}) if rows else {}
    return [
        RefusalView(
            row.id,
            names.get(row.sender, "a deleted key"),
            None if _is_user(row.sender) else row.sender,
            row.why,
            row.number,
            row.first_at,
            row.last_at,
        )
        for row in rows
    ]


def _names(senders: set[UUID]) -> dict[UUID, str]:
    keys = GatewayKey.objects.filter(pk__in=senders).values_list("pk", "name")
    users = User.objects.filter(pk__in=[sender.int for sender in senders if _is_user(sender)])
    return {pk: f"key “{name}”" for pk, name in keys} | {UUID(int=user.pk): f"tokens of {user}" for user in users}


def _is_user(sender: UUID) -> bool:
    """Whether it is a user's number; the ids of keys are far beyond."""
    return sender.int < 1 << 62
