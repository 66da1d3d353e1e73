"""A suggested limit is stored with the prediction of the re-run that tries it, and was enough or was not."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from agentcore.sufficient_max_tokens import END_AT_MOST
from agentcore.values import replace
from dashboard.accounts.models import User
from dashboard.inbox.models import Notice
from dashboard.live.services import turn_cancel, turn_start
from dashboard.policies.predictions import outcome_comparison
from dashboard.policies.predictions.calibration_state import Used, calibration_begin, trial_begin
from dashboard.policies.predictions.failure_check import may_be_checked, prediction_check
from dashboard.policies.predictions.models import Prediction
from dashboard.policies.predictions.record_text import suggested_reason_words
from dashboard.policies.predictions.suggested_limits import was_tried_again
from dashboard.policies.predictions.suggested_record import (
    SuggestedTally,
    suggested_of,
    suggested_tallies,
    tally_of_suggestion,
    tally_words,
)
from dashboard.policies.predictions.terminal_output import Progress, table_lines
from dashboard.policies.predictions.trials import Values, plan_of
from dashboard.policies.suggestions import suggestion_log
from dashboard.policies.suggestions.models import ToldSuggestion
from dashboard.policies.suggestions.selectors import LEAST, suggestion_for
from dashboard.policies.suggestions.services import limit_find
from dashboard.policies.suggestions.suggestion import Basis, Goal, Suggestion
from dashboard.policies.suggestions.suggestion_log import LATELY, told_lately
from dashboard.replay.rerun_changes import RerunChanges
from dashboard.replay.rerun_service import turn_rerun
from dashboard.timeline.services import turns_erase
from dashboard.turns.history import recording_of
from dashboard.turns.models import Turn
from dashboard.turns.reason_looks import reason_label
from tests.dashboard.driving import Play, drive
from tests.dashboard.pages import HTMX, page
from tests.dashboard.policies.predictions.test_views import bare
from tests.dashboard.policies.suggestions.test_selectors import lengths
from tests.dashboard.timeline.populations import make_turn

pytestmark = pytest.mark.django_db(transaction=True)

LONG, SHORT = 900, 100  #: tokens; the whole answer of sim-essay has about 330


@pytest.fixture
def short(play: Play) -> Turn:
    """Cut at 60 tokens, and not continued."""
    return play("sim-essay", max_tokens=60, overrides={"limits": {"max_continuations": 0}})


def suggestion_of(turn: Turn, tokens: int) -> Suggestion:
    """Likely, by answers of its agent that have so many tokens."""
    lengths(turn, [tokens - END_AT_MOST] * (LEAST + 10))
    said = suggestion_for(turn)
    assert said is not None
    assert (said.basis, said.value) == (Basis.AGENT, tokens)
    suggestion_log.tell(turn, said)
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


def test_only_displayed_suggestions_are_stored(browser: Client, short: Turn):
    lengths(short, [LONG - END_AT_MOST] * (LEAST + 10))
    assert browser.get("/?sort=-limit").status_code == 200
    assert suggestion_for(short) is not None
    assert not ToldSuggestion.objects.exists()


@pytest.mark.parametrize("address", ["", "?sort=-limit", "/{id}", "/{id}/verdict"])
def test_the_api_returns_the_same_limit_with_a_turn(browser: Client, short: Turn, address: str):
    lengths(short, [LONG - END_AT_MOST] * (LEAST + 10))
    assert browser.get(f"/api/v1/turns{address.format(id=short.id)}").status_code == 200
    assert [one.value for one in told_lately(short.id)] == [LONG]


@pytest.mark.parametrize(
    "address",
    ["", "/limit", "/replay", "/replay/sweep?limit=max_tokens", "/replay/sweep?limit=max_steps"],
)
def test_each_page_stores_its_suggestions_in_one_statement(browser: Client, short: Turn, address: str):
    lengths(short, [LONG - END_AT_MOST] * (LEAST + 10))
    with CaptureQueriesContext(connection) as asked:
        page(browser, f"/turns/{short.id}{address}", **(HTMX if "/limit" in address else {}))
    stored = [query["sql"] for query in asked if "suggesting_toldsuggestion" in query["sql"]]
    assert len(stored) == 1
    assert [one.value for one in told_lately(short.id)] == [LONG]


def test_the_rows_of_a_list_store_their_suggestions_in_one_statement(browser: Client, short: Turn):
    lengths(short, [LONG - END_AT_MOST] * (LEAST + 10))
    with CaptureQueriesContext(connection) as asked:
        page(browser, f"/turns/limits?turn={short.id}&turn=none&turn={short.id}", **HTMX)
    assert sum("suggesting_toldsuggestion" in query["sql"] for query in asked) == 1
    assert [one.value for one in told_lately(short.id)] == [LONG]


def test_api_and_terminal_store_their_suggestions(browser: Client, short: Turn):
    lengths(short, [LONG - END_AT_MOST] * (LEAST + 10))
    browser.get(f"/api/v1/turns/{short.id}/verdict")
    call_command("replay", str(short.id), stdout=StringIO())
    assert [one.value for one in told_lately(short.id)] == [LONG]


def test_a_re_run_from_a_suggestion_keeps_the_suggestion(short: Turn):
    said = suggestion_of(short, LONG)
    prediction = Prediction.objects.get(child=limit_find(turn=short, suggestion=said))
    assert prediction.suggested == {
        "limit": "max_tokens", "value": LONG, "recorded": 60, "tried": LONG, "certainty": "estimated", "basis": "agent",
        "goal": "finish", "share": 0.95, "answers": LEAST + 10, "cut": 0, "longer_than": 60, "of": "sim-essay",
        "word": "likely",
    }  # fmt: skip
    assert prediction.suggested_came_true is None
    prediction = compared(prediction.child)
    assert (prediction.suggested_came_true, prediction.suggested_reason) == (True, "")
    assert prediction.not_compared == "nothing_predicted", "its what-if had no ending"


def test_an_insufficient_value_failed_unless_it_was_only_likely(short: Turn):
    prediction = compared(limit_find(turn=short, suggestion=suggestion_of(short, SHORT)))
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
def test_any_re_run_that_raises_only_this_limit_to_at_least_the_value_tests_it(
    short: Turn, overrides: dict[str, Any], tries: bool
):
    suggestion_of(short, LONG)
    turn_rerun(turn=short, overrides=overrides)
    stored = Prediction.objects.get().suggested
    assert (stored is not None) is tries
    if stored is not None:
        assert (stored["value"], stored["tried"]) == (LONG, overrides["max_tokens"])


def test_a_re_run_tests_the_suggested_value_even_after_other_answers_raised_it(short: Turn):
    said = suggestion_of(short, LONG)
    lengths(short, [LONG + 200] * 10 * LEAST)
    raised = suggestion_for(short)
    assert raised is not None
    assert raised.value > LONG
    turn_rerun(turn=short, overrides=said.overrides)
    stored = Prediction.objects.get().suggested
    assert (stored["value"], stored["share"], stored["tried"]) == (LONG, said.share, LONG)


def test_a_re_run_through_another_process_tests_the_suggested_value(short: Turn, monkeypatch: pytest.MonkeyPatch):
    said = suggestion_of(short, LONG)
    lengths(short, [LONG + 200] * 10 * LEAST)
    monkeypatch.setattr(suggestion_log, "_stored", {})  # it has told nothing itself
    turn_rerun(turn=short, overrides=said.overrides)
    stored = Prediction.objects.get().suggested
    assert (stored["value"], stored["share"], stored["tried"]) == (LONG, said.share, LONG)


def test_a_suggestion_is_stored_once_and_deleted_after_an_hour(short: Turn, monkeypatch: pytest.MonkeyPatch):
    said = suggestion_of(short, LONG)
    monkeypatch.setattr(suggestion_log, "_stored", {})
    suggestion_log.tell(short, said, suggestion_for(short))
    assert [one.value for one in told_lately(short.id)] == [said.value]
    suggestion_log.sweep()
    row = ToldSuggestion.objects.get()
    ToldSuggestion.objects.update(told_at=row.told_at - LATELY)
    assert told_lately(short.id) == ()
    suggestion_log.sweep()
    assert not ToldSuggestion.objects.exists()


def test_rows_are_stored_in_one_order_for_any_order_of_the_list(short: Turn):
    other = make_turn(model="other")
    lengths(short, [LONG - END_AT_MOST] * (LEAST + 10))
    said = suggestion_for(short)
    with CaptureQueriesContext(connection) as asked:
        suggestion_log.tell_all([(other, said), (short, said)])
    (stored,) = [query["sql"] for query in asked if "suggesting_toldsuggestion" in query["sql"]]
    found = stored.replace("-", "")
    assert found.index(short.id.hex) < found.index(other.id.hex), "they are older: they have the smaller id"


def test_a_turn_erased_in_the_meantime_does_not_block_others(short: Turn):
    lengths(short, [LONG - END_AT_MOST] * (LEAST + 10))
    said, gone = suggestion_for(short), Turn(project=short.project, max_tokens=9)
    suggestion_log.tell_all([(gone, said), (short, said)])
    assert [one.value for one in told_lately(short.id)] == [LONG]
    assert told_lately(gone.id) == ()


def test_suggestions_of_a_turn_are_erased_with_it(short: Turn):
    said = suggestion_of(short, LONG)
    by = User.objects.get_or_create(username="ada")[0]
    turns_erase(project=short.project, chosen=[short.id], by=by)
    assert not ToldSuggestion.objects.exists()
    suggestion_log.tell(short, replace(said, value=LONG + 1))
    assert not ToldSuggestion.objects.exists(), "a page that was made meanwhile stores nothing of it"


def test_an_insufficient_value_is_not_tested_twice(short: Turn):
    said = suggestion_of(short, SHORT)
    compared(turn_rerun(turn=short, overrides=said.overrides))
    again = turn_rerun(turn=short, overrides=said.overrides)
    assert Prediction.objects.get(child=again).suggested is None


def test_a_re_run_with_another_prompt_or_from_the_middle_tests_nothing(short: Turn):
    suggestion_of(short, LONG)
    turn_rerun(turn=short, overrides={"max_tokens": LONG}, from_record=1)
    assert Prediction.objects.get().suggested is None
    turn_rerun(turn=short, overrides={"max_tokens": LONG}, words=RerunChanges(messages={1: "Something else."}))
    assert Prediction.objects.count() == 1


def test_a_proven_limit_is_never_called_untested():
    proven = SuggestedTally("openai", "sim-essay", Basis.RERUN, "proven", "certain")
    assert tally_words(proven) == "No proven limit of this model has been tried again yet."


@pytest.mark.parametrize("limit", ["max_tokens", "max_steps", "max_seconds"])
def test_only_a_token_cap_may_have_missed_the_end_of_an_answer(limit: str):
    said = {"limit": limit, "share": None, "basis": Basis.RERUN, "goal": "finish"}
    words = suggested_reason_words(Prediction(suggested=said, suggested_reason=Prediction.Reason.ASSUMPTION))
    assert ("its end took more tokens" in words) == (limit == "max_tokens")


def test_a_one_call_suggestion_fails_for_a_re_run_of_several_calls(play: Play):
    whole = play("sim-essay", max_tokens=150)
    said = suggestion_for(whole)
    assert said is not None
    prediction = compared(limit_find(turn=whole, suggestion=said))
    assert (prediction.suggested["goal"], prediction.child.attempts) == ("one_call", 1)
    assert prediction.suggested_came_true is True


@pytest.mark.parametrize(("model", "status"), [("sim-flaky", "completed"), ("sim-429", "failed")])
def test_a_retry_suggestion_promises_an_attempt_and_not_an_answer(browser: Client, play: Play, model: str, status: str):
    turn = play(model)
    said = suggestion_for(turn)
    assert said is not None
    prediction = compared(limit_find(turn=turn, suggestion=said))
    assert (prediction.suggested["goal"], prediction.suggested["word"]) == ("retry", "likely")
    assert (prediction.child.status, prediction.suggested_came_true) == (status, True)
    (tally,) = suggested_tallies(suggested_of(project=turn.project))
    told = "Suggested retries had the call tried again in 1 of 1 re-run of this model."
    assert tally_words(tally) == told
    assert "tried again after an error" in bare(page(browser, "/backtests/track-record"))
    (summary,) = browser.get("/api/v1/predictions/summary").json()
    assert [(one["retried"], one["came_true"]) for one in summary["suggested"]] == [(True, 1)]


def test_a_re_run_without_failing_calls_tests_no_retry(play: Play):
    answered = play("sim-essay", max_tokens=LONG)
    events = [record.event for record in recording_of(answered).records]
    assert was_tried_again(answered, events, 1) is None


@pytest.mark.parametrize(
    ("model", "retries", "came_true"), [("sim-500", 3, None), ("sim-429", 1, False), ("sim-429", 2, True)]
)
def test_only_a_retried_failure_tests_a_retry(play: Play, model: str, retries: int, came_true: bool | None):
    failed = play(model, overrides={"error_policy": {"on_rate_limit_error": "retry", "max_retries": retries}})
    events = [record.event for record in recording_of(failed).records]
    assert was_tried_again(failed, events, 1) is came_true


@pytest.mark.parametrize("retried", [True, False])
def test_retries_judged_by_completion_in_earlier_versions_are_counted_separately(play: Play, retried: bool):
    turn = play("sim-429")
    said = suggestion_for(turn)
    assert said is not None
    before = said if retried else replace(said, goal=Goal.FINISH)
    compared(limit_find(turn=turn, suggestion=before))
    (tally,) = suggested_tallies(suggested_of(project=turn.project))
    assert (tally.retried, tally.came_true, tally.failed) == (retried, int(retried), int(not retried))
    now_said = tally_of_suggestion(said, project=turn.project, provider=turn.provider, model=turn.model)
    assert now_said.compared == int(retried)


def test_a_starting_value_claims_nothing(short: Turn):
    said = suggestion_for(short)
    assert said is not None
    prediction = compared(limit_find(turn=short, suggestion=said))
    assert (prediction.suggested["basis"], prediction.suggested_came_true) == ("none", None)


def test_a_cancelled_turn_tests_no_limit(short: Turn):
    child = limit_find(turn=short, suggestion=suggestion_of(short, LONG))
    turn_cancel(turn=child, by="ann")
    prediction = compared(child)
    assert (prediction.not_compared, prediction.suggested_came_true) == ("cancelled", None)


def test_a_failed_certain_suggestion_is_reported_and_can_be_checked(short: Turn):
    child = limit_find(turn=short, suggestion=suggestion_of(short, SHORT))
    called_certain(Prediction.objects.get(child=child))
    prediction = compared(child)
    assert (prediction.suggested_came_true, prediction.suggested_reason) == (False, "")
    assert Notice.objects.get().told == (
        f"The suggested limit, Max tokens per call {SHORT}, was “certain”, but this re-run did not complete under it."
    )
    compared(prediction_check(prediction=prediction))
    prediction.refresh_from_db()
    assert prediction.suggested_reason == "defect", "the provider says the same again"
    assert not may_be_checked(prediction)


def test_a_suggestion_and_its_result_are_kept(short: Turn):
    prediction = compared(limit_find(turn=short, suggestion=suggestion_of(short, LONG)))
    for change in ({"suggested": None}, {"suggested_came_true": False}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Prediction.objects.filter(id=prediction.id).update(**change)


def test_a_suggestion_is_erased_with_either_turn(short: Turn):
    by = User.objects.create(username="eraser")
    compared(limit_find(turn=short, suggestion=suggestion_of(short, LONG)))
    turns_erase(project=short.project, chosen=[short.id], by=by)
    assert not Prediction.objects.exists()


def test_the_track_record_counts_by_model_and_basis_with_the_expected_share(short: Turn):
    said = suggestion_of(short, SHORT)
    few = compared(limit_find(turn=short, suggestion=said))
    turn_rerun(turn=short, overrides={"limits": {"max_continuations": 9}})
    assert (few.suggested_came_true, few.child.status) == (False, "partial")
    (tally,) = suggested_tallies(suggested_of(project=short.project))
    assert (tally.basis, tally.predictions, tally.came_true, tally.failed) == ("agent", 1, 0, 1)
    assert (tally.expected, tally.expected_share, tally.wrong) == (0.95, "95 %", False)
    assert tally_words(tally) == (
        "Likely limits from the agent's answers were enough in 0 of 1 re-run of this model (expected 95 %)."
    )


def test_the_page_lists_failures_with_both_turns_and_certain_ones_first(browser: Client, short: Turn):
    likely = compared(limit_find(turn=short, suggestion=suggestion_of(short, SHORT)))
    html = page(browser, "/backtests/track-record")
    assert f"/compare?left={short.id}&amp;right={likely.child_id}" in html
    words = bare(html)
    assert "Likely suggested limits that were not enough" in words
    ended = f"partial ({reason_label(likely.child.terminal_reason)})"
    assert f"suggested Max tokens per call 100: predicted completed, was {ended}" in words
    assert "By the estimate, 5 % of answers of agent sim-essay longer than 60 tokens need more." in words
    assert "Certain suggested limits that were not enough" not in words
    other = called_certain(Prediction.objects.get(child=turn_rerun(turn=short, overrides={"max_tokens": SHORT + 900})))
    Prediction.objects.filter(id=other.id).update(suggested_came_true=False, compared_at=now())
    words = bare(page(browser, "/backtests/track-record"))
    assert "Certain suggested limits that were not enough these should not happen" in words
    assert "Re-run under the recorded policy" in words


def test_the_suggestion_of_a_turn_says_how_often_similar_ones_were_sufficient(browser: Client, short: Turn):
    said = suggestion_of(short, LONG)
    address = f"/turns/{short.id}"
    assert "Likely limits from the agent's answers have not been tested on this model yet." in bare(
        page(browser, address)
    )
    compared(limit_find(turn=short, suggestion=said))
    html = page(browser, f"/turns/{play_again(short).id}")
    assert "were enough in 1 of 1 re-run of this model (expected 95 %)." in bare(html)


def play_again(short: Turn) -> Turn:
    """Another turn of the same agent, which no re-run has proven."""
    return drive(turn_start(agent=short.agent, input_text="Why do they go on?", overrides=short.overrides))


def test_calibration_tries_the_suggested_value_and_reports_the_result(short: Turn):
    said = suggestion_of(short, LONG)
    plan = plan_of([short], Values(most=2), most=1)
    (trial,) = [trial for trial in plan.trials if trial.overrides == said.overrides]
    calibration = calibration_begin(project=short.project, key="k", plan=plan)
    prediction = trial_begin(calibration=calibration, place=plan.trials.index(trial), trial=trial)
    prediction, told = compared(prediction.child), StringIO()
    Progress(told, 1).compared(0, trial, prediction, Used())
    assert "no ending was predicted); suggested limit (likely) enough." in told.getvalue()
    assert "Suggested limits: sim-essay, likely from the agent's answers: 1 of 1 came true (expected 95 %)." in list(
        table_lines(calibration)
    )
