"""Notice: something that happened while nobody looked. It is open until a person has seen it."""

from typing import ClassVar

from django.db import models
from django.urls import reverse

from dashboard.platform.ids import new_id


class Notice(models.Model):
    """A notice about a turn, which is deleted with the turn, or about an item with a page of its own."""

    class Kind(models.TextChoices):
        DECIDED = "decided"  #: an operator approved or refused tool calls; seen from the beginning
        EXPIRED = "expired"  #: an approval's time was over, and nobody had decided
        FAILED = "failed"  #: a recorded or certain prediction did not come true
        ALERT = "alert"  #: an alert began to fire
        RESOLVED = "resolved"  #: an alert has fired, and does no longer

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey("agents.Project", on_delete=models.PROTECT)
    # Whoever deletes a turn, the database itself deletes its notices (migration 0001).
    turn = models.ForeignKey("turns.Turn", null=True, on_delete=models.CASCADE, db_constraint=False, related_name="+")
    title = models.TextField(default="", blank=True)  #: of what is no turn
    address = models.TextField(default="", blank=True)  #: the path of its page
    kind = models.TextField(choices=Kind)
    told = models.TextField()  #: what happened, as one sentence
    created_at = models.DateTimeField(auto_now_add=True)
    seen_at = models.DateTimeField(null=True)  #: null: nobody has seen it
    seen_by = models.TextField(default="", blank=True)  #: who; stays when the user is gone

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["project", "-id"], condition=models.Q(seen_at=None), name="inbox_notice_open"),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.told}"

    @property
    def leads_to(self) -> str:
        """The path of the page of what it is about."""
        return self.address or reverse("turns:detail", args=[self.turn_id])

    @property
    def about(self) -> str:
        """What was asked of the turn, or the title of what is none."""
        return self.turn.input_text if self.turn is not None else self.title
