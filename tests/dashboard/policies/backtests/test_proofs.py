"""A live re-run that completed decides what the recording of its turn does not."""

from typing import Any

import pytest
from django.test import Client

from dashboard.agents.selectors import project_default
from dashboard.live.services import turn_control
from dashboard.policies.backtests import runner
from dashboard.policies.backtests.models import Backtest
from dashboard.policies.backtests.result_text import in_words
from dashboard.policies.suggestions.panel import last_of, panel_of
from dashboard.replay.rerun_service import turn_rerun
from dashboard.runtime.management.commands.backtest import lines_of
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play, drive
from tests.dashboard.pages import page, text_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cut(play: Play) -> Turn:
    """Cut four times at 60 tokens."""
    return play("sim-essay", max_tokens=60)


def backtested(max_tokens: int | None, **limits: Any) -> Backtest:
    asked = {"policy": {"limits": limits} if limits else {}, "max_tokens": max_tokens}
    backtest = Backtest.objects.create(project=project_default(), **asked)
    runner.run(backtest.id)
    backtest.refresh_from_db()
    return backtest


def test_a_value_that_a_re_run_has_proven_is_decided_with_the_re_run_named(browser: Client, cut: Turn):
    assert "1 would have gone on to an end that is not known" in in_words(backtested(1000))
    again = drive(turn_rerun(turn=cut, overrides={"max_tokens": 900}))
    found = backtested(1000)
    assert "1 would have completed (1 proven by a re-run), 0 not known; 1 proven" in in_words(found)
    (flip,) = found.flips
    assert (flip["rerun"], flip["ends"], flip["certainty"]) == (str(again.id), "completed", "certain")
    assert (found.tokens_delta, found.calls_delta) == (again.output_tokens - cut.output_tokens, 1 - cut.attempts)
    html = page(browser, f"/backtests/{found.pk}")
    assert f'href="/turns/{again.id}">proven by a re-run</a>' in html
    assert "certain 0 0 % proven by a re-run 1 100 %" in " ".join(text_of(html).split())
    assert any(line.endswith("certain, proven by a re-run") for line in lines_of(found))


def test_a_smaller_value_than_a_re_run_was_given_is_proven_only_if_its_answer_fits(cut: Turn):
    again = drive(turn_rerun(turn=cut, overrides={"max_tokens": 900}))
    assert backtested(again.output_tokens + 20).groups[0]["proven"] == 1
    assert backtested(again.output_tokens - 20).groups[0]["proven"] == 0


def test_a_backtest_says_of_a_value_what_the_page_of_the_turn_says_of_it(play: Play):
    """The second re-run used nearly all of its cap, and gave the answer that the first gave under a larger one."""
    turn = play("sim-reasons", max_tokens=310, overrides={"limits": {"max_continuations": 0}})
    drive(turn_rerun(turn=turn, overrides={"max_tokens": 1240}))
    panel = panel_of(turn, last_of(turn))
    assert panel is not None
    assert panel.less is not None
    less = panel.less.value
    found = backtested(int(less))
    assert (panel.less.certainty, found.flips[0]["certainty"]) == ("estimated", "estimated")
    assert "1 would have completed" in in_words(found)
    again = drive(turn_rerun(turn=turn, overrides=panel.less.overrides))
    panel = panel_of(turn, last_of(turn))
    assert panel is not None
    assert (panel.suggestion.value, panel.suggestion.certainty) == (less, "certain")
    found = backtested(int(less))
    assert (found.groups[0]["proven"], found.flips[0]["rerun"]) == (1, str(again.id))


def test_a_policy_that_allows_more_calls_is_proven_by_a_re_run_with_fewer(cut: Turn):
    drive(turn_rerun(turn=cut, overrides={"limits": {"max_continuations": 8, "max_total_completion_tokens": 2000}}))
    enough = backtested(None, max_continuations=9, max_total_completion_tokens=4000)
    assert (enough.undecidable, enough.groups[0]["proven"]) == (0, 1)
    assert backtested(None, max_continuations=4, max_total_completion_tokens=4000).groups[0]["proven"] == 0


def test_a_re_run_that_was_cut_too_or_that_an_operator_changed_proves_nothing(cut: Turn):
    drive(turn_rerun(turn=cut, overrides={"max_tokens": 70}))
    changed = turn_rerun(turn=cut, overrides={"max_tokens": 900})
    turn_control(turn=changed, by="ann", action="hold")
    turn_control(turn=drive(changed), by="ann", action="release", limits={"max_steps": 3})
    assert drive(changed).status == "completed"
    assert backtested(1000).groups[0]["unended"] == 1


def test_time_that_was_enough_once_is_no_more_than_likely(late: Turn):
    drive(turn_rerun(turn=late, overrides={"limits": {"max_seconds": 120}, "model": "sim-slow"}))
    found = backtested(None, max_seconds=240)
    assert (found.flips[0]["certainty"], found.flips[0]["ends"]) == ("estimated", "completed")
    assert any(line.endswith("estimated, shown by a re-run") for line in lines_of(found))
