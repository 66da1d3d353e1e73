"""Values of a limit that nobody ran, after a live re-run: what that used ends no call that is allowed more."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client

from dashboard.policies.suggestions.selectors import suggestion_for, suggestions_for
from dashboard.policies.suggestions.suggestion_text import certainty_word
from dashboard.policies.suggestions.sweep_suggestions import suggested_sweep
from dashboard.replay.found_values import Found
from dashboard.replay.rerun_service import turn_rerun
from dashboard.replay.sweep_chart import charts_of
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play, drive
from tests.dashboard.policies.suggestions.test_cut_below_the_cap import surfaces, words
from tests.dashboard.policies.suggestions.test_selectors import lengths

pytestmark = pytest.mark.django_db(transaction=True)


@dataclass(frozen=True)
class Stopped:
    """A turn that a limit stopped, and the value of it that a re-run is given."""

    model: str
    limit: str
    stood: float
    given: int
    asked: Mapping[str, Any] | None = None
    word: str = "proven"


TOOLS = {"tools": ["calculator"]}
LOOSE = {"max_continuations": 40, "max_total_completion_tokens": 9_000}
TURNS = {
    "repairs": Stopped("sim-malformed", "max_tool_repair_attempts", 0, 5, TOOLS),
    "steps": Stopped("sim-tools", "max_steps", 1, 6, TOOLS),
    "continuations": Stopped("sim-essay", "max_continuations", 1, 9, {"max_tokens": 90}),
    "completion tokens": Stopped("sim-essay", "max_total_completion_tokens", 200, 900, {"max_tokens": 90}),
    "all tokens": Stopped("sim-essay", "max_total_tokens", 300, 9_000, {"max_tokens": 90}),
    "characters": Stopped("sim-essay", "max_total_output_chars", 300, 9_000, {"max_tokens": 90}),
    "time": Stopped("sim-slow", "max_seconds", 0.3, 60, {"max_tokens": 400}, word="likely"),
}


@pytest.mark.parametrize("stopped", TURNS.values(), ids=TURNS)
def test_every_value_above_what_a_re_run_used_ends_as_that_did(play: Play, browser: Client, stopped: Stopped):
    limits = {**LOOSE, stopped.limit: stopped.stood}
    turn = play(stopped.model, **dict(stopped.asked or {}), overrides={"limits": limits})
    again = drive(turn_rerun(turn=turn, overrides={"limits": {stopped.limit: stopped.given}}))
    assert again.status == "completed"
    said = suggestion_for(turn)
    assert said is not None
    assert (said.limit, certainty_word(said)) == (stopped.limit, stopped.word)
    least, most = int(said.value), stopped.given + stopped.given // 2
    values = range(least, most + 1, max(1, (most - least) // 30))
    rows = suggested_sweep(turn=turn, name=stopped.limit, values=values, overrides={}).listed
    assert {row.badge for row in rows if row.value >= least} == {stopped.word}
    assert {row.ends_in_words for row in rows if row.value >= least} == {"completed"}
    near = range(max(1, least - 1), least + 2)  # without the value that was run
    narrow = suggested_sweep(turn=turn, name=stopped.limit, values=near, overrides={})
    assert {row.badge for row in narrow.listed if row.value >= least} == {stopped.word}
    assert narrow.with_reruns["certain"] in (None, Found(least, least))
    assert narrow.with_reruns["likely"] is not None
    less = [int(each.value) for each in suggestions_for(turn) if each.limit == said.limit]
    assert narrow.with_reruns["likely"].since == min(less), "nor at values that are compared and not listed"
    api, panel, row, sweep = surfaces(browser, turn)
    assert (api["limit"], api["value"], api["certainty_word"]) == (stopped.limit, said.value, stopped.word)
    assert panel.startswith(stopped.word)
    assert row.startswith(f"{said.value:,}")
    told = words(sweep)
    for place in (panel, told):
        assert words(api["words"]) in place
    assert "not known for some" not in told


@pytest.fixture
def cut(play: Play) -> Turn:
    return play("sim-essay", max_tokens=60, overrides={"limits": {"max_continuations": 0}})


def test_a_cap_that_nobody_ran_is_likely_where_a_re_run_used_no_more(cut: Turn):
    """Another cap is another request, so it is no more than likely; below what the page names it is not known."""
    used = drive(turn_rerun(turn=cut, overrides={"max_tokens": 400})).output_tokens
    sweep = suggested_sweep(turn=cut, name="max_tokens", values=range(300, 801, 10), overrides={})
    badges = {row.value: row.badge for row in sweep.listed}
    assert {badges[value] for value in range(used - used % 10 + 10, 801, 10) if value != 400} == {"likely"}
    assert badges[400] == "proven"
    assert {badge for value, badge in badges.items() if 300 <= value < used} == {"not known"}
    wide, _ = charts_of(sweep)
    assert [band.said for band in wide.bands if band.since > used and "not known" in band.said] == []


#: The cap and the limits of a turn that is cut, and the limit and the value that its re-run is given.
ANSWERED = {
    "one call": (200, {"max_continuations": 0}, "max_tokens", 800),
    "a total": (120, {"max_total_completion_tokens": 200}, "max_total_completion_tokens", 480),
}


@pytest.mark.parametrize(("cap", "limits", "name", "given"), ANSWERED.values(), ids=ANSWERED)
def test_panel_and_sweep_name_one_likely_value_below_the_proven_one(
    play: Play, browser: Client, cap: int, limits: dict[str, int], name: str, given: int
):
    turn = play("sim-essay", max_tokens=cap, overrides={"limits": limits})
    lengths(turn, [372] * 40)  # tell of a value that is larger, and no surer
    again = drive(turn_rerun(turn=turn, overrides={name: given} if name == "max_tokens" else {"limits": {name: given}}))
    used = again.output_tokens
    sweep = suggested_sweep(turn=turn, name=name, values=range(50, 1001, 50), overrides={})
    assert [(row.value, row.badge) for row in sweep.recommendations] == [(given, "proven"), (used + 2, "likely")]
    assert {row.badge for row in sweep.listed if used < row.value < given} == {"likely"}
    _, panel, _, page = surfaces(browser, turn)
    assert f"Try {used + 2} live" in panel
    assert f"another {sweep.title} changes what a call requests" in words(page)
