"""Why a certain prediction failed: the turn is run once more under its recorded policy."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from dashboard.agents.services import connection_update
from dashboard.policies.predictions import outcome_comparison
from dashboard.policies.predictions.failure_check import may_be_checked, prediction_check
from dashboard.policies.predictions.models import Prediction
from dashboard.replay.rerun_service import turn_rerun
from dashboard.turns.models import Turn
from tests.dashboard.driving import drive
from tests.dashboard.policies.predictions.conftest import again_of
from tests.dashboard.policies.predictions.test_outcome_comparison import foretold

pytestmark = pytest.mark.django_db(transaction=True)


def failed(turn: Turn, **changed: Any) -> Prediction:
    """A certain prediction that did not come true."""
    turn_rerun(turn=turn, overrides={"limits": {"max_continuations": 9}})
    prediction = foretold(Prediction.objects.get(), **(changed or {"terminal_reason": "repetition"}))
    drive(prediction.child)
    outcome_comparison.sweep()
    prediction.refresh_from_db()
    assert prediction.came_true is False
    return prediction


def checked(prediction: Prediction) -> Prediction:
    drive(prediction_check(prediction=prediction))
    outcome_comparison.sweep()
    prediction.refresh_from_db()
    return prediction


def test_a_repeated_recorded_answer_shows_that_the_prediction_was_our_error(cut: Turn):
    prediction = failed(cut)
    assert may_be_checked(prediction)
    assert checked(prediction).reason == "defect"
    check = prediction.checked_by.get()
    assert (check.kind, check.came_true, check.overrides) == ("check", True, {})
    assert not may_be_checked(prediction)


def test_a_different_answer_shows_that_the_provider_is_not_deterministic(cut: Turn):
    prediction = failed(cut)
    Turn.objects.filter(id=cut.id).update(output_text="What was recorded was another answer.")
    assert checked(prediction).reason == "provider_differs"
    assert [difference["field"] for difference in prediction.checked_by.get().differences] == ["text"]


def test_a_call_that_failed_only_this_time_is_reported_without_a_check(cut: Turn):
    from dashboard.turns.models import Record

    turn_rerun(turn=cut, overrides={"limits": {"max_continuations": 9}})
    prediction = foretold(Prediction.objects.get(), terminal_reason="repetition")
    child = drive(prediction.child)
    last = Record.objects.filter(turn_id=child.id).order_by("-seq").first()
    assert last is not None
    event = {"type": "model_failed", "at": 1.0, "error": {"type": "model", "kind": "server", "message": "500"}}
    Record.objects.create(
        turn_id=child.id, seq=last.seq + 1, at=last.at, event=event, command=last.command, core_version="x"
    )
    outcome_comparison.sweep()
    prediction.refresh_from_db()
    assert (prediction.came_true, prediction.reason) == (False, "provider_failed")
    assert not may_be_checked(prediction)


def test_a_check_is_made_once_and_again_only_after_a_cancellation(cut: Turn):
    from dashboard.live.services import turn_cancel

    prediction = failed(cut)
    first = prediction_check(prediction=prediction)
    assert prediction_check(prediction=prediction).id == first.id
    turn_cancel(turn=first, by="ann")
    drive(first)
    outcome_comparison.sweep()
    second = prediction_check(prediction=prediction)
    assert second.id != first.id
    drive(second)
    outcome_comparison.sweep()
    prediction.refresh_from_db()
    assert prediction.reason == "defect"
    assert prediction_check(prediction=prediction).id == second.id


def test_correct_predictions_and_estimates_are_not_checked(cut: Turn):
    came_true = again_of(cut, {"limits": {"max_continuations": 1}})
    with pytest.raises(ValidationError, match="Only a failed certain prediction"):
        prediction_check(prediction=came_true)


def test_a_changed_connection_makes_a_check_inconclusive_so_none_is_made(cut: Turn):
    failed(cut)
    assert cut.agent is not None
    connection_update(connection=cut.agent.connection, changes={"prefill": True})
    before = Turn.objects.count()
    with pytest.raises(ValidationError, match="has changed since"):
        prediction_check(prediction=Prediction.objects.get())
    assert Turn.objects.count() == before


def test_a_failed_estimate_reports_that_an_assumption_did_not_hold(cut: Turn):
    turn_rerun(turn=cut, overrides={"limits": {"max_continuations": 9}})
    prediction = foretold(Prediction.objects.get(), certainty="estimated", terminal_reason="something else")
    drive(prediction.child)
    outcome_comparison.sweep()
    prediction.refresh_from_db()
    assert (prediction.came_true, prediction.reason) == (False, "assumption")
    assert not may_be_checked(prediction)


def test_a_fork_is_checked_from_the_same_record(cut: Turn):
    turn_rerun(turn=cut, overrides={"limits": {"max_continuations": 9}}, from_record=2)
    prediction = foretold(Prediction.objects.get(), terminal_reason="repetition")
    drive(prediction.child)
    outcome_comparison.sweep()
    prediction.refresh_from_db()
    assert checked(prediction).reason == "defect"
    assert prediction.checked_by.get().from_record == 2
