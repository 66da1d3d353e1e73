"""Alerts, when they fired, and e-mail on its way.

Alert     a rule on a metric, whose turns it is about, and who is told by e-mail
Firing    a time in which its condition held
Mail      one message to one address
"""

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator, validate_email
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from dashboard.agents.change_tracking import keep_changes
from dashboard.board.alerts.rules import CONDITIONS, WINDOWS, condition_words, reading_words
from dashboard.board.metrics import METRICS
from dashboard.board.selectors import Scope
from dashboard.platform.ids import new_id
from dashboard.turns.provider_words import stored

MOST_ADDRESSES = 20
LARGEST = 1e15


class Alert(models.Model):
    """A rule on a metric. An empty filter matches all turns."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey("agents.Project", on_delete=models.CASCADE, editable=False)
    name = models.CharField(max_length=80)
    #: key of the metric of the board
    metric = models.CharField(max_length=40, choices=[(one.key, one.title) for one in METRICS.values()])
    #: how the metric is compared with the number
    condition = models.CharField(max_length=10, choices=list(CONDITIONS.items()), default="above")
    #: percent for shares and for changes, else in the metric's unit
    number = models.FloatField(validators=[MinValueValidator(0), MaxValueValidator(LARGEST)])
    #: minutes of the time that is judged
    window_minutes = models.PositiveIntegerField("window", choices=list(WINDOWS.items()), default=15)
    #: turns that must have ended in the window, or nothing is judged by it
    least_turns = models.PositiveIntegerField("minimum turns", default=1, validators=[MaxValueValidator(1_000_000)])
    agent = models.CharField(max_length=200, blank=True, default="")  #: name of the agent
    provider = models.CharField(max_length=200, blank=True, default="")
    model = models.CharField(max_length=200, blank=True, default="")
    #: addresses that are told by e-mail
    emails = ArrayField(
        models.CharField(max_length=254, validators=[validate_email]), default=list, blank=True, size=MOST_ADDRESSES
    )
    enabled = models.BooleanField(default=True)  #: whether it is judged
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        ordering: ClassVar = ["name", "id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["project", "name"],
                name="alerting_alert_name",
                violation_error_message="There is an alert of this name already.",
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def scope(self) -> Scope:
        return Scope(self.agent, stored(self.provider) if self.provider else "", self.model)

    @property
    def words(self) -> str:
        """The rule in one line."""
        return condition_words(self)

    @property
    def about(self) -> str:
        """Whose turns, in words."""
        given = Scope(self.agent, self.provider, self.model).given()
        return ", ".join(f"{name} {value}" for name, value in given.items()) or "all turns"


class Firing(models.Model):
    """One firing of an alert. It was resolved at `ended_at`; null: it is still firing."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    alert = models.ForeignKey(Alert, on_delete=models.CASCADE, related_name="firings", db_index=False)
    started_at = models.DateTimeField()
    held_at = models.DateTimeField()  #: when its condition last held
    ended_at = models.DateTimeField(null=True)
    value = models.FloatField(null=True)  #: of the metric when it began
    before = models.FloatField(null=True)  #: of the window before that one

    class Meta:
        indexes: ClassVar = [models.Index(fields=["alert", "-started_at"], name="alerting_firing_of")]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["alert"], condition=Q(ended_at=None), name="alerting_firing_one")
        ]

    def __str__(self) -> str:
        return f"{self.alert_id} at {self.started_at}"

    @property
    def words(self) -> str:
        """The metric when it began."""
        return reading_words(self.alert, self.value, self.before)


class Mail(models.Model):
    """One e-mail to one address. It is deleted with its alert."""

    alert = models.ForeignKey(Alert, on_delete=models.CASCADE, related_name="mails")
    to = models.TextField()  #: address
    subject = models.TextField()  #: subject line
    body = models.TextField()  #: plain text
    tried = models.PositiveIntegerField(default=0)  #: how often
    next_at = models.DateTimeField(null=True, db_default=Now())  #: of the next try; null: accepted, or given up
    sent_at = models.DateTimeField(null=True)  #: when the server accepted it
    fault = models.TextField(default="", blank=True)  #: of the last try, in a sentence
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["next_at"], condition=Q(next_at__isnull=False), name="alerting_mail_due")
        ]

    def __str__(self) -> str:
        return f"to {self.to}: {self.subject}"


keep_changes(Alert, but=("created_at",))
