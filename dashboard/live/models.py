"""Signal: what a person wants of a running turn. The driver alone writes history; a signal is how others reach it."""

from django.db import models

from dashboard.turns.fields import ExactJSONField


class Signal(models.Model):
    """A cancel or an operator's action, waiting for whoever drives the turn. `handled_at` is set with the record.

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
