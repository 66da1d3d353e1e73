"""Who is told of what, and what was sent.

Webhook    an address, the events that it is told of, and the secret that requests to it are signed with
Happened   an event that no delivery has been made of yet; written by the database, in the transaction of the event
DroppedEvents  how many events no worker came for in time
Delivery   one event on its way to one webhook, with the bytes that are sent
Try        one request, and its answer
"""

from typing import ClassVar
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from dashboard.agents.change_tracking import keep_changes
from dashboard.agents.validation import url_valid
from dashboard.platform.fields import ExactJSONField
from dashboard.platform.ids import new_id

#: Events that wait for a worker (migration 0003); up to a thousand more do until some are dropped.
MOST_EVENTS = 100_000


class Webhook(models.Model):
    """An address that receives events. An empty list matches every turn."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey("agents.Project", on_delete=models.PROTECT, editable=False)
    name = models.CharField(max_length=80)
    #: where deliveries are posted; its host alone is shown to readers
    url = models.CharField("address", max_length=2000, validators=[url_valid])
    sealed_secret = models.BinaryField(editable=False)  #: `secret.sealed`
    events = ArrayField(models.CharField(max_length=40))  #: of `events.EVENTS`
    #: a turn must have one of them to be told; empty: any
    statuses = ArrayField(models.CharField(max_length=40), default=list, blank=True)
    #: why the agent stopped; empty: any
    stop_reasons = ArrayField(models.CharField(max_length=40), default=list, blank=True)
    #: why the model stopped; empty: any
    model_stop_reasons = ArrayField(models.CharField(max_length=40), default=list, blank=True)
    enabled = models.BooleanField(default=True)  #: whether anything is sent
    disabled_because = models.TextField(default="", blank=True)  #: a sentence; empty: a person did it
    failed_in_row = models.PositiveIntegerField(default=0)  #: deliveries given up since one arrived
    dropped = models.PositiveBigIntegerField(default=0, editable=False)  #: deliveries, because too many waited
    dropped_at = models.DateTimeField(null=True, editable=False)  #: the last time
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        ordering: ClassVar = ["name", "id"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["project", "name"], name="webhooks_webhook_name")]

    def __str__(self) -> str:
        return self.name

    @property
    def host(self) -> str:
        """All that is shown of the address to who may not change it: the rest may be a secret."""
        return urlsplit(self.url).hostname or ""


class Happened(models.Model):
    """An event of a turn that is not yet queued for the webhooks. Written by triggers only."""

    kind = models.TextField()  #: turn.ended, turn.held, prediction.failed
    turn_id = models.UUIDField()
    prediction_id = models.UUIDField(null=True)  #: of a prediction that failed; null: it happened to the turn
    at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"{self.kind} of {self.turn_id}"


class DroppedEvents(models.Model):
    """Counts events that were dropped because MOST_EVENTS newer ones waited for a worker. At most one row.

    The database counts them (migration 0003).
    """

    id = models.SmallIntegerField(primary_key=True, default=1)
    events = models.PositiveBigIntegerField(default=0)  #: how many
    at = models.DateTimeField()  #: the last time

    def __str__(self) -> str:
        return f"{self.events} events"


class Delivery(models.Model):
    """One event for one webhook. It is deleted with its webhook or with its turn (the latter by migration 0001)."""

    class State(models.TextChoices):
        WAITING = "waiting"  #: for its first try, or the next
        DELIVERED = "delivered"
        DEAD = "dead"  #: given up; a person may send it again

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries", db_index=False)
    turn = models.ForeignKey(
        "turns.Turn", null=True, on_delete=models.CASCADE, db_constraint=False, related_name="+"
    )  #: null: a test
    kind = models.TextField()  #: of `events.EVENTS`, or a test
    body = models.TextField()  #: as it is sent
    state = models.TextField(choices=State, default=State.WAITING)
    tried = models.PositiveIntegerField(default=0)  #: since it was sent first, or again
    next_at = models.DateTimeField(null=True, db_default=Now())  #: of the next try, or until when one is under way
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["webhook", "-id"], name="webhooks_delivery_of"),
            models.Index(
                fields=["webhook", "next_at"], condition=models.Q(state="waiting"), name="webhooks_delivery_due"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"

    @property
    def name(self) -> str:
        """Its `webhook-id`: the same however often it is sent."""
        return f"msg_{self.id.hex}"


class Try(models.Model):
    """One request of a delivery. Without a status there was no answer; `fault` says why."""

    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="tries")
    at = models.DateTimeField()
    headers = ExactJSONField(default=dict)  #: as they were sent
    status = models.PositiveIntegerField(null=True)  #: HTTP status of the answer; null: none came
    answer_headers = ExactJSONField(default=dict)  #: as they came back
    answer = models.TextField(default="", blank=True)  #: its first characters
    fault = models.TextField(default="", blank=True)  #: why there was no answer, in a sentence
    duration_ms = models.PositiveIntegerField()

    class Meta:
        ordering: ClassVar = ["id"]

    def __str__(self) -> str:
        return f"{self.delivery_id} at {self.at}"


#: What the sender writes is no change of the settings; nor is a secret kept, which nobody may read.
keep_changes(Webhook, but=("created_at", "sealed_secret", "failed_in_row", "dropped", "dropped_at"))
