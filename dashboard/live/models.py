"""What drivers of many processes share beside the histories.

Signal      what a person wants of a running turn; the driver alone writes history, a signal is how others reach it
CallSlot    a call of a connection with limits: its place in line, then its slot
Process     a process that runs turns itself, for callers who wait; heard of each second
OwnedTurn   a turn under way in such a process: no job, and nobody to go on with it should the process be gone
"""

from django.db import models
from django.db.models.functions import Now

from dashboard.platform.fields import ExactJSONField


class Signal(models.Model):
    """A cancel or another action of an operator, until the driver of the turn handles it. `handled_at` is set with the
    record.

    One that makes no sense any more when it is handled leaves no record; `refused` then says why.
    """

    turn_id = models.UUIDField()
    action = models.TextField()  #: cancel, hold, release, step, refuse, change
    payload = ExactJSONField(default=dict)
    by = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)
    handled_at = models.DateTimeField(null=True)
    refused = models.TextField(default="", db_default="", blank=True)  #: why the machine did not take it, in words

    class Meta:
        ordering = ["id"]
        indexes = [
            models.Index(fields=["turn_id", "id"], condition=models.Q(handled_at=None), name="live_signal_waiting"),
            models.Index(fields=["turn_id", "id"], condition=~models.Q(refused=""), name="live_signal_refused"),
        ]

    def __str__(self) -> str:
        return f"{self.action} of {self.turn_id} by {self.by}"


class CallSlot(models.Model):
    """A model call that waits, runs, or ran within the last minute. Waiting calls are ordered by id.

    `seen_at` is a lease, by the database's clock: its worker is heard of each second, or the slot is free again.
    """

    connection = models.ForeignKey("agents.Connection", on_delete=models.CASCADE, db_index=False)
    turn_id = models.UUIDField()
    attempt = models.PositiveIntegerField()
    asked_at = models.DateTimeField(db_default=Now())
    seen_at = models.DateTimeField(db_default=Now())
    granted_at = models.DateTimeField(null=True)
    released_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        indexes = [
            models.Index(fields=["connection", "granted_at", "id"], name="live_callslot_line"),
            models.Index(fields=["turn_id"], condition=models.Q(released_at=None), name="live_callslot_turn"),
        ]

    def __str__(self) -> str:
        return f"call {self.attempt} of {self.turn_id}"


class Process(models.Model):
    """A running process. It is deleted when the process exits or sends no heartbeat; its turns then end as lost."""

    id = models.UUIDField(primary_key=True)
    seen_at = models.DateTimeField(db_default=Now())  #: a lease, by the database's clock

    def __str__(self) -> str:
        return f"process {self.id}"


class OwnedTurn(models.Model):
    """The process that drives a turn. It is deleted with the record that ends the turn. It has no foreign keys: the
    turn is lost if the process is gone."""

    turn_id = models.UUIDField(primary_key=True)
    process_id = models.UUIDField(db_index=True)

    def __str__(self) -> str:
        return f"turn {self.turn_id} of process {self.process_id}"
