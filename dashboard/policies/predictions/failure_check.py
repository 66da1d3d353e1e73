"""Explains a failed certain prediction: re-runs the turn under the recorded policy and compares."""

from django.core.exceptions import ValidationError
from django.db import transaction

from dashboard.accounts.models import User
from dashboard.policies.predictions.forecast import Kind, Purpose
from dashboard.policies.predictions.models import Calibration, Prediction
from dashboard.policies.predictions.suggested_limits import CLAIMING, claim_failed
from dashboard.replay.rerun_changes import RerunChanges
from dashboard.replay.rerun_service import turn_rerun
from dashboard.turns.models import Turn

UNHELD = RerunChanges(breakpoints=())  #: nobody waits at a breakpoint of such a turn


def may_be_checked(prediction: Prediction) -> bool:
    """Whether it failed, and asking once more could tell why."""
    failed = prediction.came_true is False and not prediction.reason and prediction.certainty in CLAIMING
    suggested = claim_failed(prediction) and not prediction.suggested_reason
    return (failed or suggested) and prediction.kind not in (Kind.CHECK, Kind.CONTINUED)


def prediction_check(
    *,
    prediction: Prediction,
    created_by: User | None = None,
    queue: str = "turns",
    calibration: Calibration | None = None,
) -> Turn:
    """Run the recorded turn once more under its own policy; the turn that does so. One that is on its way already, or
    has told why, is not begun again. Raises `ValidationError` in words."""
    with transaction.atomic():
        held = Prediction.objects.select_for_update(of=("self",)).select_related("parent__agent").get(id=prediction.id)
        before = held.checked_by.filter(not_compared="").select_related("child").first()
        if before is not None:
            return before.child
        if not may_be_checked(held):
            raise ValidationError(
                "Only a failed certain prediction can be checked, and only until its reason is known."
            )
        purpose = Purpose(Kind.CHECK, queue, calibration, checks=held)
        return turn_rerun(
            turn=held.parent,
            overrides={},
            from_record=held.from_record,
            created_by=created_by,
            words=UNHELD,
            purpose=purpose,
        )
