"""Prediction: what a what-if said of a turn before it ran, and what came of it. Calibration: a run of `calibrate`."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from agentcore.replay import Certainty
from dashboard.platform.fields import ExactJSONField
from dashboard.platform.ids import new_id


class Calibration(models.Model):
    """Re-runs of stored turns under other limits, made to measure predictions. Its trials are chosen at the start, so
    that it can be resumed."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey("agents.Project", on_delete=models.PROTECT)
    key = models.TextField()  #: of what was asked for, budgets apart: the same words go on with the same calibration
    trials = ExactJSONField(default=list)  #: `{turn, overrides, certainty, at_most: {…}}` each, in order
    skipped = ExactJSONField(default=dict)  #: why turns or values were left out, and how many
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["project", "key"], condition=Q(finished_at=None), name="predictions_calibration_one_unfinished"
            )
        ]

    def __str__(self) -> str:
        return f"calibration {self.id}"


class Prediction(models.Model):
    """How a re-run (`child`) was expected to end, from the recording of the original turn (`parent`).

    It is stored in the transaction that stores the child; what was predicted never changes after that (the database
    refuses it). It is erased with either turn.
    """

    class Kind(models.TextChoices):
        RERUN = "rerun"  #: a re-run under other limits
        SHADOW = "shadow"  #: a re-run of a shadowed turn under just the policy that the shadow tried on it
        CONTINUED = "continued"  #: live on from where a what-if was undecidable
        CALIBRATION = "calibration"  #: a re-run that `manage.py calibrate` made
        CHECK = "check"  #: a re-run under the recorded policy, to tell why another prediction failed

    class Reason(models.TextChoices):
        """Why a prediction failed, as far as that can be told."""

        PROVIDER_FAILED = "provider_failed"  #: a call failed that had not failed in the recording
        PROVIDER_DIFFERS = "provider_differs"  #: asked again under the recorded policy, it did not say the same
        DEFECT = "defect"  #: asked again under the recorded policy, it gave the recorded answer
        ASSUMPTION = "assumption"  #: an estimate took an assumption that did not hold

    class NotCompared(models.TextChoices):
        """Why a prediction was not compared with its turn."""

        CANCELLED = "cancelled"
        INTERRUPTED = "interrupted"  #: it could not go on, or a call was given again after its worker was gone
        OPERATOR = "operator"  #: an operator changed something while it ran
        UNANSWERED = "unanswered"  #: the provider answered none of its calls, but would have by the prediction
        NOTHING_PREDICTED = "nothing_predicted"  #: undecidable, and no ending was reached from either end

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey("agents.Project", on_delete=models.PROTECT)
    # Whoever deletes a turn, the database itself deletes its predictions (migration 0001).
    parent = models.ForeignKey("turns.Turn", on_delete=models.CASCADE, related_name="+", db_constraint=False)
    child = models.OneToOneField("turns.Turn", on_delete=models.CASCADE, related_name="prediction", db_constraint=False)
    kind = models.TextField(choices=Kind)
    provider = models.TextField()
    model = models.TextField()
    connection = models.TextField()  #: its name
    from_record = models.PositiveIntegerField(null=True)  #: of the parent; null: from the start
    overrides = ExactJSONField(default=dict)  #: what was asked for in place of the parent's limits
    certainty = models.TextField(choices=[(word.value, word.value) for word in Certainty])
    assumes = ExactJSONField(default=list)  #: `{name, low, high, source}` each
    endings = ExactJSONField(default=list)  #: `endings.Ending` each: one; two where undecidable; none: nothing is said
    #: `suggested_limits.suggested`: the suggestion of the parent's page that the child tries; null: it tries none
    suggested = ExactJSONField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    compared_at = models.DateTimeField(null=True)  #: null: the child has not ended, or is not compared yet
    not_compared = models.TextField(choices=NotCompared, default="", blank=True)
    came_true = models.BooleanField(null=True)  #: null: not compared
    actual = ExactJSONField(null=True)  #: `endings.Ending` of the child
    differences = ExactJSONField(default=list)  #: `{field, predicted, actual}` each, against the nearest ending
    reason = models.TextField(choices=Reason, default="", blank=True)
    suggested_came_true = models.BooleanField(null=True)  #: null: not compared, or none that claims anything
    suggested_reason = models.TextField(choices=Reason, default="", db_default="", blank=True)  #: why it failed

    #: of a check: the prediction that failed
    checks = models.ForeignKey(
        "self", null=True, on_delete=models.CASCADE, related_name="checked_by", db_constraint=False
    )
    calibration = models.ForeignKey(Calibration, null=True, on_delete=models.SET_NULL, related_name="predictions")
    place = models.PositiveIntegerField(null=True)  #: among the trials of its calibration, from 0
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["project", "model", "certainty"], name="predictions_model"),
            models.Index(fields=["child"], condition=Q(compared_at=None), name="predictions_open"),
            models.Index(fields=["project", "-id"], condition=Q(came_true=False), name="predictions_failed"),
            models.Index(
                fields=["project", "model"], condition=Q(suggested__isnull=False), name="predictions_suggested"
            ),
        ]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["calibration", "place"], name="predictions_one_of_a_trial"),
        ]

    def __str__(self) -> str:
        return f"{self.certainty} {self.kind} prediction {self.id}"
