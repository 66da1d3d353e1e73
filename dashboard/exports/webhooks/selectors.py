"""Reads of webhooks and their deliveries."""

from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count, Max, Q, QuerySet

from dashboard.agents.models import Project
from dashboard.exports.webhooks.models import Delivery, DroppedEvents, Webhook

PAGE = 50


@dataclass(frozen=True, slots=True)
class Deliveries:
    """Some of a webhook, newest first; `older`: before which the next ones are, None where there are none."""

    items: list[Delivery]
    older: UUID | None


def webhooks_of(project: Project) -> QuerySet[Webhook]:
    """With how many deliveries wait and were given up, and the newest."""
    return Webhook.objects.filter(project=project).annotate(
        waiting=Count("deliveries", filter=Q(deliveries__state="waiting")),
        dead=Count("deliveries", filter=Q(deliveries__state="dead")),
        last_at=Max("deliveries__created_at"),
    )


def webhook_get(webhook_id: UUID, *, project: Project) -> Webhook:
    """Raises `Webhook.DoesNotExist`."""
    return webhooks_of(project).get(id=webhook_id)


def dropped_events() -> DroppedEvents | None:
    """Of all projects; None where there never were any."""
    return DroppedEvents.objects.first()


def deliveries_of(webhook: Webhook, *, before: UUID | None, state: str = "") -> Deliveries:
    """`state`: of those alone; empty: all."""
    found = Delivery.objects.filter(webhook=webhook, **({"state": state} if state else {}))
    found = found.filter(id__lt=before) if before else found
    items = list(found.select_related("turn").order_by("-id")[: PAGE + 1])
    return Deliveries(items[:PAGE], items[PAGE - 1].id if len(items) > PAGE else None)


def delivery_rows(webhook: Webhook, *, state: str | None, kind: str | None) -> QuerySet[Delivery]:
    """With their tries; None: any."""
    given = {name: value for name, value in {"state": state, "kind": kind}.items() if value is not None}
    return Delivery.objects.filter(webhook=webhook, **given).prefetch_related("tries")


def delivery_get(delivery_id: UUID, *, project: Project) -> Delivery:
    """With its webhook and its tries. Raises `Delivery.DoesNotExist`."""
    found = Delivery.objects.select_related("webhook", "turn").prefetch_related("tries")
    return found.get(id=delivery_id, webhook__project=project)
