"""A suggested value is the smallest that something shows, and its words say how it comes about."""

import re
from dataclasses import replace

import pytest
from django.test import Client

from agentcore.sufficient_max_tokens import END_AT_MOST
from dashboard.policies.suggestions.panel import last_of, panel_of
from dashboard.policies.suggestions.selectors import suggestion_for
from dashboard.policies.suggestions.shown_values import LIKELY_END
from dashboard.policies.suggestions.suggestion import Basis, Suggestion
from dashboard.policies.suggestions.suggestion_text import because, certainty_word
from dashboard.replay.rerun_service import turn_rerun
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play, drive
from tests.dashboard.pages import HTMX, compact, page, text_of
from tests.dashboard.policies.suggestions.test_selectors import overwrite

pytestmark = pytest.mark.django_db(transaction=True)

END = "The limit is 5 tokens larger, because some providers count an end and do not report it."


def told(turn: Turn) -> Suggestion:
    said = suggestion_for(turn)
    assert said is not None
    return said


def words(html: str) -> str:
    return " ".join(text_of(html).split())


@pytest.fixture
def cut(play: Play) -> Turn:
    return play("sim-essay", max_tokens=60, overrides={"limits": {"max_continuations": 0}})


def test_a_re_run_with_another_answer_suggests_what_it_used_and_an_end(cut: Turn):
    again = drive(turn_rerun(turn=cut, overrides={"max_tokens": 2_000}))
    overwrite(again, "text = 'Other words'")
    said = told(cut)
    assert (said.basis, certainty_word(said)) == (Basis.RERUN, "likely")
    assert said.value == again.output_tokens + END_AT_MOST < 2_000
    assert f"used {again.output_tokens} tokens. {END} It is not known to be the same answer." in because(said)
    assert because(said).startswith("A live re-run with Max tokens per call 2,000 completed in 1 call")


@pytest.mark.parametrize("cap", [60, 150, 353, 700, 960, 2_000])
def test_what_a_re_run_has_shown_is_the_same_number_whatever_cap_the_agent_has_now(
    cut: Turn, browser: Client, cap: int
):
    """Nobody ran less than 960, so nothing less is proven."""
    again = drive(turn_rerun(turn=cut, overrides={"max_tokens": 960}))
    assert cut.agent is not None
    cut.agent.max_tokens = cap
    cut.agent.save()
    Turn.objects.filter(pk=cut.pk).update(overrides={**cut.overrides, "max_tokens": 60})
    cut = Turn.objects.get(pk=cut.pk)
    said = told(cut)
    assert (said.value, certainty_word(said)) == (960, "proven")
    panel = panel_of(cut)
    assert panel is not None
    assert panel.less is not None
    assert (panel.less.value, certainty_word(panel.less)) == (again.output_tokens + LIKELY_END, "likely")
    shown = words(compact(browser.get(f"/turns/{cut.id}/limit", headers=HTMX).content.decode()))
    assert f"Try {panel.less.value} live" in shown
    assert ("Use 960" in shown) == (cap < panel.less.value), "less is likely enough, or as much is allowed"
    likely = ", which is likely enough" if cap < 960 else ""
    allowed = f"sim-essay already allows {cap:,} tokens per call{likely}; this turn set its own limit."
    assert (allowed in shown) == (cap >= panel.less.value)


def test_page_and_sweep_explain_an_estimated_cap_by_one_range_and_one_margin(play: Play, browser: Client):
    turn = play("sim-essay", max_tokens=95)
    said = told(turn)
    assert said.used_most is not None
    phrase = (
        f"By this recording, one call would have taken about {said.used} tokens, at most {said.used_most}. The limit "
        f"leaves a margin of {said.value - said.used_most} tokens above that, because this is an estimate."
    )
    assert phrase in because(said)
    assert phrase in words(page(browser, f"/turns/{turn.id}/replay/sweep"))
    assert len({*re.findall(r"margin of (\d+)", words(page(browser, f"/turns/{turn.id}/replay/sweep")))}) == 1


