import pytest
from django.core.exceptions import ValidationError

from agentcore.states import DECIDING
from dashboard.agents.breakpoints import ENTERING, breakpoints_clean


def test_every_deciding_state_is_entered_by_a_trigger_other_than_a_release():
    assert set().union(*ENTERING.values()) == {state.value for state in DECIDING}
    assert not any(trigger.startswith("release_") for trigger in ENTERING)


@pytest.mark.parametrize(
    "breakpoint_",
    [
        {"state": "continue_pending"},
        {"trigger": "responded"},
        {"state": "continue_pending", "trigger": "truncated_by_error"},
        {"stop_reason": "max_tokens"},
        {"stop_reason": "tool_call", "tool": "calculator", "state": "evaluate_stop", "trigger": "responded"},
    ],
)
def test_a_possible_breakpoint_is_stored_without_unset_fields(breakpoint_: dict):
    given = {"state": None, "trigger": None, "stop_reason": None, "tool": None, **breakpoint_}
    assert breakpoints_clean([given], tools=["calculator"]) == [breakpoint_]


@pytest.mark.parametrize(
    ("breakpoint_", "words"),
    [
        ({}, "it must have at least one of the fields state, trigger, stop_reason, tool"),
        ({"when": "now"}, "and no other field"),
        ({"state": "request"}, "there is no state “request” to hold at; choose from evaluate_stop, continue_pending"),
        ({"trigger": "release_evaluate_stop"}, "there is no trigger “release_evaluate_stop”"),
        ({"stop_reason": "length"}, "choose from end_turn, tool_call, max_tokens"),
        ({"tool": "calculator"}, "there is no tool “calculator” to hold at; this agent has none."),
        (
            {"state": "abort_partial", "trigger": "responded"},
            "the trigger responded never enters abort_partial. It enters evaluate_stop. "
            "Leave the state or the trigger out.",
        ),
        ({"stop_reason": "max_tokens", "state": "continue_pending"}, "on entering evaluate_stop only"),
    ],
)
def test_an_impossible_breakpoint_is_refused_with_an_explanation(breakpoint_: dict, words: str):
    with pytest.raises(ValidationError) as refused:
        breakpoints_clean([{"state": "evaluate_stop"}, breakpoint_], tools=[])
    (message,) = refused.value.messages
    assert message.startswith("Breakpoint 2: ")
    assert words in message


def test_the_number_of_breakpoints_is_limited():
    with pytest.raises(ValidationError, match="the maximum is 100"):
        breakpoints_clean([{"state": "evaluate_stop"}] * 101, tools=[])
