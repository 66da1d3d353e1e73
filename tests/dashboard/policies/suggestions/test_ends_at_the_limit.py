"""A re-run that ended exactly at its limit may have been cut there, so the limit that is recommended is larger."""

import pytest
from django.test import Client

from agentcore.replay import Certainty
from agentcore.sufficient_max_tokens import END_AT_MOST
from agentcore.values import replace
from dashboard.policies.suggestions.list_suggestions import suggestions_now
from dashboard.policies.suggestions.panel import panel_of
from dashboard.policies.suggestions.selectors import LEAST, suggestion_for
from dashboard.policies.suggestions.suggestion import Basis, Suggestion
from dashboard.policies.suggestions.suggestion_text import because, certainty_word
from dashboard.policies.suggestions.sweep_suggestions import suggested_sweep
from dashboard.replay.rerun_service import turn_rerun
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play, drive
from tests.dashboard.policies.suggestions.test_selectors import lengths

pytestmark = pytest.mark.django_db(transaction=True)

TOTAL = "max_total_completion_tokens"
AT_CAP = "output_at_cap"


def told(turn: Turn) -> Suggestion:
    said = suggestion_for(turn)
    assert said is not None
    return said


@pytest.fixture(params=[TOTAL, "max_tokens"])
def limit(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def cut(play: Play, limit: str) -> Turn:
    return play("sim-essay", max_tokens=100, overrides={"limits": {TOTAL: 200}} if limit == TOTAL else {})


def rerun(turn: Turn, limit: str, value: float) -> Turn:
    return drive(
        turn_rerun(turn=turn, overrides={limit: value} if limit == "max_tokens" else {"limits": {limit: value}})
    )


def exactly(turn: Turn, limit: str) -> Turn:
    """A re-run that was given as much as its answer takes, and not a token more."""
    used = turn.output_tokens if limit == "max_tokens" and turn.attempts == 1 else None
    again = rerun(turn, limit, used or rerun(turn, limit, 800).output_tokens)
    assert (again.status, again.lint) == ("completed", [AT_CAP])
    return again


def alone(turn: Turn, limit: str) -> Turn:
    """The same, with no other re-run beside it."""
    again = exactly(turn, limit)
    Turn.objects.filter(parent=turn).exclude(pk=again.pk).delete()
    return again


def test_a_re_run_that_ended_at_its_limit_proves_no_value_and_leads_to_one_that_is_proven(
    cut: Turn, limit: str, browser: Client
):
    again = alone(cut, limit)
    said = told(cut)
    assert (said.limit, said.value, said.basis) == (limit, again.output_tokens + END_AT_MOST, Basis.RERUN)
    assert (certainty_word(said), said.rerun) == ("likely", again.id)
    assert because(said).endswith("It used all of them, so its answer may be cut off. The limit leaves a margin."), (
        because(said)
    )
    assert browser.get(f"/api/v1/turns/{cut.id}/verdict").json()["suggestion"]["value"] == said.value
    assert suggestions_now([cut.id], cut.project)[0][1] == said, "and so does a list"
    shown = panel_of(cut)
    assert shown is not None
    assert shown.may_be_found, "a live re-run can prove it"
    proof = drive(turn_rerun(turn=cut, overrides=said.overrides))
    assert (proof.status, proof.lint) == ("completed", [])
    proven = told(cut)
    assert (certainty_word(proven), proven.value, proven.rerun) == ("proven", said.value, proof.id)


def test_a_re_run_that_ended_at_its_limit_replaces_no_value_that_is_proven(cut: Turn, limit: str):
    clean = rerun(cut, limit, told(cut).value if limit == "max_tokens" else 800)
    before = told(cut)
    exactly(cut, limit)
    after = told(cut)
    assert (after.value, certainty_word(after)) == (before.value, certainty_word(before)) == (before.value, "proven")
    assert after.rerun is not None
    assert Turn.objects.get(pk=after.rerun).lint == clean.lint == []


def test_a_sweep_neither_recommends_nor_calls_proven_a_value_at_which_a_re_run_ended(cut: Turn, limit: str):
    again = exactly(cut, limit)
    found = suggested_sweep(turn=cut, name=limit, values=range(100, 900, 100), overrides={})
    measured = {each.value: each.word for each in found.measured}
    assert measured[again.output_tokens] == "measured"
    assert again.output_tokens not in {point.value for point in found.recommended}
    assert again.output_tokens not in {each.value for each in found.suggested}
    words = {each.value: each.ends_in_words for each in (*found.measured, *found.points)}
    assert words[again.output_tokens] == "completed, may be cut", "as the list of turns says it"


def test_a_likely_total_leaves_the_margin_of_the_last_call(play: Play):
    turn = play("sim-essay", max_tokens=100, overrides={"limits": {TOTAL: 200}})
    lengths(turn, [369] * 4 * LEAST)
    said = told(turn)
    assert (said.basis, said.value) == (Basis.AGENT, 369 + END_AT_MOST)
    again = drive(turn_rerun(turn=turn, overrides=said.overrides))
    assert (again.status, again.lint) == ("completed", [])
    assert certainty_word(told(turn)) == "proven"


def test_a_likely_cap_leaves_the_same_margin_as_the_page_of_the_smallest_sufficient_limit(play: Play):
    turn = play("sim-essay", max_tokens=60)
    lengths(turn, [351] * 4 * LEAST)
    said = told(turn)
    assert (said.certainty, said.value) == (Certainty.ESTIMATED, 351 + END_AT_MOST)


def test_a_swept_total_is_certain_only_with_the_margin_of_the_last_call(play: Play):
    turn = play("sim-essay", max_tokens=100)
    found = suggested_sweep(turn=turn, name=TOTAL, values=range(300, 420, 10), overrides={})
    assert found.recommended
    for point in found.recommended:
        again = drive(turn_rerun(turn=turn, overrides={"limits": {TOTAL: point.value}}))
        assert (again.status, again.lint) == ("completed", []), point.value


def test_the_recorded_value_is_not_recommended_where_the_answer_used_all_of_it(play: Play, browser: Client):
    used = 351
    turn = play("sim-essay", max_tokens=used)
    assert (turn.status, turn.lint) == ("completed", [AT_CAP])
    found = suggested_sweep(turn=turn, name="max_tokens", values=range(100, 900, 100), overrides={})
    assert used not in {point.value for point in found.recommended}
    assert found.words.startswith(
        "The turn is not known to complete with any value of Max tokens per call (max_tokens)"
    )
    assert (
        f"With the recorded value, {used} tokens, the answer used all its tokens, so it may be cut off." in found.words
    )
    assert found.asks == told(turn).value, "a live re-run can tell, with the value of the turn's page"
    html = browser.get(f"/turns/{turn.id}/replay/sweep?limit=max_tokens&begin=100&end=800&step=100").content.decode()
    assert "may be cut off" in html
    assert "one call is enough" not in html


def test_a_recorded_total_that_was_used_up_is_recommended_with_a_margin(play: Play):
    first = play("sim-essay", max_tokens=100, overrides={"limits": {TOTAL: 900}})
    turn = rerun(first, TOTAL, rerun(first, TOTAL, 800).output_tokens)
    assert (turn.status, turn.lint) == ("completed", [AT_CAP])
    (point, *_) = suggested_sweep(turn=turn, name=TOTAL, values=range(100, 900, 50), overrides={}).recommended
    assert point.value > turn.output_tokens
    again = rerun(turn, TOTAL, point.value)
    assert (again.status, again.lint) == ("completed", []), point


def test_the_cap_of_a_call_is_compared_with_a_call_and_not_with_the_tokens_of_all_calls():
    again = Suggestion("max_tokens", 114, 40, Certainty.ESTIMATED, Basis.RERUN, calls=2, used=115, given=109)
    words = because(replace(again, ended_at_it=True))
    assert "completed in 2 calls and used 115 tokens. One of its calls used all 109 tokens that a call may use" in words
    assert "It used all of them" not in words
