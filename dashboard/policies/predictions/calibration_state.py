"""A calibration under way: stored turns are run again one after the other, within a budget of tokens and money.

The trials are stored before the first begins, and each is stored with its turn: a calibration that was killed goes on
where it was. A turn is begun only if the most that it may use is left of the budget, so that it is never exceeded.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from dashboard.accounts.models import User
from dashboard.agents.models import Project
from dashboard.policies.predictions.failure_check import UNHELD, may_be_checked, prediction_check
from dashboard.policies.predictions.forecast import Kind, Purpose
from dashboard.policies.predictions.models import Calibration, Prediction
from dashboard.policies.predictions.trials import Plan, Trial
from dashboard.replay.rerun_service import turn_rerun
from dashboard.replay.usage_bounds import UsageBound, usage_bound
from dashboard.turns.models import UNFINISHED, Turn
from dashboard.turns.prices.selectors import prices_of

#: Why a turn is not compared of which a call may have been lost with its usage.
LOST_CALL = (Prediction.NotCompared.INTERRUPTED, Prediction.NotCompared.CANCELLED)


@dataclass(frozen=True, slots=True)
class Budget:
    """What all turns of a calibration together may use; None: no limit."""

    tokens: int | None
    dollars: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Used:
    """What the turns of a calibration have used so far. One that has not ended counts with the most it may use, and so
    does one of which a call was lost: the provider counts its tokens, and nobody was told how many.

    `dollars`: of those whose price is known.
    """

    tokens: int = 0
    dollars: Decimal = Decimal(0)


def key_of(asked: Mapping[str, Any]) -> str:
    """Of the words of a calibration: by the same words an unfinished one is found again."""
    return hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()


def calibration_unfinished(*, project: Project, key: str) -> Calibration | None:
    """The one that was begun by the same words and has not come to its end."""
    return Calibration.objects.filter(project=project, key=key, finished_at=None).first()


def calibration_begin(*, project: Project, key: str, plan: Plan) -> Calibration:
    trials = [trial.as_json() for trial in plan.trials]
    return Calibration.objects.create(project=project, key=key, trials=trials, skipped=dict(plan.left_out))


def calibrations_by(*, project: Project, key: str) -> list[Calibration]:
    """All that were begun by these words, the first one first."""
    return list(Calibration.objects.filter(project=project, key=key).order_by("id"))


def calibration_finish(*, calibration: Calibration) -> None:
    Calibration.objects.filter(id=calibration.id, finished_at=None).update(finished_at=timezone.now())
    calibration.refresh_from_db()


def trials_of(calibration: Calibration) -> list[Trial]:
    return [Trial(**trial) for trial in calibration.trials]


def queue_of(calibration: Calibration) -> str:
    return f"cal-{calibration.id}"  # Postgres has no longer names for what it notifies by


def used_by(calibration: Calibration) -> Used:
    """By all turns that it has begun, checks included."""
    rows = list(calibration.predictions.select_related("child__agent__connection", "parent__agent__connection"))
    prices = prices_of(row.child for row in rows)
    tokens, dollars = 0, Decimal(0)
    for row in rows:
        if row.child.status in UNFINISHED or row.not_compared in LOST_CALL:
            bound = usage_bound(row.parent, row.overrides)
            tokens, dollars = tokens + bound.tokens, dollars + (bound.dollars or 0)
        else:
            price = prices[row.child_id]
            tokens += row.child.input_tokens + row.child.output_tokens
            dollars += price.dollars if price is not None else 0
    return Used(tokens, dollars)


def is_left(budget: Budget, used: Used, bound: UsageBound) -> bool:
    """Whether a turn that may use so much fits into what is left. One without a price fits no budget of money."""
    if budget.tokens is not None and used.tokens + bound.tokens > budget.tokens:
        return False
    if budget.dollars is None:
        return True
    return bound.dollars is not None and used.dollars + bound.dollars <= budget.dollars


def trial_begin(
    *, calibration: Calibration, place: int, trial: Trial, queue: str = "", created_by: User | None = None
) -> Prediction:
    """Store the turn of a trial and what is predicted for it; what is there already is not begun again.

    `queue`: of the workers that drive it; none: the calibration's own. Raises `ValidationError` in words where the turn
    cannot be asked again any more.
    """
    begun = calibration.predictions.filter(place=place).first()
    if begun is not None:
        return begun
    turn = Turn.objects.select_related("agent__connection", "project").filter(id=UUID(trial.turn)).first()
    if turn is None:
        raise ValidationError("The turn was erased.")
    purpose = Purpose(Kind.CALIBRATION, queue or queue_of(calibration), calibration, place)
    rerun = partial(turn_rerun, turn=turn, overrides=trial.overrides, words=UNHELD, purpose=purpose)
    try:
        with transaction.atomic():
            rerun(created_by=created_by)
    except IntegrityError:
        # Another process that goes on with the same calibration was first.
        pass
    return calibration.predictions.get(place=place)


def trials_forget(predictions: Iterable[Prediction]) -> None:
    """Detach these from their calibration, which runs them again when it is continued."""
    Prediction.objects.filter(id__in=[prediction.id for prediction in predictions]).update(calibration=None)


def calibration_withdraw(*, calibration: Calibration) -> None:
    """Drop the plan of one that has begun no turn, so that the same words make a new plan."""
    if not calibration.predictions.exists():
        calibration.delete()


def check_bound(prediction: Prediction) -> UsageBound:
    """What asking once more under the recorded policy may use at most."""
    return usage_bound(prediction.parent, {})


def check_begin(*, calibration: Calibration, prediction: Prediction) -> Turn | None:
    """Ask once more why a certain prediction failed; None where that is known, or cannot be found out."""
    if not may_be_checked(prediction):
        return None
    try:
        return prediction_check(prediction=prediction, queue=queue_of(calibration), calibration=calibration)
    except ValidationError:
        return None
