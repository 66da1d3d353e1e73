"""Deliveries made of events: of each for every webhook that is told of it, in the transaction that forgets the event.

Several of one kind about one turn that wait together are told once: its trace came in pieces.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import structlog
from django.db import transaction
from django.utils import timezone

from dashboard.agents.models import Project
from dashboard.exports.webhooks.delivery_queue import drop_oldest
from dashboard.exports.webhooks.events import Event, event_of, is_for
from dashboard.exports.webhooks.models import Delivery, Happened, Webhook
from dashboard.policies.predictions.models import Prediction
from dashboard.turns.models import Turn

log = structlog.get_logger(__name__)

BATCH = 200  #: events of one transaction


def announce_all() -> int:
    """Returns how many events there were."""
    announced = 0
    while done := _announce():
        announced += done
    return announced


def body_of(kind: str, at: datetime, data: Mapping[str, Any]) -> str:
    """The request's body."""
    told = {"type": kind, "timestamp": at.astimezone(UTC).isoformat(), "data": data}
    return json.dumps(told, default=_plain, separators=(",", ":"))


def announce(*, project: Project, kind: str, data: Mapping[str, Any]) -> None:
    """Deliveries of an event that is about no turn, in the transaction of who calls."""
    told = Webhook.objects.filter(project=project, enabled=True, events__contains=[kind])
    body = body_of(kind, timezone.now(), data)
    _store([Delivery(webhook=webhook, kind=kind, body=body) for webhook in told])


def _store(deliveries: Iterable[Delivery]) -> None:
    """And drop the oldest of webhooks for which too many wait now."""
    made = Delivery.objects.bulk_create(deliveries)
    for webhook_id in sorted({delivery.webhook_id for delivery in made}):
        drop_oldest(webhook_id)


@transaction.atomic
def _announce() -> int:
    waiting = Happened.objects.select_for_update(skip_locked=True).order_by("id")
    batch = list(waiting[:BATCH])
    once = {(one.kind, one.turn_id, one.prediction_id): one for one in batch}
    _store(_deliveries(list(once.values())))
    Happened.objects.filter(id__in=[one.pk for one in batch]).delete()
    return len(batch)


def _deliveries(happened: list[Happened]) -> Iterable[Delivery]:
    webhooks = list(Webhook.objects.filter(enabled=True))
    if not webhooks or not happened:
        return []
    turns = _turns([one.turn_id for one in happened])
    predictions = Prediction.objects.in_bulk([one.prediction_id for one in happened if one.prediction_id])
    told = ((one, _event(one, turns, predictions)) for one in happened)
    return [
        Delivery(webhook=webhook, turn=event.turn, kind=event.kind, body=body_of(event.kind, one.at, event.data))
        for one, event in told
        if event is not None
        for webhook in webhooks
        if webhook.project_id == event.turn.project_id and is_for(webhook, event)
    ]


def _turns(ids: list[UUID]) -> dict[UUID, Turn]:
    return Turn.objects.select_related("policy_version", "origin__imported_by", "ingested").in_bulk(ids)


def _event(happened: Happened, turns: Mapping[UUID, Turn], predictions: Mapping[UUID, Prediction]) -> Event | None:
    prediction = predictions.get(happened.prediction_id) if happened.prediction_id else None
    try:
        return event_of(happened, turns.get(happened.turn_id), prediction)
    except Exception:
        # One that cannot be read keeps no other from being told.
        log.exception("webhook_event_not_readable", turn=str(happened.turn_id), kind=happened.kind)
        return None


def _plain(value: Any) -> str:
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else str(value)
