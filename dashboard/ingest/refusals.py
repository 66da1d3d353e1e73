"""What exporters were told is refused, by sender and reason: for people, who never see these answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.utils import timezone

from dashboard.accounts.models import User
from dashboard.gateway.models import GatewayKey
from dashboard.ingest.models import Refusal

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
    """`sender`: the name of a key, or of a user whose token was used."""

    sender: str
    why: str
    number: int
    last_at: datetime


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


def refusals_of(project_id: UUID, *, senders: Sequence[UUID] | None = None) -> list[RefusalView]:
    """What a project's exporters were refused in the last days, latest first. `senders`: of these alone."""
    rows = Refusal.objects.filter(project_id=project_id, last_at__gte=timezone.now() - SHOWN_FOR)
    if senders is not None:
        rows = rows.filter(sender__in=senders)
    found = list(rows.order_by("-last_at", "why")[:MOST_SHOWN])
    names = _names({row.sender for row in found}) if found else {}
    return [RefusalView(names.get(row.sender, "a deleted key"), row.why, row.number, row.last_at) for row in found]


def _names(senders: set[UUID]) -> dict[UUID, str]:
    keys = GatewayKey.objects.filter(pk__in=senders).values_list("pk", "name")
    users = User.objects.filter(pk__in=[sender.int for sender in senders if sender.int < 1 << 62])
    return {pk: f"key “{name}”" for pk, name in keys} | {UUID(int=user.pk): f"tokens of {user}" for user in users}
