"""Why a stored turn ended: the same on its page, over the API and in text, with whose word each clause was."""

import re
from collections.abc import Mapping
from typing import Any

import pytest
from django.test import Client

from agentcore.states import DECIDING, TRANSITIONS
from dashboard.agents.models import Agent
from dashboard.live.services import turn_start
from dashboard.policies.policy_creation import policy_create
from dashboard.policies.stop_explanation import derivation_of, roads_told, why_told
from dashboard.turns.models import Turn
from tests.dashboard.driving import AgentOf, drive
from tests.dashboard.pages import page
from tests.dashboard.timeline.populations import make_turn

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def agent(agent_of: AgentOf) -> Agent:
    made = agent_of("sim-essay", max_tokens=60)
    version = policy_create(project=made.project, name="careful", limits={"max_continuations": 2})
    made.policy = version.policy
    made.save()
    return made


@pytest.fixture
def cut(agent: Agent) -> Turn:
    return drive(turn_start(agent=agent, input_text="Why do agents stop?"))


def nodes(tree: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [tree, *(node for child in tree["because"] for node in nodes(child))]


def test_the_clause_names_the_policys_row_and_version(cut: Turn):
    told = why_told(cut, derivation_of(cut))
    assert (told["loop_reason"], told["resource"], told["raw_model_reason"]) == (
        "retry_limit",
        "max_continuations",
        "length",
    )
    assert told["clause"] == "limits.max_continuations"
    (clause,) = [node for node in nodes(told["tree"]) if node["kind"] == "clause"]
    source = clause["source"]
    assert (source["level"], source["policy"], source["version"], source["value"]) == ("agent", "careful", 1, 2)
    assert source["spec_key"] == "continuation_max_attempts"


def test_the_text_form_of_the_tree_names_the_source(cut: Turn):
    why = derivation_of(cut)
    assert why is not None
    assert (
        why.lines[3]
        == "      ├─ under: Max continuations (max_continuations) is 2, policy careful v1, agent policy (sim-essay)"
    )
    assert why.lines[-1].endswith("provider: said “length”, in finish_reason")


def test_an_override_of_the_turn_is_attributed_to_the_turn(agent: Agent):
    turn = drive(turn_start(agent=agent, input_text="x", overrides={"limits": {"max_continuations": 0}}))
    why = derivation_of(turn)
    assert why is not None
    assert "(max_continuations) is 0, turn override" in why.lines[3]


def test_for_a_turn_without_a_history_only_the_row_is_used():
    row = make_turn(terminal_reason="budget_exhausted", resource="max_total_tokens", stop_reason="token_limit")
    told = why_told(row, derivation_of(row))
    assert (told["resource"], told["tree"], told["decided_at"]) == ("max_total_tokens", None, None)


def test_every_step_lists_every_other_transition_of_the_table(cut: Turn):
    steps = roads_told(cut)
    assert steps
    for step in steps:
        assert step["from"] in DECIDING
        others = {trigger for trigger in TRANSITIONS[step["from"]] if trigger != step["trigger"]}
        assert {road["trigger"] for road in step["roads"]} == others
    barred = next(step for step in steps if step["trigger"] == "retry_limit")
    miss = next(road["miss"] for road in barred["roads"] if road["trigger"] == "under_limits")
    assert miss == "2 of 2 continuations used; with 3 continuations it would have continued"


def test_the_page_has_the_tree_below_the_verdict_with_a_link_to_the_version(browser: Client, cut: Turn):
    html = page(browser, f"/turns/{cut.id}")
    tree = html[html.index('<details class="why"') : html.index('<p class="facts">')]
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", tree))
    assert "Limit reached Max continuations max_continuations The model stopped cut off (“length”)" in text
    assert "Max continuations ( max_continuations ) is 2" in text
    assert "(<code>max_continuations</code>) is 2" in tree
    assert re.search(r'href="/policies/versions/[0-9a-f-]+">careful v1</a>', tree)
    assert 'href="#t' in tree
    assert html.index('class="verdict"') < html.index('<details class="why"')


def test_a_running_turn_has_no_tree(browser: Client, agent: Agent):
    queued = turn_start(agent=agent, input_text="x")
    assert '<details class="why"' not in page(browser, f"/turns/{queued.id}")
