"""A prediction is compared once, when its turn has ended, by whoever looks first; and only where the two may be."""

from typing import Any

import pytest

from agentcore.replay import WhatIf
from dashboard.inbox.models import Notice
from dashboard.live.services import turn_cancel, turn_control, turn_give_up
from dashboard.policies.predictions import outcome_comparison
from dashboard.policies.predictions.models import Prediction
from dashboard.replay.rerun_changes import RerunChanges
from dashboard.replay.rerun_service import turn_go_on, turn_rerun
from dashboard.replay.services import turn_what_if
from dashboard.timeline.services import turns_erase
from dashboard.turns.models import Attempt, Record, Turn
from tests.dashboard.driving import Play, drive
from tests.dashboard.policies.predictions.conftest import again_of
from tests.dashboard.racing import at_once

pytestmark = pytest.mark.django_db(transaction=True)

FURTHER = {"limits": {"max_continuations": 9, "max_total_completion_tokens": 2_000}}


def foretold(prediction: Prediction, *, certainty: str = "", **changed: Any) -> Prediction:
    """A copy that says something else, in place of it: what was predicted cannot be changed."""
    endings = [{**ending, **changed} for ending in prediction.endings]
    kept = {field.attname: getattr(prediction, field.attname) for field in prediction._meta.concrete_fields}
    prediction.delete()
    return Prediction.objects.create(**{**kept, "certainty": certainty or prediction.certainty, "endings": endings})


def failed_in(prediction: Prediction) -> list[str]:
    return [difference["field"] for difference in prediction.differences]


def test_a_turn_that_ends_as_predicted_is_correct(cut: Turn):
    prediction = again_of(cut, {"limits": {"max_continuations": 1}})
    assert (prediction.came_true, prediction.differences, prediction.reason) == (True, [], "")
    assert prediction.actual["terminal_reason"] == "retry_limit"
    assert prediction.compared_at is not None


