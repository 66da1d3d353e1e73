"""A suggested limit is stored with the prediction of the re-run that tries it, and was enough or was not."""

from typing import Any

import pytest
from django.db import IntegrityError, transaction

from dashboard.accounts.models import User
from dashboard.inbox.models import Notice
from dashboard.live.services import turn_cancel
from dashboard.predictions import outcome_comparison
from dashboard.predictions.failure_check import may_be_checked, prediction_check
from dashboard.predictions.models import Prediction
from dashboard.replay.rerun_changes import RerunChanges
from dashboard.replay.rerun_service import turn_rerun
from dashboard.suggesting.selectors import LEAST, suggestion_for
from dashboard.suggesting.services import limit_find
from dashboard.suggesting.suggestion import Basis, Suggestion
from dashboard.timeline.services import turns_erase
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play, drive
from tests.dashboard.suggesting.test_selectors import lengths

pytestmark = pytest.mark.django_db(transaction=True)

LONG, SHORT = 900, 100  #: tokens; the whole answer of sim-essay has about 330


@pytest.fixture
def short(play: Play) -> Turn:
    """Cut at 60 tokens, and not continued."""
    return play("sim-essay", max_tokens=60, overrides={"limits": {"max_continuations": 0}})


def said_of(turn: Turn, tokens: int) -> Suggestion:
    """Likely, by answers of its agent that have so many tokens."""
    lengths(turn, [tokens] * (LEAST + 10))
    said = suggestion_for(turn)
    assert said is not None
    assert (said.basis, said.value) == (Basis.AGENT, tokens)
    return said


def compared(child: Turn) -> Prediction:
    drive(child)
    outcome_comparison.sweep()
    return Prediction.objects.get(child=child)


def called_certain(prediction: Prediction) -> Prediction:
    """A copy whose suggestion is called certain, in place of it: what was suggested cannot be changed."""
    kept = {field.attname: getattr(prediction, field.attname) for field in prediction._meta.concrete_fields}
    prediction.delete()
    said = {**prediction.suggested, "certainty": "certain", "word": "certain", "basis": "recording", "share": None}
    return Prediction.objects.create(**{**kept, "suggested": said})


def test_a_re_run_from_the_suggestion_keeps_what_was_suggested(short: Turn):
    said = said_of(short, LONG)
    prediction = Prediction.objects.get(child=limit_find(turn=short, suggestion=said))
    assert prediction.suggested == {
        "limit": "max_tokens", "value": LONG, "recorded": 60, "tried": LONG, "certainty": "estimated", "basis": "agent",
        "goal": "finish", "share": 0.95, "answers": LEAST + 11, "cut": 1, "of": "sim-essay", "word": "likely",
    }  # fmt: skip
    assert prediction.suggested_came_true is None
    prediction = compared(prediction.child)
    assert (prediction.suggested_came_true, prediction.suggested_reason) == (True, "")
    assert prediction.not_compared == "nothing_predicted", "its what-if had no ending"


def test_a_value_that_was_too_small_failed_and_a_likely_one_may(short: Turn):
    prediction = compared(limit_find(turn=short, suggestion=said_of(short, SHORT)))
    assert (prediction.suggested_came_true, prediction.child.status) == (False, "partial")
    assert (prediction.suggested_reason, may_be_checked(prediction)) == ("assumption", False)
    assert not Notice.objects.exists()


@pytest.mark.parametrize(
    ("overrides", "tries"),
    [
        ({"max_tokens": LONG}, True),
        ({"max_tokens": LONG + 100}, True),
        ({"max_tokens": LONG - 1}, False),
        ({"max_tokens": LONG, "limits": {"max_continuations": 0}}, True),
        ({"max_tokens": LONG, "limits": {"max_continuations": 9}}, False),
        ({"max_tokens": LONG, "error_policy": {"max_retries": 2}}, False),
        ({"limits": {"max_continuations": 99}}, False),
    ],
    ids=str,
)
def test_any_re_run_tries_it_that_changes_this_limit_alone_to_as_much(
    short: Turn, overrides: dict[str, Any], tries: bool
):
    said_of(short, LONG)
    turn_rerun(turn=short, overrides=overrides)
    stored = Prediction.objects.get().suggested
    assert (stored is not None) is tries
    if stored is not None:
        assert (stored["value"], stored["tried"]) == (LONG, overrides["max_tokens"])


def test_who_says_other_things_or_begins_in_the_middle_tries_none(short: Turn):
    said_of(short, LONG)
    turn_rerun(turn=short, overrides={"max_tokens": LONG}, from_record=1)
    assert Prediction.objects.get().suggested is None
    turn_rerun(turn=short, overrides={"max_tokens": LONG}, words=RerunChanges(messages={1: "Something else."}))
    assert Prediction.objects.count() == 1


def test_one_call_is_what_came_true_of_a_turn_that_took_several(play: Play):
    whole = play("sim-essay", max_tokens=150)
    said = suggestion_for(whole)
    assert said is not None
    prediction = compared(limit_find(turn=whole, suggestion=said))
    assert (prediction.suggested["goal"], prediction.child.attempts) == ("one_call", 1)
    assert prediction.suggested_came_true is True


def test_a_value_to_begin_with_claims_nothing(short: Turn):
    said = suggestion_for(short)
    assert said is not None
    prediction = compared(limit_find(turn=short, suggestion=said))
    assert (prediction.suggested["basis"], prediction.suggested_came_true) == ("none", None)


def test_a_cancelled_turn_tests_no_limit(short: Turn):
    child = limit_find(turn=short, suggestion=said_of(short, LONG))
    turn_cancel(turn=child, by="ann")
    prediction = compared(child)
    assert (prediction.not_compared, prediction.suggested_came_true) == ("cancelled", None)


def test_a_certain_one_that_failed_is_told_and_can_be_checked(short: Turn):
    child = limit_find(turn=short, suggestion=said_of(short, SHORT))
    called_certain(Prediction.objects.get(child=child))
    prediction = compared(child)
    assert (prediction.suggested_came_true, prediction.suggested_reason) == (False, "")
    assert Notice.objects.get().told == (
        "A suggested limit was called “certain”, and this re-run did not complete under it."
    )
    compared(prediction_check(prediction=prediction))
    prediction.refresh_from_db()
    assert prediction.suggested_reason == "defect", "the provider says the same again"
    assert not may_be_checked(prediction)


def test_what_was_suggested_and_what_came_of_it_stands(short: Turn):
    prediction = compared(limit_find(turn=short, suggestion=said_of(short, LONG)))
    for change in ({"suggested": None}, {"suggested_came_true": False}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Prediction.objects.filter(id=prediction.id).update(**change)


def test_it_is_erased_with_either_turn(short: Turn):
    by = User.objects.create(username="eraser")
    compared(limit_find(turn=short, suggestion=said_of(short, LONG)))
    turns_erase(project=short.project, chosen=[short.id], by=by)
    assert not Prediction.objects.exists()
