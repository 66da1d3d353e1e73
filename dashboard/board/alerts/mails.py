"""E-mail sent until a server accepts it, or its tries are over. A try whose worker is killed is made again, so that a
message may arrive twice."""

from datetime import timedelta

import structlog
from django.core.mail import EmailMessage
from django.db import transaction
from django.utils import timezone

from dashboard.board.alerts.models import Mail
from dashboard.platform.fields import storable_text

log = structlog.get_logger(__name__)

SEND_SECONDS = 2.0  #: between two looks
LEASE = timedelta(seconds=60)  #: for which a try is its worker's
DELAYS = (10, 60, 300, 1_800, 7_200)  #: seconds after each try that failed
KEPT = timedelta(days=30)


def mails_send() -> int:
    """Send what is due; returns how many messages were accepted."""
    accepted = 0
    while (mail := _claim()) is not None:
        accepted += _send(mail)
    return accepted


def mails_sweep() -> int:
    """Forget messages that are over and old; returns how many."""
    return Mail.objects.filter(next_at=None, created_at__lt=timezone.now() - KEPT).delete()[0]


@transaction.atomic
def _claim() -> Mail | None:
    due = Mail.objects.select_for_update(skip_locked=True).filter(next_at__lte=timezone.now())
    mail = due.order_by("next_at").first()
    if mail is not None:
        mail.next_at = timezone.now() + LEASE
        mail.save(update_fields=["next_at"])
    return mail


def _send(mail: Mail) -> bool:
    fault = ""
    try:
        EmailMessage(mail.subject, mail.body, to=[mail.to]).send()
    except Exception as error:
        fault = storable_text(f"{type(error).__name__}: {error}")[:500]
        log.warning("alert_mail_not_sent", error=fault)
    now = timezone.now()
    wait = DELAYS[mail.tried] if fault and mail.tried < len(DELAYS) else None
    Mail.objects.filter(pk=mail.pk).update(
        tried=mail.tried + 1,
        fault=fault,
        sent_at=None if fault else now,
        next_at=None if wait is None else now + timedelta(seconds=wait),
    )
    return not fault
