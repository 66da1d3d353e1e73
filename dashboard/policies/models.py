"""Drafts that are tried in the shadow of live turns, and what each of those turns would have been."""

from typing import ClassVar
from uuid import UUID

from django.conf import settings
from django.db import models

from dashboard.platform.ids import new_id
from dashboard.policies.backtests.result_text import difference_in_words


class Shadow(models.Model):
    """A draft version that is evaluated on each new turn of its policy, after the turn has ended.

    Nothing of it reaches a turn: when one has ended, its recording is asked what-if (no provider is asked).
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey("agents.Project", on_delete=models.PROTECT)
    version = models.ForeignKey("agents.PolicyVersion", on_delete=models.CASCADE, related_name="shadows")
    why = models.TextField(default="", blank=True)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    #: who ended it, or promoted its draft; null: it runs, or nobody is known to have
    ended_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    #: every turn up to this id has been judged, or has its place kept, or is none of ours
    seen_to = models.UUIDField(default=UUID(int=0))

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["version"], condition=models.Q(ended_at=None), name="policies_shadow_one_of_a_version"
            )
        ]

    def __str__(self) -> str:
        return f"shadow of {self.version}"


class ShadowVerdict(models.Model):
    """How one turn would have ended. `before` and `after` are the recorded and the predicted terminal reason.

    With the word `NOT_ENDED` it only keeps the place of a turn that others went past, held or long; that is no verdict.
    """

    NOT_ENDED: ClassVar = ""

    class Word(models.TextChoices):
        SAME = "same"
        FLIPPED = "flipped"
        UNENDED = "unended"  #: it would have continued; how it ends is not recorded
        UNDECIDABLE = "undecidable"

    shadow = models.ForeignKey(Shadow, on_delete=models.CASCADE, related_name="verdicts")
    turn = models.ForeignKey("turns.Turn", on_delete=models.CASCADE, related_name="+", db_constraint=False)
    word = models.TextField(choices=Word)
    before = models.TextField(default="", blank=True)
    after = models.TextField(default="", blank=True)
    tokens_delta = models.BigIntegerField(default=0)
    calls_delta = models.BigIntegerField(default=0)
    #: recorded, certain, estimated or undecidable; empty: judged before it was kept
    certainty = models.TextField(default="", blank=True)
    #: why it is undecidable (`certainty_text.UNDECIDED`); empty: it is not, or it was judged before it was kept
    why = models.TextField(default="", db_default="", blank=True)
    parted_at = models.PositiveIntegerField(null=True)  #: the first record decided otherwise; null: none was
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["shadow", "turn"], name="policies_shadowverdict_once"),
        ]
        indexes: ClassVar = [models.Index(fields=["shadow", "word", "-turn"], name="policies_verdict_word")]

    @property
    def difference(self) -> str:
        """`2 calls fewer, 126 tokens fewer`; empty where it is none."""
        about = self.certainty in ("", "estimated") or self.turn.tokens_estimated
        return difference_in_words(calls=self.calls_delta, tokens=self.tokens_delta, about=about)

    def __str__(self) -> str:
        return f"{self.word}: {self.turn_id}"
