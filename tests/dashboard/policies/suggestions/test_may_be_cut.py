"""A re-run, or a turn, whose last call used all of its own cap may have been cut there: it proves nothing."""

from contextvars import Context
from typing import Any

import pytest
from django.test import Client

from dashboard.policies.predictions import outcome_comparison
from dashboard.policies.predictions.models import Prediction
from dashboard.policies.suggestions import panel
from dashboard.policies.suggestions.list_suggestions import suggestions_now
from dashboard.policies.suggestions.panel import panel_of
from dashboard.policies.suggestions.reruns import completed_reruns
from dashboard.policies.suggestions.selectors import LEAST, suggestion_for
from dashboard.policies.suggestions.suggestion import Basis, Suggestion
from dashboard.policies.suggestions.suggestion_log import tell
from dashboard.policies.suggestions.suggestion_text import because, certainty_word
from dashboard.policies.suggestions.sweep_suggestions import suggested_sweep
from dashboard.replay import experience
from dashboard.replay.rerun_service import turn_rerun
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play, drive
from tests.dashboard.pages import HTMX, text_of
from tests.dashboard.policies.suggestions.test_selectors import lengths

pytestmark = pytest.mark.django_db(transaction=True)

ESSAY = 351  #: tokens, in one call
CAP, CALLS = 42, 10  #: with this cap, so many calls use all tokens of their caps
WHOLE = CAP * CALLS
TOTAL, CONTINUATIONS = "max_total_completion_tokens", "max_continuations"
AT_CAP = "output_at_cap"


def told(turn: Turn) -> Suggestion:
    said = suggestion_for(turn)
    assert said is not None
    return said


def rerun(turn: Turn, **overrides: Any) -> Turn:
    again = drive(turn_rerun(turn=turn, overrides=overrides))
    assert again.status == "completed"
    return again


@pytest.fixture
def cut(play: Play) -> Turn:
    """Cut at a total of two calls."""
    return play("sim-essay", max_tokens=CAP, overrides={"limits": {TOTAL: 2 * CAP, CONTINUATIONS: 40}})


@pytest.fixture
def filled(play: Play) -> Turn:
    """One call that used all of its cap, of which the server says that it ended."""
    turn = play("sim-essay", max_tokens=ESSAY)
    assert (turn.status, turn.lint, turn.attempts) == ("completed", [AT_CAP], 1)
    return turn


def test_a_re_run_whose_last_call_filled_its_own_cap_proves_no_total(cut: Turn):
    again = rerun(cut, limits={TOTAL: WHOLE + 20})
    assert (again.lint, again.attempts, again.output_tokens) == ([AT_CAP, "ambiguous_seam"], CALLS, WHOLE)
    said = told(cut)
    assert (certainty_word(said), said.limit, said.value) == ("likely", TOTAL, WHOLE + 20)
    assert because(said).endswith(
        "Its last call used all tokens of Max tokens per call, so its answer may be cut off."
    ), because(said)
    assert completed_reruns(cut.id) == [], "and no backtest counts it"
    shown = panel_of(cut)
    assert shown is not None
    assert not shown.may_be_found, "the same again would show as little"


def test_a_larger_total_of_which_nothing_is_proven_replaces_no_smaller_one(cut: Turn):
    rerun(cut, limits={TOTAL: WHOLE})
    first = told(cut)
    rerun(cut, limits={TOTAL: WHOLE + 20})
    assert told(cut) == first
    assert (certainty_word(first), first.value) == ("likely", WHOLE + 5)


def test_nor_does_it_prove_a_number_of_continuations(play: Play):
    turn = play("sim-essay", max_tokens=CAP, overrides={"limits": {CONTINUATIONS: 1, TOTAL: 900}})
    again = rerun(turn, limits={CONTINUATIONS: 12})
    assert AT_CAP in again.lint
    assert told(turn).basis is Basis.NONE
    clean = rerun(turn, max_tokens=900)
    assert (certainty_word(told(turn)), told(turn).rerun) == ("proven", clean.id)


def test_a_sweep_calls_no_such_value_proven(play: Play):
    turn = play("sim-essay", max_tokens=CAP, overrides={"limits": {CONTINUATIONS: 1, TOTAL: 900}})
    rerun(turn, limits={CONTINUATIONS: 12})
    found = suggested_sweep(turn=turn, name=CONTINUATIONS, values=range(1, 15), overrides={})
    assert [(each.word, each.ends_in_words) for each in found.measured] == [("measured", "completed, may be cut")]
    assert found.recommended == ()


def test_a_completed_turn_that_used_all_of_its_cap_gets_the_button_or_a_likely_number(filled: Turn, browser: Client):
    said = told(filled)
    assert (said.limit, said.basis, certainty_word(said)) == ("max_tokens", Basis.NONE, "not known")
    assert said.value > ESSAY
    assert suggestions_now([filled.id], filled.project)[0][1] == said, "a list says the same"
    api = browser.get(f"/api/v1/turns/{filled.id}/verdict").json()["suggestion"]
    assert (api["limit"], api["value"]) == ("max_tokens", said.value)
    assert "Find the limit" in browser.get(f"/turns/{filled.id}").content.decode()
    lengths(filled, [ESSAY + 20 + place for place in range(2 * LEAST)])
    likely = told(filled)
    assert (likely.basis, certainty_word(likely)) == (Basis.AGENT, "likely")


