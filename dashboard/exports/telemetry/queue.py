"""What waits for each destination, which worker sends it, and what became of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection
from django.db.models import F
from django.utils import timezone

from dashboard.agents.models import Project
from dashboard.exports.telemetry.models import Destination, Queued
from dashboard.metrics.counters import count_telemetry

BATCH = 200  #: turns of one export
MOST = 50_000  #: turns that wait for one destination; of more, the oldest are dropped
LEASE = timedelta(seconds=90)  #: for which a destination is one worker's
PAUSES = (5, 10, 30, 60, 120, 300)  #: seconds after so many failures
LONGEST = 3_600.0  #: seconds that an answer may ask us to wait
ENVIRONMENT = "environment"

CLAIM = """
UPDATE telemetry_destination SET next_at = now() + %s * interval '1 second'
 WHERE id IN (SELECT id FROM telemetry_destination destination
               WHERE enabled AND next_at <= now()
                 AND EXISTS (SELECT FROM telemetry_queued WHERE destination_id = destination.id)
               FOR UPDATE SKIP LOCKED)
RETURNING id
"""
TRIM = """
DELETE FROM telemetry_queued WHERE destination_id = %(destination)s AND id <= (
    SELECT id FROM telemetry_queued WHERE destination_id = %(destination)s ORDER BY id DESC OFFSET %(most)s LIMIT 1)
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one batch. `refused`: turns that the endpoint took not and never will; `fault`: why, or what failed.

    `again`: whether the batch is sent again; `wait`: seconds that the answer asks for; `smaller`: in two halves."""

    refused: int = 0
    fault: str = ""
    again: bool = False
    wait: float = 0.0
    smaller: bool = False


def claim() -> list[Destination]:
    """Destinations for which something waits, and that are this worker's for `LEASE`."""
    with connection.cursor() as cursor:
        cursor.execute(CLAIM, [LEASE.total_seconds()])
        ids = [found for (found,) in cursor.fetchall()]
    return list(Destination.objects.filter(id__in=ids))


def next_of(destination: Destination, size: int) -> list[Queued]:
    """The first that wait; the oldest of too many are dropped before."""
    with connection.cursor() as cursor:
        cursor.execute(TRIM, {"destination": destination.id, "most": MOST})
        dropped = cursor.rowcount
    if dropped:
        Destination.objects.filter(id=destination.id).update(dropped=F("dropped") + dropped)
        count_telemetry("dropped", dropped)
    return list(Queued.objects.filter(destination=destination).order_by("id")[:size])


def settle(destination: Destination, batch: Sequence[Queued], told: int, outcome: Outcome) -> None:
    """Forget what was sent or refused; what failed stays first in line. `told`: how many turns were in the export."""
    now = timezone.now()
    row = Destination.objects.filter(id=destination.id)
    if outcome.fault:
        row.update(fault=outcome.fault, fault_at=now)
    if outcome.again:
        row.update(failures=F("failures") + 1, next_at=now + timedelta(seconds=_pause(destination, outcome.wait)))
        return
    Queued.objects.filter(id__in=[one.pk for one in batch]).delete()
    sent = max(0, told - outcome.refused)
    row.update(sent=F("sent") + sent, refused=F("refused") + outcome.refused, failures=0)
    if sent:
        row.update(last_sent_at=now)
        count_telemetry("sent", sent)
    if outcome.refused:
        count_telemetry("refused", outcome.refused)


def release(destination: Destination) -> None:
    """All that waited is sent: another worker may have the destination."""
    Destination.objects.filter(id=destination.id).update(next_at=timezone.now())


def environment_sync(project: Project) -> None:
    """A destination for `WHYSTOP_OTLP_ENDPOINT`; without it, the one that it made is disabled."""
    collector = settings.ENVIRONMENT.otlp
    ours = Destination.objects.filter(project=project, from_environment=True)
    if collector.endpoint:
        said = {"endpoint": collector.endpoint, "content": collector.content, "enabled": True}
        Destination.objects.update_or_create(
            project=project, from_environment=True, defaults=said, create_defaults={**said, "name": ENVIRONMENT}
        )
    else:
        ours.update(enabled=False)


def waiting(destination: Destination) -> int:
    return Queued.objects.filter(destination=destination).count()


def since_of(destination: Destination, first: datetime) -> datetime:
    """When the time begins that a batch's metrics are of."""
    return max(destination.last_sent_at, first) if destination.last_sent_at else first


def _pause(destination: Destination, wait: float) -> float:
    return max(PAUSES[min(destination.failures, len(PAUSES) - 1)], min(wait, LONGEST))
