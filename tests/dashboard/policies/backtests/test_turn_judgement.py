"""A turn that would have continued where its recording ends counts as that, whichever limit stopped it."""

from typing import Any

import pytest

from agentcore.policy import Policy
from agentcore.reasons import TurnStatus
from dashboard.agents.policies import overridden
from dashboard.policies.backtests.turn_judgement import goes_on, tried_under
from dashboard.turns.history import recording_of
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play

pytestmark = pytest.mark.django_db(transaction=True)

TOOLS: dict[str, Any] = {"tools": ["calculator"]}


def would_continue(turn: Turn, more: dict[str, Any]) -> bool:
    recording = recording_of(turn)
    policy: Policy = overridden(recording.policy, more)
    found = tried_under(recording, policy)
    assert found is not None
    return goes_on(turn, recording, found)


@pytest.mark.parametrize(
    ("model", "agent", "limits", "more"),
    [
        ("sim-tools", TOOLS, {"max_steps": 1}, {"limits": {"max_steps": 5}}),
        ("sim-tools", TOOLS, {"max_total_tokens": 20}, {"limits": {"max_total_tokens": 4_000}}),
        ("sim-cut-tool", TOOLS | {"max_tokens": 40}, {"max_tool_repair_attempts": 0}, {"max_tokens": 400}),
        (
            "sim-cut-tool",
            TOOLS | {"max_tokens": 40},
            {"max_tool_repair_attempts": 0},
            {"limits": {"max_tool_repair_attempts": 2}},
        ),
        ("sim-essay", {"max_tokens": 60}, {"max_continuations": 0}, {"limits": {"max_continuations": 1}}),
    ],
)
def test_more_of_the_limit_that_stopped_a_turn_lets_it_continue(
    play: Play, model: str, agent: dict[str, Any], limits: dict[str, int], more: dict[str, Any]
):
    turn = play(model, overrides={"limits": limits}, **agent)
    assert turn.status == TurnStatus.PARTIAL
    assert would_continue(turn, more)
    assert not would_continue(turn, {})


def test_a_smaller_cap_lets_no_truncated_tool_call_continue(play: Play):
    turn = play("sim-cut-tool", overrides={"limits": {"max_tool_repair_attempts": 0}}, max_tokens=40, **TOOLS)
    assert not would_continue(turn, {"max_tokens": 30})


def test_tools_that_nobody_approved_are_no_benefit_of_a_limit(play: Play):
    turn = play("sim-tools", overrides={"limits": {"max_steps": 1}}, **TOOLS)
    recording = recording_of(turn)
    found = tried_under(recording, overridden(recording.policy, {"limits": {"max_steps": 5}}))
    assert found is not None
    turn.status = TurnStatus.CANCELLED
    assert not goes_on(turn, recording, found)
