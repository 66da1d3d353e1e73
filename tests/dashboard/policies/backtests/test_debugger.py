"""From a turn that a draft flips to the debugger, under the very words that were tried."""

import re
from html import unescape

import pytest
from django.test import Client

from agentcore.error_policy import ErrorPolicy
from agentcore.policy import Limits, OnTruncation, Policy
from dashboard.agents.selectors import project_default
from dashboard.policies.backtests import runner
from dashboard.policies.backtests.debugger import changes
from dashboard.policies.backtests.models import Backtest
from dashboard.policies.backtests.services import backtest_create
from tests.dashboard.driving import Play
from tests.dashboard.pages import page

pytestmark = pytest.mark.django_db(transaction=True)


def tried(**asked: object) -> Backtest:
    backtest = backtest_create(project=project_default(), filter={}, **asked)
    runner.run(backtest.pk)
    backtest.refresh_from_db()
    return backtest


def what_if(browser: Client, backtest: Backtest) -> str:
    """The side that would have been, of the debugger to which the first flipped turn leads."""
    html = unescape(page(browser, f"/backtests/{backtest.pk}"))
    found = re.search(r'href="(/turns/[^"]+/replay[^"]*)"', html)
    assert found
    return bare(page(browser, found[1]).split('id="what-if"')[1])


def bare(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", html))


def test_limits_that_the_draft_leaves_at_their_defaults_are_passed_too(browser: Client, play: Play):
    more = {"max_continuations": 9, "max_total_completion_tokens": 2_000}
    patient = play("sim-essay", max_tokens=60, overrides={"limits": more})
    backtest = tried(policy={})
    assert (backtest.flipped, patient.status) == (1, "completed")
    assert "Max continuations ( max_continuations : 3 of 3)" in what_if(browser, backtest)


def test_the_error_policy_is_passed_too(browser: Client, play: Play):
    healed = play("sim-flaky", max_tokens=400, overrides={"error_policy": {"preset": "retry_all"}})
    backtest = tried(policy={})
    assert (backtest.flipped, healed.status) == (1, "completed")
    assert "Failed on the first call" in what_if(browser, backtest)


def test_settings_the_debugger_does_not_support_are_reported(browser: Client, play: Play):
    play("sim-essay", max_tokens=150)
    backtest = tried(policy={"finish_reasons": ["max_tokens"]})
    assert backtest.flipped == 1
    assert "not the draft's final stop reasons." in unescape(page(browser, f"/backtests/{backtest.pk}"))
    limited = tried(policy={"limits": {"max_continuations": 0}})
    assert limited.flipped == 1
    assert "The what-if page supports" not in page(browser, f"/backtests/{limited.pk}")


def test_every_difference_is_named_as_in_the_form():
    own = Policy(limits=Limits(max_seconds=60.0, max_steps=3))
    other = Policy(
        limits=Limits(max_steps=3, schema_rounds=0),
        error_policy=ErrorPolicy.stop_on_any_error().with_max_retries(2),
        tool_calls_on_truncation=OnTruncation.REPAIR,
        max_tokens=70,
    )
    assert changes(other, own) == {
        "schema_rounds": 0,
        "no_max_seconds": "on",
        "max_tokens": 70,
        "max_retries": "2",
        "tool_calls_on_truncation": "repair",
    }
    assert changes(own, own) == {}
