"""The price of a live try says what it is likely to take, and by what that is known."""

import pytest

from dashboard.policies.suggestions.exhausted_limits import LEAST_TRY
from dashboard.policies.suggestions.panel import Panel, last_of, panel_of
from dashboard.replay.rerun_service import turn_rerun
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play, drive
from tests.dashboard.policies.suggestions.test_selectors import lengths

pytestmark = pytest.mark.django_db(transaction=True)


def shown(turn: Turn) -> Panel:
    panel = panel_of(turn, last_of(turn))
    assert panel is not None
    return panel


def test_what_the_recording_shows_is_the_price_and_not_the_whole_cap(play: Play):
    panel = shown(play("sim-essay", max_tokens=95))
    assert panel.suggestion.used is not None
    assert panel.suggestion.used < panel.suggestion.value
    assert panel.costs.startswith(f"about {2 * panel.suggestion.used} output tokens (simulator, free); at most ")


def test_other_turns_give_the_median_of_the_answers_that_are_longer_and_their_number(play: Play):
    cut = play("sim-essay", max_tokens=60)
    lengths(cut, [30, 300, 320, 400])
    panel = shown(cut)
    by = ", by the median of 3 longer answers of agent sim-essay; at most "
    assert panel.costs.startswith(f"about {2 * 320} output tokens (simulator, free){by}")
    lengths(cut, [310] * 40)
    panel = shown(cut)
    assert panel.known
    assert f"about {2 * 310} output tokens" in panel.costs
    assert "by the median of 43 longer answers of agent sim-essay" in panel.costs


def test_without_other_turns_it_is_what_this_turn_used_once_and_more_may_follow(play: Play):
    cut = play("sim-essay", max_tokens=60)
    assert shown(cut).costs.startswith(f"from {cut.output_tokens} output tokens (simulator, free), what this turn used")


@pytest.mark.parametrize("cap", [1, 5, 20])
def test_the_first_try_of_a_tiny_cap_is_not_a_multiple_of_it(play: Play, cap: int):
    panel = shown(play("sim-essay", max_tokens=cap))
    assert panel.suggestion.value >= LEAST_TRY


def test_the_first_try_is_no_less_than_the_few_other_answers_needed(play: Play):
    cut = play("sim-essay", max_tokens=40)
    lengths(cut, [30, 1_300, 1_800])
    panel = shown(cut)
    assert (panel.known, panel.suggestion.value) == (False, 1_805)


@pytest.mark.parametrize(
    ("model", "cap", "limits"),
    [("sim-essay", 60, {}), ("sim-essay", 100, {"max_continuations": 0}), ("sim-cut-tool", 35, {})],
)
def test_after_a_re_run_that_completed_the_price_is_what_all_its_calls_took(
    play: Play, model: str, cap: int, limits: dict[str, int]
):
    turn = play(model, max_tokens=cap, tools=["calculator"], overrides={"limits": limits})
    again = drive(turn_rerun(turn=turn, overrides=shown(turn).suggestion.overrides))
    assert again.status == "completed"
    panel = shown(turn)
    for said in (panel.suggestion, panel.less):
        assert said is None or (said.costs is not None and said.costs.output_tokens == again.output_tokens)


def test_a_limit_of_which_nothing_was_used_costs_no_less_than_the_turn(play: Play):
    limits = {"max_tool_repair_attempts": 0}
    turn = play("sim-malformed", max_tokens=400, tools=["calculator"], overrides={"limits": limits})
    panel = shown(turn)
    assert turn.output_tokens > 0
    assert panel.costs.startswith(f"from {turn.output_tokens} output tokens (simulator, free), what this turn used")
