"""The price of a live try says what it is likely to take, and by what that is known."""

import pytest

from dashboard.agents.models import Connection
from dashboard.policies.suggestions.exhausted_limits import LEAST_TRY
from dashboard.policies.suggestions.panel import Panel, last_of, panel_of
from dashboard.replay.rerun_service import turn_rerun
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play, drive
from tests.dashboard.policies.suggestions.test_selectors import lengths

#: Limits under which the sample essay completes in pieces of 60 tokens.
ENOUGH = {"max_continuations": 20, "max_total_completion_tokens": 4_000}

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


def test_after_a_re_run_that_was_not_enough_it_is_no_less_than_that_used(play: Play):
    turn = play("sim-endless", max_tokens=100)
    again = drive(turn_rerun(turn=turn, overrides={"max_tokens": 400}))
    assert (again.status, again.output_tokens > turn.output_tokens) == ("partial", True)
    told = f"from {again.output_tokens:,} output tokens (simulator, free), what a re-run used that was not enough"
    assert shown(turn).costs.startswith(told)


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


@pytest.mark.parametrize(
    "limits", [{"max_total_completion_tokens": 100}, {"max_total_tokens": 120}, {"max_total_output_chars": 300}]
)
def test_without_a_re_run_every_limit_of_a_turn_has_the_price_that_its_model_usually_takes(
    play: Play, limits: dict[str, int]
):
    """The same question takes the same tokens, whichever limit stopped it."""
    whole = [play("sim-essay", name=f"a{n}", max_tokens=60, overrides={"limits": ENOUGH}) for n in range(3)]
    assert {turn.status for turn in whole} == {"completed"}
    turn = play("sim-essay", max_tokens=60, overrides={"limits": limits})
    assert turn.status == "partial"
    said = shown(turn).suggestion
    assert said.costs is not None
    assert said.costs.output_tokens == whole[0].output_tokens
    again = drive(turn_rerun(turn=turn, overrides=said.overrides))
    assert again.output_tokens == said.costs.output_tokens


def test_a_try_beyond_a_connections_ceiling_is_priced_by_what_longer_turns_took(play: Play):
    whole = play("sim-essay", name="a", max_tokens=300, overrides={"limits": {"max_continuations": 2}})
    turn = play("sim-essay", max_tokens=300, overrides={"limits": {"max_continuations": 0}})
    Connection.objects.update(max_output_tokens=300)
    panel = shown(turn)
    assert panel.suggestion.limit == "max_continuations"
    assert f"about {whole.output_tokens} output tokens" in panel.costs
