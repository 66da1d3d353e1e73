"""Turns that really ran, and what of their policies ended them."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from agentcore.events import Otherwise
from agentcore.resource import RESOURCES
from dashboard.accounts.models import User
from dashboard.agents.models import Project
from dashboard.live.operator_control import turn_control
from dashboard.live.services import approvals_expire, turn_start
from dashboard.policies.ledger import Ledger, ledger_of
from dashboard.policies.policy_creation import policy_create
from dashboard.policies.policy_versions import policy_attach
from dashboard.policies.stop_setting import stop_setting_of
from dashboard.replay.rerun_service import turn_rerun
from dashboard.timeline.facets import facets
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.models import Turn
from tests.dashboard.driving import AgentOf, Play, drive
from tests.dashboard.pages import page, text_of

pytestmark = pytest.mark.django_db(transaction=True)


def the_ledger(project: Project) -> Ledger:
    now = timezone.now()
    return ledger_of(project, since=now - timedelta(days=1), now=now)


def test_the_user_who_lowered_a_limit_is_shown_with_its_cost(play: Play, project: Project, ann: User, browser: Client):
    wide = policy_create(project=project, name="wide", limits={"max_continuations": 5}, created_by=ann).policy
    before = play("sim-essay", name="first", max_tokens=60, policy=wide, overrides={"limits": {"max_continuations": 0}})
    policy_create(project=project, name="wide", limits={"max_continuations": 1}, created_by=ann, why="Too dear.")
    turn = play("sim-essay", name="second", max_tokens=60, policy=wide)
    assert turn.terminal_reason == "retry_limit"
    stop = stop_setting_of(turn)
    assert stop is not None
    assert (stop.source.field, stop.source.value, stop.source.policy, stop.source.version) == (
        "limits.max_continuations",
        1,
        "wide",
        2,
    )
    assert stop.setting is not None
    assert (stop.setting.by, stop.setting.why, stop.setting.change) == (
        "ann",
        "Too dear.",
        "lowered from 5 continuations",
    )
    lines = {line.said.level: line for line in the_ledger(project).lines}
    ours, own = lines["agent"], lines["turn"]
    assert (ours.turns, ours.output_tokens, ours.cut_short, ours.unanswered) == (1, turn.output_tokens, 1, 0)
    assert (ours.setting.by, ours.ended) == ("ann", None)
    assert own.examples == [before.id]
    html = page(browser, "/policies/ledger")
    assert "lowered from 5 continuations" in text_of(html)
    assert "<q>Too dear.</q>" in html
    assert "saved without a backtest" in html
    assert ("simulator, free" in html, "price not known" in html) == (True, False)
    assert "continuation_max_attempts" not in html  # the specification's names stand in the glossary only
    told = page(browser, f"/turns/{turn.id}")
    assert "ended this turn" in told
    assert "Lowered from 5 continuations by ann" in told


def test_a_stop_is_attributed_to_the_policy_of_that_time_even_if_changed_since(
    play: Play, project: Project, ann: User, browser: Client
):
    said = {"project": project, "name": "wide", "created_by": ann}
    wide = policy_create(limits={"max_continuations": 5}, **said).policy
    policy_create(limits={"max_continuations": 1}, why="Too dear.", **said)
    cut = play("sim-essay", name="first", max_tokens=60, policy=wide)
    policy_create(limits={"max_continuations": 0}, why="Not at all.", **said)
    play("sim-essay", name="second", max_tokens=60, policy=wide)
    play("sim-essay", name="third", max_tokens=60, policy=wide)
    now, before = the_ledger(project).lines
    assert [(line.turns, line.setting.value, line.setting.was) for line in (now, before)] == [(2, 0, 1), (1, 1, 5)]
    assert (now.ended, before.ended) == (None, now.setting.at)
    html = page(browser, f"/policies/ledger/turns?{before.query}&days=1")
    assert "stopped by Max continuations: 1 continuation" in html
    assert html.count(f"/turns/{cut.id}/replay?max_continuations=5") == 1
    assert html.count("/replay?") == 1
    assert "<q>Too dear.</q>" in html
    assert page(browser, f"/policies/ledger/turns?{now.query}&days=1").count("/replay?max_continuations=1") == 2


def test_turns_with_overrides_of_their_own_have_a_line_for_each_value(play: Play, project: Project, browser: Client):
    turns = [
        play("sim-essay", name=f"own-{i}", max_tokens=40, overrides={"limits": {"max_continuations": n}})
        for i, n in enumerate((0, 1, 1))
    ]
    lines = {line.shown: line for line in the_ledger(project).lines}
    assert {shown: line.turns for shown, line in lines.items()} == {"0 continuations": 1, "1 continuation": 2}
    assert lines["0 continuations"].examples == [turns[0].id]
    html = page(browser, f"/policies/ledger/turns?{lines['0 continuations'].query}&days=1")
    assert "1 turn stopped by Max continuations: 0 continuations" in text_of(html)
    assert f"/turns/{turns[0].id}" in html
    assert f"/turns/{turns[1].id}" not in html
    assert "Re-runs are left out." in text_of(page(browser, "/policies/ledger"))


def test_a_re_run_does_not_count_and_names_the_version_it_ran_under(
    play: Play, project: Project, ann: User, browser: Client
):
    bob = User.objects.create_user("bob", is_staff=True)
    narrow = policy_create(project=project, name="wide", limits={"max_continuations": 1}, created_by=ann).policy
    first = play("sim-essay", max_tokens=60, policy=narrow)
    policy_create(project=project, name="wide", limits={"max_continuations": 9}, created_by=bob)
    again = drive(turn_rerun(turn=first, overrides={}))
    assert again.terminal_reason == "retry_limit"
    (line,) = the_ledger(project).lines
    assert (line.turns, line.shown, line.setting.by) == (1, "1 continuation", "ann")
    stop = stop_setting_of(again)
    assert (stop.setting.by, stop.setting.value) == ("ann", 1)
    assert "bob" not in page(browser, f"/policies/ledger/turns?{line.query}&days=1")


def test_where_the_turns_number_differs_from_its_version_the_turns_own_is_shown(
    play: Play, project: Project, ann: User
):
    narrow = policy_create(project=project, name="wide", limits={"max_continuations": 1}, created_by=ann).policy
    turn = play("sim-essay", max_tokens=60, policy=narrow)
    said = {**turn.policy, "limits": {**turn.policy["limits"], "max_continuations": 0}}
    Turn.objects.filter(pk=turn.pk).update(policy=said)
    (line,) = the_ledger(project).lines
    assert (line.setting, line.shown) == (None, "0 continuations")


def test_a_value_set_by_an_operator_during_the_turn_is_attributed_to_them(
    play: Play, project: Project, agent_of: AgentOf, browser: Client
):
    wide = policy_create(project=project, name="wide", limits={"max_continuations": 5}).policy
    agent = agent_of("sim-essay", max_tokens=60, policy=wide)
    held = drive(turn_start(agent=agent, input_text="Wait for me.", breakpoints=[{"state": "continue_pending"}]))
    turn_control(turn=held, by="ada", action="release", limits={"max_continuations": 0}, breakpoints=[])
    turn = drive(held)
    assert turn.terminal_reason == "retry_limit"
    stop = stop_setting_of(turn)
    assert (stop.source.level, stop.source.of, stop.source.value, stop.setting) == ("operator", "ada", 0, None)
    (line,) = the_ledger(project).lines
    assert (line.said.level, line.said.policy, line.shown, line.setting) == ("operator", "", "0 continuations", None)
    html = page(browser, "/policies/ledger")
    assert "an operator, while the turn ran" in html
    assert "nobody" not in html
    assert page(browser, f"/policies/ledger/turns?{line.query}&days=1").count(f"/turns/{turn.id}") >= 1
    assert "<b>an operator, while the turn ran</b> (ada)" in page(browser, f"/turns/{turn.id}")


def test_a_missing_line_is_404(browser: Client):
    for query in ("", "field=limits.max_steps&level=site&policy=&since=", "field=%00&since=x"):
        assert browser.get(f"/policies/ledger/turns?{query}").status_code == 404


def test_a_default_a_site_setting_and_an_error_policy_are_distinguished(play: Play, project: Project):
    everywhere = policy_create(project=project, name="all", limits={"max_steps": 1})
    policy_attach(project=project, policy=everywhere.policy)
    cut = play("sim-essay", name="cut", max_tokens=20)
    steps = play("sim-tools", name="steps", tools=["calculator"])
    failed = play("sim-500", name="failed")
    found = {(line.said.field, line.said.level, line.said.policy) for line in the_ledger(project).lines}
    expected = {
        "cut": ("limits.max_continuations", "default", ""),
        "failed": ("error_policy.on_model_error", "default", ""),
    }
    assert cut.terminal_reason == "retry_limit"
    assert expected["cut"] in found
    assert (failed.terminal_reason, steps.stop_reason) == ("provider_error", "steps_limit")
    assert expected["failed"] in found
    assert ("limits.max_steps", "site", "all") in found


def test_a_completed_turn_was_stopped_by_nothing(play: Play, project: Project):
    turn = play("sim-essay", max_tokens=4000)
    assert stop_setting_of(turn) is None
    assert the_ledger(project).lines == ()


def test_a_turn_from_before_layers_is_attributed_to_its_version(play: Play, project: Project):
    wide = policy_create(project=project, name="wide", limits={"max_continuations": 1}).policy
    turn = play("sim-essay", max_tokens=60, policy=wide)
    Turn.objects.filter(pk=turn.pk).update(policy_sources=None)
    turn.refresh_from_db()
    stop = stop_setting_of(turn)
    assert stop is not None
    assert (stop.source.level, stop.source.policy) == ("agent", "wide")
    assert [(line.said.policy, line.turns) for line in the_ledger(project).lines] == [("wide", 1)]


def test_settings_that_stop_nothing_are_listed_separately(project: Project):
    policy_create(project=project, name="idle", limits={"max_steps": 3})
    assert [setting.field for setting in the_ledger(project).silent] == ["limits.max_steps"]


@pytest.mark.parametrize("otherwise", [Otherwise.REFUSE, Otherwise.CANCEL])
def test_an_approval_that_nobody_gave_in_time_has_a_line_of_its_own(
    agent_of: AgentOf, project: Project, browser: Client, otherwise: Otherwise
):
    approvals = {"tools": ["calculator"], "seconds": 600, "otherwise": otherwise.value}
    agent = agent_of("sim-tools", tools=["calculator"], approvals=approvals)
    turn = drive(turn_start(agent=agent, input_text="Count."))
    Turn.objects.filter(id=turn.id).update(started_at=timezone.now() - timedelta(hours=1))
    assert approvals_expire() == 1
    drive(turn)
    (line,) = the_ledger(project).lines
    assert (line.said.field, line.said.level, line.shown) == ("approvals.seconds", "approvals", "600 seconds")
    assert "Approval time limitapprovals.seconds600 secondsthe agent" in text_of(page(browser, "/policies/ledger"))
    listed = page(browser, f"/policies/ledger/turns?{line.query}&days=1")
    assert "1 turn stopped by Approval time limit: 600 seconds" in text_of(listed)
    assert f"/turns/{turn.id}" in listed


@pytest.mark.parametrize("resource", RESOURCES)
def test_the_ledger_and_the_facet_count_as_many_turns_of_each_limit(play: Play, project: Project, resource: str):
    """Whatever ended a turn beside the limit. The ceiling of a connection is what its setup has."""
    turn = play("sim-essay", max_tokens=60)
    reasons = [("budget_exhausted", "token_limit"), ("cancelled", "user_requested"), ("forbidden", "error")]
    for terminal, stop in reasons:
        Turn.objects.filter(id=turn.id).update(resource=resource, terminal_reason=terminal, stop_reason=stop)
        (counted,) = (each for each in facets(project=project, filters=TimelineFilters()) if each.name == "resource")
        assert [(value.value, value.count) for value in counted.values if value.count] == [(resource, 1)]
        assert [(line.said.field.removeprefix("limits."), line.turns) for line in the_ledger(project).lines] == [
            ("error_policy.max_retries" if resource == "max_retries" else resource, 1)
        ]