def test_a_proven_total_says_what_it_is_made_up_of(play: Play, browser: Client):
    turn = play("sim-essay", max_tokens=120, overrides={"limits": {"max_total_completion_tokens": 240}})
    again = drive(turn_rerun(turn=turn, overrides=told(turn).overrides))
    assert again.status == "completed"
    said = told(turn)
    assert (said.limit, said.value) == ("max_total_completion_tokens", 480)
    phrase = "480 is 360 used before its last call and 120 that this call may use (Max tokens per call)."
    assert phrase in because(said)
    assert phrase in words(compact(browser.get(f"/turns/{turn.id}/limit", headers=HTMX).content.decode()))
    assert phrase in words(page(browser, f"/turns/{turn.id}/replay/sweep"))
    assert phrase not in because(replace(said, room=None))


def test_a_proven_total_of_all_tokens_says_that_it_exceeds_what_was_used_before_the_last_call(play: Play):
    turn = play("sim-essay", max_tokens=60, overrides={"limits": {"max_total_tokens": 300, "max_continuations": 20}})
    again = drive(turn_rerun(turn=turn, overrides=told(turn).overrides))
    assert again.status == "completed"
    said = told(turn)
    assert said.limit == "max_total_tokens"
    assert said.spent is not None
    assert said.value < said.spent
    assert f" {said.value:,} is 1 more than the {said.value - 1:,} used before its last call." in because(said)


def test_a_what_if_over_the_api_that_does_not_tell_names_the_value_that_the_page_names(play: Play, browser: Client):
    turn = play("sim-essay", max_tokens=95)
    address, about = f"/api/v1/turns/{turn.id}/replay", {"content_type": "application/json"}
    asked = {"mode": "what_if", "overrides": {"max_tokens": 360}}
    imagined = browser.post(address, asked, **about).json()
    assert imagined["certainty"] == "undecidable"
    assert imagined["known_limit"] == browser.get(f"/api/v1/turns/{turn.id}").json()["suggestion"]
    assert imagined["known_limit"]["value"] == told(turn).value
    certain = browser.post(address, {"mode": "what_if", "overrides": {"max_tokens": 95}}, **about).json()
    assert certain["known_limit"] is None


def test_a_completed_turn_above_its_total_says_why_that_was_allowed(play: Play, browser: Client):
    turn = play("sim-essay", max_tokens=400, overrides={"limits": {"max_total_completion_tokens": 240}})
    assert (turn.status, turn.attempts) == ("completed", 1)
    html = words(page(browser, f"/turns/{turn.id}"))
    assert (
        f"{turn.output_tokens} of 240 completion tokens used: Max completion tokens per turn "
        "(max_total_completion_tokens) holds back continuations only, so the first call of an answer may exceed it."
    ) in html
    inside = play("sim-essay", max_tokens=400, name="inside")
    assert "holds back continuations only" not in words(page(browser, f"/turns/{inside.id}"))


@pytest.mark.parametrize(("model", "cap", "needed"), [("sim-reasons", 310, 382), ("sim-essay", 90, 353)])
def test_the_second_re_run_proves_the_smaller_value_and_no_third_is_offered(
    play: Play, browser: Client, model: str, cap: int, needed: int
):
    """Of the first, an answer that looks cut near its cap ended with the same text under a larger one; of the second,
    the calls of the turn repeated text, so that together they used more tokens than one call needs."""
    limits = {"max_continuations": 0} if model == "sim-reasons" else {}
    cut = play(model, max_tokens=cap, overrides={"limits": limits})
    first = suggestion_for(cut)
    assert first is not None
    drive(turn_rerun(turn=cut, overrides={"max_tokens": first.value}))
    panel = panel_of(cut, last_of(cut))
    assert panel is not None
    assert panel.less is not None
    assert (panel.less.value, panel.less_tried) == (needed, False)
    drive(turn_rerun(turn=cut, overrides={"max_tokens": needed}))
    panel = panel_of(cut, last_of(cut))
    assert panel is not None
    assert (panel.suggestion.value, panel.suggestion.certainty.value, panel.less) == (needed, "certain", None)
    sweep = text_of(page(browser, f"/turns/{cut.id}/replay/sweep"))
    assert "may be cut" not in sweep


def test_a_re_run_with_another_answer_suggests_its_longest_call_also_where_that_is_likely_only(play: Play):
    cut = play("sim-reasons", max_tokens=120)
    again = drive(turn_rerun(turn=cut, overrides={"max_tokens": 1_440}))
    said = suggestion_for(cut)
    assert said is not None
    assert (said.value, said.certainty.value) == (again.output_tokens + 5, "estimated")
