"""Suggestions that were told, so that a re-run under one of them is known as its test."""

from typing import ClassVar

from django.db import models

from dashboard.platform.fields import ExactJSONField
from dashboard.platform.ids import new_id


class ToldSuggestion(models.Model):
    """A suggested limit that a page, the API or a command has shown. The worker deletes old ones."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey("agents.Project", on_delete=models.PROTECT, related_name="+", db_index=False)
    # Whoever deletes a turn, the database itself deletes these (migration 0001).
    turn = models.ForeignKey(
        "turns.Turn", on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False
    )
    limit = models.TextField()  #: its key, such as `max_tokens`
    value = models.FloatField()  #: what was suggested
    basis = models.TextField()  #: what it rests on
    said = ExactJSONField()  #: the suggestion as it was told last
    told_at = models.DateTimeField()  #: when it was told last, at most ten minutes too early

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["turn", "limit", "value", "basis"], name="suggesting_told_once"),
        ]
        indexes: ClassVar = [models.Index(fields=["told_at"], name="suggesting_told_at")]

    def __str__(self) -> str:
        return f"{self.limit} {self.value:g} for {self.turn_id}"
