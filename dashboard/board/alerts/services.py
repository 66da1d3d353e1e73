"""Writes to alerts. Each raises `ValidationError` with sentences by field."""

from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from dashboard.accounts.models import User
from dashboard.agents.change_tracking import on_behalf
from dashboard.agents.models import Project
from dashboard.board.alerts.models import Alert
from dashboard.board.selectors import DIMENSIONS
from dashboard.inbox.services import notices_withdraw

MOST = 200  #: alerts of a project
TOO_MANY = f"There are {MOST} alerts already; delete one first."
#: What makes another rule of an alert. With other thresholds, names or addresses what fires goes on firing.
RULE = ("metric", "condition", *DIMENSIONS, "enabled")
NO_EMAIL = "E-mail is not configured: WHYSTOP_EMAIL_URL must name the mail server."


@transaction.atomic
def alert_create(*, project: Project, by: User, **columns: Any) -> Alert:
    alert = Alert(project=project, created_by=by, **columns)
    alert_check(alert)
    if Alert.objects.filter(project=project).count() >= MOST:
        raise ValidationError(TOO_MANY)
    with on_behalf(by):
        alert.save(force_insert=True)
    return alert


@transaction.atomic
def alert_change(alert: Alert, *, by: User, **columns: Any) -> None:
    """By another rule what was firing ends without a word, and its notice goes; it is judged anew."""
    is_another = any(name in RULE and getattr(alert, name) != value for name, value in columns.items())
    for name, value in columns.items():
        setattr(alert, name, value)
    alert_check(alert)
    with on_behalf(by):
        alert.save(update_fields=list(columns))
    if is_another and alert.firings.filter(ended_at=None).update(ended_at=timezone.now()):
        notices_withdraw(project=alert.project, address=address_of(alert))


@transaction.atomic
def alert_delete(alert: Alert, *, by: User) -> None:
    """With its firings, and with what the inbox tells of it."""
    notices_withdraw(project=alert.project, address=address_of(alert))
    with on_behalf(by):
        alert.delete()


def alert_check(alert: Alert) -> None:
    """Whether it can be judged and told."""
    alert.name = alert.name.strip()
    alert.full_clean()
    if alert.emails and not settings.EMAIL_IS_SET_UP:
        raise ValidationError({"emails": NO_EMAIL})


def address_of(alert: Alert) -> str:
    """The path of its page."""
    return reverse("alerting:alert", args=[alert.pk])
