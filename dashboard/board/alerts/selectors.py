"""Alerts, their firings, and what one would have done on past data."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import OuterRef, QuerySet, Subquery
from django.utils import timezone

from dashboard.agents.models import Project
from dashboard.board.alerts.history import PastFiring, firings
from dashboard.board.alerts.models import Alert, Firing, Mail
from dashboard.board.alerts.rules import WINDOWS, Reading, read, reading_words
from dashboard.board.metrics import DOLLARS
from dashboard.board.selectors import minutes_of, totals_of
from dashboard.exports.webhooks.models import Webhook

PREVIEW = timedelta(days=30)
LISTED = 20  #: firings of one alert, the newest
#: Sums of the last minute are complete so long after it (`timeline.rollups`, `board.sum_updates`).
LAG = timedelta(seconds=20)


@dataclass(frozen=True, slots=True)
class Preview:
    """What a rule would have done. `firings`: newest first; `now`: its reading at this moment."""

    alert: Alert
    since: datetime
    until: datetime
    firings: tuple[PastFiring, ...]
    now: Reading

    @property
    def listed(self) -> tuple[PastFiring, ...]:
        return self.firings[:LISTED]

    @property
    def now_words(self) -> str:
        return reading_words(self.alert, self.now.value, self.now.before)

    @property
    def window(self) -> str:
        return WINDOWS[self.alert.window_minutes]


def alerts_of(project: Project) -> QuerySet[Alert]:
    """By name, each with `firing_since` (None: it is not firing) and `last_fired_at`."""
    newest = Firing.objects.filter(alert=OuterRef("pk")).order_by("-started_at")
    return Alert.objects.filter(project=project).annotate(
        firing_since=Subquery(newest.filter(ended_at=None).values("started_at")[:1]),
        last_fired_at=Subquery(newest.values("started_at")[:1]),
    )


def alert_get(alert_id: UUID, *, project: Project) -> Alert:
    """As `alerts_of`. Raises `Alert.DoesNotExist`."""
    return alerts_of(project).get(id=alert_id)


def firings_of(alert: Alert) -> list[Firing]:
    """The newest."""
    return list(alert.firings.select_related("alert").order_by("-started_at")[:LISTED])


def mails_failed(alert: Alert) -> list[Mail]:
    """The newest that were not accepted."""
    return list(alert.mails.exclude(fault="").filter(sent_at=None).order_by("-id")[:LISTED])


def webhooks_told(project: Project, kind: str) -> list[Webhook]:
    """The webhooks that are told of this event."""
    return list(Webhook.objects.filter(project=project, enabled=True, events__contains=[kind]))


def settled_minute(now: datetime | None = None) -> datetime:
    """The end of the last minute whose sums are complete."""
    return ((now or timezone.now()) - LAG).replace(second=0, microsecond=0)


def reading_of(alert: Alert, until: datetime) -> Reading:
    """Of the window that ends at a whole minute."""
    window = timedelta(minutes=alert.window_minutes)
    sums, before = (
        totals_of(project=alert.project, scope=alert.scope, since=end - window, until=end)
        for end in (until, until - window)
    )
    return read(alert, sums, before)


def preview_of(alert: Alert) -> Preview:
    """What an alert, stored or not, would have done in the last 30 days."""
    until = settled_minute()
    since = until - PREVIEW
    minutes = minutes_of(
        project=alert.project,
        scope=alert.scope,
        since=since - 2 * timedelta(minutes=alert.window_minutes),
        until=until,
        priced=alert.metric == DOLLARS,
    )
    found = firings(alert, minutes, since=since, until=until)
    return Preview(alert, since, until, tuple(reversed(found)), reading_of(alert, until))