def test_a_re_run_with_more_proves_the_limit_of_a_completed_turn(filled: Turn):
    again = rerun(filled, max_tokens=900)
    said = told(filled)
    assert (certainty_word(said), said.basis, said.rerun) == ("proven", Basis.RERUN, again.id)


def test_a_turn_that_ended_short_of_its_cap_needs_none(play: Play):
    assert suggestion_for(play("sim-essay", max_tokens=900)) is None


def test_a_panel_shows_the_state_that_it_read_when_a_re_run_ends_while_it_is_made(
    play: Play, monkeypatch: pytest.MonkeyPatch
):
    turn = play("sim-essay", max_tokens=60)
    again = turn_rerun(turn=turn, overrides={"max_tokens": 900})
    found = panel.suggestion_and_less

    def after_it_ended(*asked: Any) -> Any:
        Context().run(drive, again)
        return found(*asked)

    monkeypatch.setattr(panel, "suggestion_and_less", after_it_ended)
    shown = panel_of(turn)
    assert shown is not None
    assert shown.running is not None
    assert (shown.certainty, shown.suggestion.rerun, shown.running.turn) == ("not known", None, again)
    monkeypatch.undo()
    shown = panel_of(turn)
    assert shown is not None
    assert (shown.certainty, shown.suggestion.rerun, shown.running) == ("proven", again.id, None)


def test_a_likely_value_of_a_re_run_that_may_be_cut_can_be_tried(cut: Turn, browser: Client):
    rerun(cut, limits={TOTAL: WHOLE})
    said = told(cut)
    told_of = browser.post(f"/turns/{cut.id}/limit/find", {"value": said.value}, headers={"HX-Request": "true"})
    assert "No re-run was started" not in told_of.content.decode()
    assert cut.children.count() == 2


def test_a_re_run_that_may_be_cut_is_no_test_of_the_likely_value_that_it_tries(cut: Turn):
    rerun(cut, limits={TOTAL: WHOLE})
    said = told(cut)
    tell(cut, said)
    again = rerun(cut, **said.overrides)
    outcome_comparison.sweep()
    kept = Prediction.objects.get(child=again)
    assert kept.suggested is not None
    assert kept.suggested["value"] == said.value
    assert kept.suggested_came_true is None


def says_stop(turn: Turn) -> None:
    """Of a re-run that was cut at its cap, the stop of a server that calls a cut an end."""
    ended = {"terminal_reason": "end_turn", "model_stop_reason": "end_turn", "raw_stop_reason": "stop"}
    Turn.objects.filter(pk=turn.pk).update(
        status="completed", stop_reason="completed", resource=None, lint=[AT_CAP], cut_sign=AT_CAP, **ended
    )


def test_a_second_re_run_that_fills_its_cap_shows_that_both_values_are_too_small(play: Play, browser: Client):
    cut = play("sim-essay", max_tokens=60, overrides={"limits": {CONTINUATIONS: 0}})
    says_stop(drive(turn_rerun(turn=cut, overrides={"max_tokens": 240})))
    said = told(cut)
    assert (certainty_word(said), said.limit, said.value) == ("likely", "max_tokens", 240 + 5)
    says_stop(drive(turn_rerun(turn=cut, overrides=said.overrides)))
    after = told(cut)
    assert (certainty_word(after), after.limit, after.basis) == ("not known", "max_tokens", Basis.NONE)
    assert after.value > said.value
    assert suggestions_now([cut.id], cut.project)[0][1] == after, "a list says the same"
    page = browser.get(f"/turns/{cut.id}").content.decode()
    assert "Find the limit" in page
    assert f"Use {said.value}" not in page
    proof = rerun(cut, **after.overrides)
    assert (certainty_word(told(cut)), told(cut).rerun) == ("proven", proof.id)


def test_a_turn_that_may_be_cut_is_no_evidence_of_its_own_length(play: Play, filled: Turn):
    lengths(filled, [CAP])
    Turn.objects.exclude(pk=filled.pk).update(status="partial", model_stop_reason="max_tokens")  # it reports cuts
    experience.kept.forget()
    said = told(filled)
    assert (certainty_word(said), said.limit, said.basis) == ("not known", "max_tokens", Basis.NONE)
    found = suggested_sweep(turn=filled, name="max_tokens", values=range(300, 400, 10), overrides={})
    assert found.recommended == ()
    assert {point.ends_in_words for point in found.points if point.completed} == {"completed, may be cut"}


@pytest.mark.parametrize("total", [400, 1_000])
def test_a_re_run_that_may_be_cut_before_the_recorded_total_says_nothing_of_the_total(
    play: Play, total: int, browser: Client
):
    cut = play("sim-essay", max_tokens=100, overrides={"limits": {TOTAL: 250}})
    again = drive(turn_rerun(turn=cut, overrides={"limits": {TOTAL: total, CONTINUATIONS: 0}}))
    limits = {**again.policy["limits"], CONTINUATIONS: cut.policy["limits"][CONTINUATIONS]}
    Turn.objects.filter(pk=again.pk).update(policy={**again.policy, "limits": limits})
    says_stop(again)
    said = told(cut)
    assert (certainty_word(said), said.limit, said.basis) == ("not known", TOTAL, Basis.NONE)
    page = text_of(browser.get(f"/turns/{cut.id}/limit", headers=HTMX).content.decode())
    assert ("Find the limit" in page) is (total == 400), "as much was tried already"
    assert ("The same value is not tried again" in page) is (total == 1_000)
    assert "Create draft" not in page
