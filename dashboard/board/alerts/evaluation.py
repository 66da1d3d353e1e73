"""The worker's look at all alerts: what begins to fire, what is resolved, and who is told of it.

An alert fires once, until it is resolved; who is told is told in the transaction that stores it.
"""

from datetime import datetime, timedelta
from urllib.parse import urlsplit
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction

from agentcore.number_format import duration
from dashboard.board.alerts.models import Alert, Firing, Mail
from dashboard.board.alerts.rules import CLEAR_MINUTES, Reading
from dashboard.board.alerts.selectors import reading_of, settled_minute
from dashboard.board.alerts.services import address_of
from dashboard.exports.webhooks.delivery_creation import announce
from dashboard.exports.webhooks.events import ALERT_FIRED, ALERT_RESOLVED
from dashboard.inbox.models import Notice
from dashboard.inbox.services import notice_tell, notices_withdraw
from dashboard.platform.egress.proxies import is_near
from dashboard.platform.logs import visible

log = structlog.get_logger(__name__)

JUDGE_SECONDS = 10.0  #: between two looks
NO_LINK = "To get a link here, set WHYSTOP_ADDRESS to the public address of Whystop."


def alerts_judge(now: datetime | None = None) -> int:
    """Judge every alert by the minutes that are complete; returns how many began to fire or were resolved."""
    until, changed = settled_minute(now), 0
    for alert_id in Alert.objects.filter(enabled=True).values_list("id", flat=True):
        try:
            changed += _judge(alert_id, until)
        except Exception:
            # One that cannot be judged keeps no other from being told.
            log.exception("alert_not_evaluated", alert=str(alert_id))
    return changed


@transaction.atomic
def _judge(alert_id: UUID, until: datetime) -> bool:
    rows = Alert.objects.select_for_update(skip_locked=True, of=("self",)).select_related("project")
    alert = rows.filter(id=alert_id, enabled=True).first()
    if alert is None:
        return False
    firing = alert.firings.filter(ended_at=None).first()
    reading = reading_of(alert, until)
    if reading.holds:
        return _holds(alert, firing, reading, until)
    if firing is None or until - firing.held_at < timedelta(minutes=CLEAR_MINUTES):
        return False
    firing.ended_at = until
    firing.save(update_fields=["ended_at"])
    _tell(alert, firing, Notice.Kind.RESOLVED, ALERT_RESOLVED)
    return True


def _holds(alert: Alert, firing: Firing | None, reading: Reading, until: datetime) -> bool:
    if firing is not None:
        firing.held_at = max(firing.held_at, until)
        firing.save(update_fields=["held_at"])
        return False
    firing = Firing.objects.create(
        alert=alert, started_at=until, held_at=until, value=reading.value, before=reading.before
    )
    _tell(alert, firing, Notice.Kind.ALERT, ALERT_FIRED)
    return True


def _tell(alert: Alert, firing: Firing, kind: Notice.Kind, event: str) -> None:
    """The inbox, e-mail and webhooks. In the inbox a resolved alert stands in place of the one that fired."""
    address, told = address_of(alert), sentence(alert, firing)
    notices_withdraw(project=alert.project, address=address)
    notice_tell(project=alert.project, kind=kind, title=alert.name, address=address, told=told)
    announce(project=alert.project, kind=event, data={"alert": _data(alert, firing, told), "path": address})
    Mail.objects.bulk_create(_mails(alert, told, address, "resolved" if firing.ended_at else "firing"))


def sentence(alert: Alert, firing: Firing) -> str:
    """What happened, for a person."""
    told = f"{alert.words} ({alert.about}): {firing.words} at {firing.started_at:%H:%M} UTC."
    if firing.ended_at is None:
        return told
    return f"Resolved after {duration((firing.ended_at - firing.started_at).total_seconds())}. {told}"


def _data(alert: Alert, firing: Firing, told: str) -> dict[str, object]:
    names = ("id", "name", "metric", "condition", "number", "window_minutes", "agent", "provider", "model")
    times = {"started_at": firing.started_at, "resolved_at": firing.ended_at}
    return {name: getattr(alert, name) for name in names} | times | {
        "value": firing.value, "before": firing.before, "message": told
    }  # fmt: skip


def _where(address: str) -> str:
    """How the reader gets there. A loopback address would lead to whatever runs on the reader's own machine."""
    host = urlsplit(settings.ADDRESS).hostname
    if host and is_near(host):
        return f"On the machine that runs Whystop: {settings.ADDRESS}{address}"
    return f"{settings.ADDRESS}{address}" if host else f"In Whystop: {address}\n{NO_LINK}"


def _mails(alert: Alert, told: str, address: str, state: str) -> list[Mail]:
    subject = visible(" ".join(f"[Whystop] {alert.name}: {state}".split()))  # a header is one line
    body = f"{visible(told)}\n\n{_where(address)}\n"
    return [Mail(alert=alert, to=to, subject=subject, body=body) for to in alert.emails]
