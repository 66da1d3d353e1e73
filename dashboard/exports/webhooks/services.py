"""Writes: webhooks, and deliveries that people send. A webhook's plain secret is returned once."""

from typing import Any

from django.db import transaction
from django.utils import timezone

from dashboard.accounts.models import User
from dashboard.agents.models import Project
from dashboard.exports.webhooks.delivery_creation import body_of
from dashboard.exports.webhooks.events import TEST
from dashboard.exports.webhooks.models import Delivery, Webhook
from dashboard.exports.webhooks.secret import new_secret, sealed

TOLD = "This is a test from Whystop."


def webhook_create(*, project: Project, by: User, **columns: Any) -> tuple[Webhook, str]:
    """A new webhook and its secret, which cannot be had again. Raises `ValidationError` in words, by field."""
    secret = new_secret()
    webhook = Webhook(project=project, created_by=by, sealed_secret=sealed(secret), **columns)
    webhook.full_clean()
    webhook.save(force_insert=True)
    return webhook, secret


def webhook_change(webhook: Webhook, **columns: Any) -> None:
    """Raises `ValidationError` in words, by field."""
    for name, value in columns.items():
        setattr(webhook, name, value)
    webhook.full_clean()
    webhook.save(update_fields=list(columns))


def webhook_enable(webhook: Webhook) -> None:
    """Send again, from now on; what waited is sent too."""
    Webhook.objects.filter(id=webhook.id).update(enabled=True, disabled_because="", failed_in_row=0)


def webhook_disable(webhook: Webhook) -> None:
    Webhook.objects.filter(id=webhook.id).update(enabled=False, disabled_because="")


def webhook_new_secret(webhook: Webhook) -> str:
    """Sign with another secret from now on, which cannot be had again."""
    secret = new_secret()
    Webhook.objects.filter(id=webhook.id).update(sealed_secret=sealed(secret))
    return secret


def webhook_delete(webhook: Webhook) -> None:
    """With all its deliveries."""
    webhook.delete()


def webhook_test(webhook: Webhook) -> Delivery:
    """A delivery about nothing, to see whether one arrives."""
    body = body_of(TEST, timezone.now(), {"message": TOLD})
    return Delivery.objects.create(webhook=webhook, kind=TEST, body=body)


@transaction.atomic
def delivery_again(delivery: Delivery) -> bool:
    """Send it again, as it was, by the same id; whether it was over."""
    held = Delivery.objects.select_for_update().get(id=delivery.id)
    if held.state == Delivery.State.WAITING:
        return False
    held.state, held.tried, held.next_at = Delivery.State.WAITING, 0, timezone.now()
    held.save(update_fields=["state", "tried", "next_at"])
    return True