@pytest.mark.parametrize(
    "wrong",
    [
        {"status": "partial"},
        {"stop_reason": "retry_limit"},
        {"terminal_reason": "repetition"},
        {"attempts": 9},
        {"text_sha256": "0" * 64},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_status_reasons_attempts_and_text_must_all_match(cut: Turn, wrong: dict[str, Any]):
    turn_rerun(turn=cut, overrides={"limits": {"max_continuations": 9}})
    prediction = foretold(Prediction.objects.get(), **wrong)
    drive(prediction.child)
    outcome_comparison.sweep()
    prediction.refresh_from_db()
    (name,) = wrong
    assert prediction.came_true is False
    notice = Notice.objects.get()
    assert (notice.turn_id, notice.told) == (
        prediction.child_id,
        f"The what-if was “{prediction.certainty}”, but this re-run ended differently.",
    )
    assert failed_in(prediction) == [name.removesuffix("_sha256")]


def test_tokens_are_shown_and_not_compared(cut: Turn):
    turn_rerun(turn=cut, overrides={"limits": {"max_continuations": 9}})
    prediction = foretold(Prediction.objects.get(), output_tokens=1)
    drive(prediction.child)
    outcome_comparison.sweep()
    prediction.refresh_from_db()
    assert prediction.came_true is True


def test_either_of_two_predicted_endings_is_correct(play: Play):
    cut = play("sim-essay", overrides={"max_tokens": 60})
    child = drive(turn_go_on(turn=cut, overrides=FURTHER))
    real = {"status": child.status, "stop_reason": child.stop_reason, "terminal_reason": child.terminal_reason}
    ending = {**real, "attempts": child.attempts, "output_tokens": child.output_tokens}
    other = {**ending, "terminal_reason": "repetition"}
    empty = Prediction.objects.get()
    for endings, came_true in (([other, ending], True), ([other, {**ending, "attempts": 99, "status": "x"}], False)):
        empty.delete()
        Prediction.objects.create(**_columns(empty), endings=endings)
        outcome_comparison.sweep()
        found = Prediction.objects.get()
        assert found.came_true is came_true
        empty = found
    assert failed_in(found) == ["terminal_reason"], "against the nearer of the two"


def test_two_endings_give_a_range_of_calls(play: Play):
    cut = play("sim-essay", overrides={"max_tokens": 60})
    child = drive(turn_go_on(turn=cut, overrides=FURTHER))
    real = {"status": child.status, "stop_reason": child.stop_reason, "terminal_reason": child.terminal_reason}
    for one, other, came_true in ((-1, 1, True), (1, 2, False)):
        stored = Prediction.objects.get()
        stored.delete()
        calls = (child.attempts + one, child.attempts + other)
        endings = [{**real, "attempts": count, "output_tokens": 9} for count in calls]
        Prediction.objects.create(**_columns(stored), endings=endings)
        outcome_comparison.sweep()
        assert Prediction.objects.get().came_true is came_true


def _columns(prediction: Prediction) -> dict[str, Any]:
    kept = ("project_id", "parent_id", "child_id", "kind", "provider", "model", "connection", "certainty")
    return {name: getattr(prediction, name) for name in kept}


def test_without_a_prediction_there_is_no_comparison(play: Play):
    cut = play("sim-essay", overrides={"max_tokens": 60})
    drive(turn_go_on(turn=cut, overrides=FURTHER))
    outcome_comparison.sweep()
    prediction = Prediction.objects.get()
    assert (prediction.came_true, prediction.not_compared) == (None, "nothing_predicted")
    assert prediction.actual["status"]


def test_a_cancelled_turn_is_not_compared(cut: Turn):
    child = turn_rerun(turn=cut, overrides={"max_tokens": 400})
    turn_cancel(turn=child, by="ann")
    drive(child)
    outcome_comparison.sweep()
    assert (Prediction.objects.get().not_compared, Prediction.objects.get().came_true) == ("cancelled", None)


def test_an_interrupted_turn_is_not_compared(cut: Turn):
    child = turn_rerun(turn=cut, overrides={"max_tokens": 400})
    turn_give_up(turn_id=child.id, why="the driver failed")
    outcome_comparison.sweep()
    assert Prediction.objects.get().not_compared == "interrupted"


def test_a_turn_whose_call_was_repeated_after_a_worker_died_is_not_compared(cut: Turn):
    child = drive(turn_rerun(turn=cut, overrides={"max_tokens": 400}))
    last = Record.objects.filter(turn_id=child.id).order_by("-seq").first()
    assert last is not None
    event = {"type": "interrupted", "at": 1.0}
    Record.objects.create(
        turn_id=child.id, seq=last.seq + 1, at=last.at, event=event, command=last.command, core_version="x"
    )
    outcome_comparison.sweep()
    assert Prediction.objects.get().not_compared == "interrupted"


def test_a_turn_changed_by_an_operator_is_not_compared_but_a_held_one_is(cut: Turn):
    words = RerunChanges(breakpoints=[{"state": "continue_pending"}])
    for changes, came_true in (({"max_tokens": 500}, None), ({}, True)):
        child = turn_rerun(turn=cut, overrides={"limits": {"max_continuations": 1}}, words=words)
        assert drive(child).status == "held"
        assert outcome_comparison.sweep() == 0, "it has not ended"
        turn_control(turn=child, by="ann", action="release", breakpoints=[], **changes)
        drive(child)
        outcome_comparison.sweep()
        prediction = Prediction.objects.get(child=child)
        assert prediction.came_true is came_true, prediction.differences
        assert prediction.not_compared == ("operator" if changes else "")


def test_two_workers_compare_a_prediction_once(cut: Turn):
    for continuations in (0, 1, 2):
        drive(turn_rerun(turn=cut, overrides={"limits": {"max_continuations": continuations}}))
    assert at_once(outcome_comparison.sweep, outcome_comparison.sweep) == 0, "the other holds them"
    assert Prediction.objects.filter(came_true=True).count() == 3
    assert outcome_comparison.sweep() == 0


def test_a_prediction_is_deleted_with_either_of_its_turns(cut: Turn):
    from dashboard.accounts.models import User

    by = User.objects.create(username="eraser")
    one = again_of(cut, {"limits": {"max_continuations": 1}})
    again_of(cut, {"limits": {"max_continuations": 0}})
    turns_erase(project=cut.project, chosen=[one.child_id], by=by)
    assert Prediction.objects.count() == 1
    turns_erase(project=cut.project, chosen=[cut.id], by=by)
    assert Prediction.objects.count() == 0


def test_any_deletion_of_a_turn_deletes_its_predictions_and_their_checks(cut: Turn):
    from django.db import connection, transaction

    from dashboard.policies.predictions.failure_check import prediction_check

    turn_rerun(turn=cut, overrides={"limits": {"max_continuations": 9}})
    prediction = foretold(Prediction.objects.get(), terminal_reason="repetition")
    drive(prediction.child)
    outcome_comparison.sweep()
    prediction.refresh_from_db()
    drive(prediction_check(prediction=prediction))
    assert Prediction.objects.count() == 2
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("DELETE FROM turns_turn WHERE id = %s", [prediction.child_id])
    assert Prediction.objects.count() == 0


def test_a_live_continuation_ends_in_one_of_the_two_predicted_ways(cut: Turn):
    def endings(max_tokens: int) -> int:
        found = turn_what_if(turn=cut, overrides={"max_tokens": max_tokens}).recording
        assert isinstance(found, WhatIf)
        return len(found.endings)

    undecidable = next(value for value in range(40, 150) if endings(value) == 2)
    drive(turn_go_on(turn=cut, overrides={"max_tokens": undecidable}))
    outcome_comparison.sweep()
    prediction = Prediction.objects.get()
    assert (prediction.kind, prediction.certainty, len(prediction.endings)) == ("continued", "undecidable", 2)
    assert prediction.came_true is True, prediction.differences


@pytest.mark.parametrize("max_tokens", [60, 100], ids=["after an answer", "in the middle of one"])
def test_a_live_continuation_counts_only_its_own_calls(play: Play, max_tokens: int):
    cut = play("sim-essay", overrides={"max_tokens": 60})
    child = drive(turn_go_on(turn=cut, overrides={**FURTHER, "max_tokens": max_tokens}))
    made = Attempt.objects.filter(turn_id=child.id)
    assert (child.attempts, child.output_tokens) == (made.count(), sum(one.usage["output_tokens"] for one in made))
    assert Prediction.objects.get(child=child).kind == "continued"


def test_the_prediction_of_a_live_continuation_excludes_earlier_calls(cut: Turn):
    def within(tokens: int) -> WhatIf:
        limits = {"max_total_completion_tokens": tokens}
        found = turn_what_if(turn=cut, overrides={"limits": limits}).recording
        assert isinstance(found, WhatIf)
        return found

    undecidable = next(value for value in range(150, 600) if within(value).endings and len(within(value).records) > 1)
    drive(turn_go_on(turn=cut, overrides={"limits": {"max_total_completion_tokens": undecidable}}))
    outcome_comparison.sweep()
    prediction = Prediction.objects.get()
    assert prediction.came_true is True, prediction.differences
    made = Attempt.objects.filter(turn_id=prediction.child_id).count()
    assert made in range(1, 1 + max(ending["attempts"] for ending in prediction.endings))
    assert max(ending["attempts"] for ending in prediction.endings) < cut.attempts
