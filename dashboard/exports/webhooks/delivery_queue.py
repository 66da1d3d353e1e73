"""The queue of deliveries: which are due, and what becomes of each after a try."""

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from dashboard.exports.webhooks.models import Delivery, Try, Webhook
from dashboard.platform.fields import storable_text

#: Seconds between tries, as Standard Webhooks advises; after the last, a delivery is given up.
DELAYS = (5, 5 * 60, 30 * 60, 2 * 3600, 5 * 3600, 10 * 3600, 14 * 3600, 20 * 3600, 24 * 3600)
JITTER = 0.2  #: of a delay, so that not all come back at one moment
LONGEST = 24 * 3600.0  #: seconds that an answer may ask us to wait
LEASE = timedelta(seconds=60)  #: for which a try is its worker's; if that is killed, another tries after it
MOST_WAITING = 10_000  #: deliveries of one webhook; beyond it the oldest are dropped
GIVEN_UP = 5  #: deliveries in a row, after which a webhook is disabled
GONE = 410
KEPT = timedelta(days=30)  #: for which a delivery that does not wait any more is shown
SWEEP_SECONDS = 3600.0

CLAIM = """
UPDATE webhooks_delivery SET next_at = now() + %(lease)s
 WHERE state = 'waiting' AND next_at <= now() AND id IN (
    SELECT due.id FROM webhooks_webhook webhook CROSS JOIN LATERAL (
        SELECT id FROM webhooks_delivery delivery
         WHERE delivery.webhook_id = webhook.id AND state = 'waiting' AND next_at <= now()
         ORDER BY next_at LIMIT %(of_one)s) due
     WHERE webhook.enabled AND webhook.id <> ALL(%(busy)s::uuid[])
           AND (webhook.id = ANY(%(quick)s::uuid[])) = %(are_quick)s
     ORDER BY random() LIMIT %(room)s)
RETURNING id
"""
DROP = """
WITH waiting AS MATERIALIZED (SELECT id FROM webhooks_delivery WHERE webhook_id = %(webhook)s AND state = 'waiting'),
beyond AS (SELECT id FROM waiting ORDER BY id DESC OFFSET %(most)s),
tries AS (DELETE FROM webhooks_try WHERE delivery_id IN (SELECT id FROM beyond))
DELETE FROM webhooks_delivery WHERE id IN (SELECT id FROM beyond)
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one try. `fault`: why there was no answer, in a sentence. `hopeless`: another try would fail as well."""

    at: datetime
    headers: dict[str, str]
    duration_ms: int
    status: int | None = None
    answer_headers: dict[str, str] | None = None
    answer: str = ""
    fault: str = ""
    hopeless: bool = False
    wait: float | None = None  #: seconds that the answer asks for

    @property
    def arrived(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    @property
    def words(self) -> str:
        return storable_text(self.fault) or f"The answer was {self.status}."


@dataclass(frozen=True, slots=True)
class DeliveryQuota:
    """Which deliveries a worker has room for: up to `room`, up to `of_one` to each webhook, none to one that is `busy`;
    `are_quick`: to those among `quick` alone, or to all others."""

    room: int
    of_one: int
    busy: Sequence[UUID]
    quick: Sequence[UUID]
    are_quick: bool


def claim(wanted: DeliveryQuota) -> list[Delivery]:
    """Deliveries that are due; this worker's for `LEASE`."""
    values: dict[str, Any] = {"lease": LEASE, **asdict(wanted)}
    with connection.cursor() as cursor:
        cursor.execute(CLAIM, values)
        ids = [found for (found,) in cursor.fetchall()]
    return list(Delivery.objects.filter(id__in=ids).select_related("webhook").order_by("id"))


def drop_oldest(webhook_id: UUID) -> None:
    """Delete what waits of a webhook beyond `MOST_WAITING`, and count it."""
    if Delivery.objects.filter(webhook_id=webhook_id, state=Delivery.State.WAITING).count() <= MOST_WAITING:
        return
    with connection.cursor() as cursor:
        cursor.execute(DROP, {"webhook": webhook_id, "most": MOST_WAITING})
        dropped = F("dropped") + cursor.rowcount
    Webhook.objects.filter(id=webhook_id).update(dropped=dropped, dropped_at=timezone.now())


@transaction.atomic
def settle(delivery_id: UUID, outcome: Outcome) -> None:
    """Keep what came of a try, and say when the next one is. Of a delivery that is gone, nothing is kept."""
    held = Delivery.objects.select_for_update(of=("self",)).filter(id=delivery_id).first()
    if held is None:
        return
    _keep(held, outcome)
    if held.state != Delivery.State.WAITING:
        return
    held.tried += 1
    if outcome.arrived:
        held.state, held.next_at = Delivery.State.DELIVERED, None
        Webhook.objects.filter(id=held.webhook_id).exclude(failed_in_row=0).update(failed_in_row=0)
    elif outcome.hopeless or outcome.status == GONE or held.tried > len(DELAYS):
        held.state, held.next_at = Delivery.State.DEAD, None
        _count_failure(held, outcome)
    else:
        held.next_at = timezone.now() + timedelta(seconds=_pause(held.tried, outcome.wait))
    held.save(update_fields=["state", "tried", "next_at"])


def sweep() -> int:
    """Forget deliveries that are over and old; returns how many."""
    over = Delivery.objects.exclude(state=Delivery.State.WAITING).filter(created_at__lt=timezone.now() - KEPT)
    return over.delete()[0]


def _pause(tried: int, wait: float | None) -> float:
    delay = DELAYS[tried - 1] * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 - no secret
    return max(delay, min(wait or 0.0, LONGEST))


def _keep(delivery: Delivery, outcome: Outcome) -> None:
    Try.objects.create(
        delivery=delivery,
        at=outcome.at,
        headers=outcome.headers,
        status=outcome.status,
        answer_headers=outcome.answer_headers or {},
        answer=storable_text(outcome.answer),
        fault=storable_text(outcome.fault),
        duration_ms=outcome.duration_ms,
    )


def _count_failure(delivery: Delivery, outcome: Outcome) -> None:
    webhook = Webhook.objects.select_for_update().get(id=delivery.webhook_id)
    webhook.failed_in_row += 1
    if webhook.enabled and (why := _disabling(webhook, outcome)):
        webhook.enabled, webhook.disabled_because = False, why
    webhook.save(update_fields=["failed_in_row", "enabled", "disabled_because"])


def _disabling(webhook: Webhook, outcome: Outcome) -> str:
    if outcome.status == GONE:
        return "Disabled: its address answered 410 (gone)."
    if webhook.failed_in_row >= GIVEN_UP:
        return f"Disabled: {webhook.failed_in_row} deliveries in a row were given up. The last time: {outcome.words}"
    return ""
