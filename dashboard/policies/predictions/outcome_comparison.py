"""Each prediction is compared with the turn it is about, once that has ended: by whichever worker looks first.

A sweep takes only what nobody else holds, and compares a prediction once: a worker that is killed leaves no half.
"""

import structlog
from django.db import transaction
from django.utils import timezone

from agentcore import serial
from agentcore.events import Event
from agentcore.policy import LIMIT_NAMES
from agentcore.reasons import TurnStatus
from agentcore.replay import Certainty
from dashboard.inbox.models import Notice
from dashboard.inbox.services import notice_put
from dashboard.policies.predictions.models import Prediction
from dashboard.policies.predictions.suggested_limits import CLAIMING, claim_failed, judge_suggested
from dashboard.policies.suggestions.suggestion import Goal
from dashboard.replay.endings import Ending, was_changed, was_taken_over, was_unanswered
from dashboard.turns.models import UNFINISHED, Turn
from dashboard.turns.record_reader import records_of

log = structlog.get_logger(__name__)

SWEEP_SECONDS = 2.0  #: between two sweeps
BATCH = 100  #: predictions of one transaction
FAILED = "The what-if was “{}”, but this re-run ended differently."
NOT_ENOUGH = "The suggested limit, {limit} {value}, was “{word}”, but this re-run did not complete under it."
NOT_IN_ONE = "The suggested limit, {limit} {value}, was “{word}”, but under it this re-run took several calls."

NotCompared, Reason = Prediction.NotCompared, Prediction.Reason
#: What a comparison writes.
COMPARED = (
    "actual", "compared_at", "not_compared", "came_true", "differences", "reason", "suggested_came_true",
    "suggested_reason",
)  # fmt: skip


def sweep() -> int:
    """Compare what has ended since; returns how many predictions that were."""
    compared = 0
    while done := _sweep():
        compared += done
    return compared


@transaction.atomic
def _sweep() -> int:
    rows = Prediction.objects.filter(compared_at=None).exclude(child__status__in=UNFINISHED)
    batch = list(rows.select_for_update(skip_locked=True, of=("self",)).order_by("id")[:BATCH])
    children = Turn.objects.in_bulk([prediction.child_id for prediction in batch])
    for prediction in batch:
        compare(prediction, children[prediction.child_id])
    return len(batch)


def compare(prediction: Prediction, child: Turn) -> None:
    """Store what became of a prediction whose turn has ended; the caller holds its row."""
    events = [serial.event_from_json(event) for event in _events(child)]
    actual = Ending.actual(child, events)
    prediction.actual, prediction.compared_at = actual.as_json(), timezone.now()
    prediction.not_compared = _why_not(prediction, child, events)
    if not prediction.not_compared:
        _judge(prediction, actual)
    if _limit_was_tried(prediction, events):
        judge_suggested(prediction, child, events)
    prediction.save(update_fields=COMPARED)
    _tell_failure(prediction)
    if prediction.checks_id is not None and prediction.came_true is not None:
        _tell_why(prediction)


def _events(child: Turn) -> list[dict[str, object]]:
    return [record.event for record in records_of(child.id)]


def _why_not(prediction: Prediction, child: Turn, events: list[Event]) -> str:
    """Why the two cannot be compared; empty where they can."""
    if child.status == TurnStatus.CANCELLED:
        return NotCompared.CANCELLED
    if child.status == TurnStatus.INTERRUPTED or was_taken_over(events):
        return NotCompared.INTERRUPTED
    if was_changed(events):
        return NotCompared.OPERATOR
    if not prediction.endings:
        return NotCompared.NOTHING_PREDICTED
    answered = all(ending.failures < ending.attempts for ending in map(Ending.read, prediction.endings))
    return NotCompared.UNANSWERED if answered and was_unanswered(events) else ""


def _judge(prediction: Prediction, actual: Ending) -> None:
    predicted = [Ending.read(ending) for ending in prediction.endings]
    found = [_differences(ending, actual, predicted) for ending in predicted]
    nearest = min(range(len(found)), key=lambda place: len(found[place]))
    prediction.differences, prediction.came_true = found[nearest], not found[nearest]
    if found[nearest] and actual.failures > predicted[nearest].failures:
        prediction.reason = Reason.PROVIDER_FAILED
    elif found[nearest] and prediction.certainty == Certainty.ESTIMATED:
        prediction.reason = Reason.ASSUMPTION


def _limit_was_tried(prediction: Prediction, events: list[Event]) -> bool:
    """Whether the turn tests the suggested limit. More retries are suggested against just those failures that leave a
    turn unanswered."""
    if not prediction.suggested:
        return False
    if prediction.suggested["limit"] == "max_retries":
        return prediction.not_compared in ("", NotCompared.NOTHING_PREDICTED, NotCompared.UNANSWERED)
    return prediction.not_compared in ("", NotCompared.NOTHING_PREDICTED) and not was_unanswered(events)


def _tell_failure(prediction: Prediction) -> None:
    """One notice of a turn, also where its what-if and its suggested limit both failed."""
    if claim_failed(prediction):
        said = NOT_IN_ONE if prediction.suggested["goal"] == Goal.ONE_CALL else NOT_ENOUGH
        named = prediction.suggested | {"limit": LIMIT_NAMES[prediction.suggested["limit"]]}
        notice_put(turn=prediction.child, kind=Notice.Kind.FAILED, told=said.format_map(named))
    elif prediction.came_true is False and prediction.certainty in CLAIMING:
        notice_put(turn=prediction.child, kind=Notice.Kind.FAILED, told=FAILED.format(prediction.certainty))


def _differences(ending: Ending, actual: Ending, predicted: list[Ending]) -> list[dict[str, object]]:
    """From one ending. Two are the ends of a range, so as many calls as lie between theirs are predicted too."""
    calls = [each.attempts for each in predicted]
    between = min(calls) <= actual.attempts <= max(calls)
    return [one for one in ending.differences(actual) if not (between and one["field"] == "attempts")]


def _tell_why(check: Prediction) -> None:
    """The provider gave the recorded answer once more, so the prediction was wrong; or it did not."""
    reason = Reason.DEFECT if check.came_true else Reason.PROVIDER_DIFFERS
    failed = Prediction.objects.filter(checked_by=check)
    failed.filter(came_true=False, reason="").update(reason=reason)
    failed.filter(suggested_came_true=False, suggested_reason="").update(suggested_reason=reason)
