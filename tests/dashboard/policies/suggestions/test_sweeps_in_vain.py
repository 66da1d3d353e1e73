"""The sweep of a turn that no larger limit helps says what the turn's page says, and offers no live re-run."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from agentcore.remedies import RE_RUN
from dashboard.live.services import approvals_expire, turn_cancel, turn_start
from dashboard.policies.suggestions.sweep_suggestions import NO_LIMIT, suggested_sweep
from dashboard.turns.models import Turn
from tests.dashboard.driving import AgentOf, Play, drive
from tests.dashboard.pages import page
from tests.dashboard.policies.suggestions.test_same_number_everywhere import text_of

pytestmark = pytest.mark.django_db(transaction=True)


def words_of(turn: Turn) -> str:
    found = suggested_sweep(turn=turn, name="max_tokens", values=range(200, 1_601, 200), overrides={})
    assert found.asks is None
    return found.words


def held(agent_of: AgentOf, otherwise: str = "refuse") -> Turn:
    approvals = {"tools": ["calculator"], "seconds": 600, "otherwise": otherwise}
    return drive(
        turn_start(agent=agent_of("sim-tools", tools=["calculator"], approvals=approvals), input_text="Count.")
    )


def test_the_sweep_of_an_empty_answer_advises_another_prompt(play: Play):
    words = words_of(play("sim-empty", max_tokens=400))
    assert RE_RUN not in words
    assert "Change the prompt, or use another model." in words


@pytest.mark.parametrize("otherwise", ["refuse", "cancel"])
def test_the_sweep_of_a_turn_that_nobody_approved_names_the_approval_time_limit(agent_of: AgentOf, otherwise: str):
    turn = held(agent_of, otherwise)
    Turn.objects.filter(id=turn.id).update(started_at=timezone.now() - timedelta(hours=1))
    assert approvals_expire() == 1
    words = words_of(drive(turn))
    assert RE_RUN not in words
    assert "With a higher approval time limit (approvals.seconds) it would have waited longer." in words


def test_the_sweep_of_a_turn_that_a_person_cancelled_says_so(agent_of: AgentOf):
    turn = held(agent_of)
    turn_cancel(turn=turn, by="ada")
    words = words_of(drive(turn))
    assert RE_RUN not in words
    assert NO_LIMIT in words


def test_a_sweep_without_recommended_values_has_no_such_heading_and_begins_with_what_would_help(
    agent_of: AgentOf, play: Play, browser: Client
):
    turn = held(agent_of)
    Turn.objects.filter(id=turn.id).update(started_at=timezone.now() - timedelta(hours=1))
    assert approvals_expire() == 1
    late, refused = (
        " ".join(text_of(page(browser, f"/turns/{each.id}/replay/sweep")).split())
        for each in (drive(turn), play("sim-refuse", max_tokens=400))
    )
    assert "Recommended values" not in late + refused
    why = "The page of this turn suggests another limit. With a higher approval time limit"
    assert re.search(rf"Another limit is suggested \W{{0,3}}not known {why}", late)
    assert re.search(
        r"No limit is known to help \W{0,5}Higher limits would not have helped. Change the prompt", refused
    )


def test_a_what_if_that_does_not_tell_names_the_value_of_the_sweep(play: Play, browser: Client):
    turn = play("sim-essay", max_tokens=95)
    value = browser.get(f"/api/v1/turns/{turn.id}").json()["suggestion"]["value"]
    html = " ".join(text_of(page(browser, f"/turns/{turn.id}/replay?max_tokens=360")).split())
    assert "Not known:" in html
    assert f"likely With Max tokens per call at {value}, one call would likely have been enough." in html


def test_the_table_of_retries_counts_one_failure(play: Play, browser: Client):
    retried = {"error_policy": {"on_rate_limit_error": "retry", "max_retries": 1}}
    turn = play("sim-flaky", max_tokens=100, overrides=retried)
    html = " ".join(text_of(page(browser, f"/turns/{turn.id}/replay/sweep?limit=max_retries")).split())
    assert "1 failures in a row" not in html
    assert re.search(r"\b1 ?failure\b", html)


@pytest.mark.parametrize(("begin", "end"), [(250, 270), (408, 410), (5, 40)])
def test_a_sweep_of_a_part_of_the_usual_range_recommends_the_best_of_all_values_and_names_those_outside(
    play: Play, browser: Client, begin: int, end: int
):
    turn = play("sim-essay", max_tokens=95)
    whole = suggested_sweep(turn=turn, name="max_tokens", values=range(10, 1_001, 10), overrides={})
    best = [row.value for row in whole.recommendations]
    asked = {"mode": "sweep", "limit": "max_tokens", "begin": begin, "end": end, "step": 1}
    told = browser.post(f"/api/v1/turns/{turn.id}/replay", asked, content_type="application/json").json()
    assert [each["attempts"] for each in told["recommendations"]] == [row.calls for row in whole.recommendations]
    assert told["recommendations"][0]["value"] == best[0]
    outside = [each["value"] for each in told["recommendations"] if not begin <= each["value"] <= end]
    said = "outside the range that was asked for."
    assert (said in told["words"]) is bool(outside)
    assert all(f"{value:,}" in told["words"] for value in outside)
    html = text_of(page(browser, f"/turns/{turn.id}/replay/sweep?limit=max_tokens&begin={begin}&end={end}&step=1"))
    assert (said in html) is bool(outside)
    assert "were compared" not in html
    assert said not in text_of(page(browser, f"/turns/{turn.id}/replay/sweep"))
