"""Notice: something that happened to a turn while nobody looked. It is open until a person has seen it."""

from typing import ClassVar

from django.db import models

from dashboard.turns.ids import new_id


class Notice(models.Model):
    """It goes when its turn goes."""

    class Kind(models.TextChoices):
        EXPIRED = "expired"  #: an approval's time was over, and nobody had decided
        FAILED = "failed"  #: a recorded or certain prediction did not come true

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey("agents.Project", on_delete=models.PROTECT)
    # Whoever deletes a turn, the database itself deletes its notices (migration 0001).
    turn = models.ForeignKey("turns.Turn", on_delete=models.CASCADE, db_constraint=False, related_name="+")
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
