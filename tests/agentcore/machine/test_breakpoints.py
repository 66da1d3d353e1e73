"""Breakpoints: alone and together, on every deciding state, and what a cancel or a change does there (design §2)."""

from itertools import product

import pytest

from agentcore import AttemptKind, ErrorPolicy, NormalizedStopReason, State, StopReason, Trigger, TurnStatus
from agentcore.events import Breakpoint, OperatorAction
from agentcore.states import DECIDING, RELEASES
from tests.agentcore.playbook import (
    Playbook,
    call,
    call_model,
    called,
    cancelled,
    cut_call,
    ended,
    error,
    finish,
    hold,
    operator,
    released,
    run_tools,
    started,
    tools_returned,
    truncated,
    unknown,
    wait,
    woke_up,
)
from tests.together import together

RETRY = ErrorPolicy.retry_all()
SCHEMA = {"type": "object", "required": ["answer"]}


def told(breakpoint_, *events, **asked):
    story = Playbook(error_policy=RETRY, **asked) >> started(breakpoints=(breakpoint_,))
    for event in events:
        story = story >> event
    return story


#: What brings a turn into each deciding state.
INTO = {
    State.EVALUATE_STOP: ({}, (ended("a"),)),
    State.CONTINUE_PENDING: ({}, (truncated("a"),)),
    State.REPAIR_PENDING: ({}, (cut_call("a"),)),
    State.EVALUATE_ENVELOPE: ({"envelope_schema": SCHEMA}, (ended("{}"),)),
    State.EVALUATE_ERROR: ({}, (error(partial="a"),)),
    State.EVALUATE_CONTINUATION: ({}, (called(call(), text="a"), tools_returned())),
    State.ABORT_PARTIAL: ({"max_continuations": 0}, (truncated("a"),)),
}


@together
@pytest.mark.parametrize("state", DECIDING)
def test_every_deciding_state_can_be_held_released_and_cancelled(state):
    asked, events = INTO[state]
    story = told(Breakpoint(state=state.value), *events, **asked) << hold(state)
    free = told(Breakpoint(state="complete"), *events, **asked)
    after = story >> released()
    assert after.moves[len(story.moves)] == (State.HELD, RELEASES[state], state)
    assert after.command == free.command
    assert story >> operator() << hold(state)
    end = (story >> cancelled()).end
    assert (end.status, end.output_text) == (TurnStatus.CANCELLED, "" if "envelope_schema" in asked else "a")


PARTS = {
    "state": ("evaluate_stop", "evaluate_envelope"),
    "trigger": ("responded", "tools_returned"),
    "stop_reason": ("tool_call", "end_turn"),
    "tool": ("calculator", "clock"),
}


@together
@pytest.mark.parametrize("choice", list(product([None, 0, 1], repeat=4)))
def test_all_conditions_of_a_breakpoint_must_match(choice):
    parts = {name: PARTS[name][which] for name, which in zip(PARTS, choice, strict=True) if which is not None}
    story = told(Breakpoint(**parts), called(call()))
    if parts and 1 not in choice:
        assert story << hold(State.EVALUATE_STOP) >> released() << run_tools("calculator")
    else:
        assert story << run_tools("calculator")


@together
@pytest.mark.parametrize(
    ("breakpoint_", "event", "state"),
    [
        (Breakpoint(state="continue_pending", stop_reason="max_tokens"), truncated("a"), State.CONTINUE_PENDING),
        (Breakpoint(trigger="max_tokens", stop_reason="max_tokens"), truncated("a"), State.CONTINUE_PENDING),
        (Breakpoint(state="repair_pending", tool="calculator"), cut_call("a"), State.REPAIR_PENDING),
        (Breakpoint(trigger="broken_tool_call", tool="calculator"), cut_call("a"), State.REPAIR_PENDING),
        (Breakpoint(trigger="failed"), error(), State.EVALUATE_ERROR),
        (
            Breakpoint(stop_reason="context_window_exceeded"),
            error(stop_reason=NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED),
            State.EVALUATE_ERROR,
        ),
    ],
)
def test_a_reason_or_a_tool_together_with_a_state_holds_at_that_state(breakpoint_, event, state):
    assert told(breakpoint_, event) << hold(state)


def test_a_tool_together_with_a_state_holds_when_its_results_have_arrived():
    story = told(Breakpoint(state="evaluate_continuation", tool="clock"), called(call("clock")), tools_returned())
    assert story << hold(State.EVALUATE_CONTINUATION) >> released() << call_model(AttemptKind.AFTER_TOOLS)


def test_a_breakpoint_on_a_stop_reason_holds_once_per_answer():
    story = told(Breakpoint(stop_reason="max_tokens"), truncated("a ")) << hold(State.EVALUATE_STOP) >> released()
    assert story << call_model(AttemptKind.CONTINUATION)
    assert story >> truncated("b ") << hold(State.EVALUATE_STOP)
    assert story >> ended("b") << finish("a b")


def test_a_breakpoint_on_an_error_reason_holds_once():
    story = told(Breakpoint(stop_reason="unknown"), unknown("error", "a")) << hold(State.EVALUATE_STOP) >> released()
    assert story.snapshot.state is State.BACKOFF


def test_a_breakpoint_holds_each_time_its_state_is_entered():
    story = told(Breakpoint(state="continue_pending"), truncated("a "))
    for _ in range(3):
        story = story << hold(State.CONTINUE_PENDING) >> released() << call_model(AttemptKind.CONTINUATION)
        story = story >> truncated("more ")
    assert story << hold(State.CONTINUE_PENDING) >> released() << finish(None, StopReason.RETRY_LIMIT)


def test_a_cap_changed_while_an_error_is_held_applies_to_the_retry():
    story = told(Breakpoint(state="evaluate_error"), error(draw=0.5)) >> released(max_tokens=7) << wait(0.5)
    assert story >> woke_up() << call_model(AttemptKind.ERROR_RETRY, max_tokens=7)


def test_a_cap_changed_during_a_call_that_fails_applies_to_the_retry():
    story = told(Breakpoint(state="complete"), operator(max_tokens=7), error(), woke_up())
    assert story << call_model(AttemptKind.ERROR_RETRY, max_tokens=7)


def test_a_policy_changed_while_an_error_is_held_applies_to_it():
    story = Playbook() >> started(breakpoints=(Breakpoint(state="evaluate_error"),)) >> error()
    assert story >> released() << finish("", StopReason.ERROR, TurnStatus.FAILED)
    lenient = story >> released(error_policy={"on_model_error": "retry", "max_retries": 2})
    assert lenient.snapshot.state is State.BACKOFF


def test_max_steps_changed_before_tools_run_applies_to_their_calls():
    story = told(Breakpoint(tool="calculator"), called(call()))
    assert story >> released(limits={"max_steps": 1}) << finish("", StopReason.STEPS_LIMIT, terminal="forbidden")


def test_a_hold_requested_during_backoff_or_tools_holds_at_the_next_judgement():
    story = told(Breakpoint(state="complete"), error(), operator(OperatorAction.HOLD), woke_up(), ended("a"))
    assert story << hold(State.EVALUATE_STOP)
    story = told(Breakpoint(state="complete"), called(call()), operator(OperatorAction.HOLD), tools_returned())
    assert story << hold(State.EVALUATE_CONTINUATION)


def test_holding_records_one_transition_and_no_outcome():
    story = told(Breakpoint(trigger="responded"), ended("a"))
    move = story.step.transitions[-1]
    assert (move.source, move.trigger, move.target) == (State.EVALUATE_STOP, Trigger.BREAKPOINT, State.HELD)
    assert (move.outcome, move.reason) == (None, "breakpoint on trigger responded")


def test_a_cap_changed_while_a_failed_continuation_is_held_applies_to_its_retry():
    story = told(Breakpoint(state="evaluate_error"), truncated("a "), error()) << hold(State.EVALUATE_ERROR)
    story = story >> operator(max_tokens=7) >> released() >> woke_up()
    assert story << call_model(AttemptKind.ERROR_RETRY, continues="a ", max_tokens=7)


# Budgets --------------------------------------------------------------------------------------------------------------

LOW = Breakpoint(budget_below=0.34)


def test_a_budget_breakpoint_holds_once_when_the_budget_falls_below_the_threshold():
    story = told(LOW, truncated("a "), truncated("b "), truncated("c "), max_continuations=3, max_tokens=900)
    assert story << hold(State.EVALUATE_STOP)
    assert story.step.transitions[-1].reason == "breakpoint on a budget under 34 %: continuations"
    story = story >> released() << call_model(AttemptKind.CONTINUATION)
    assert story >> ended("d") << finish("a b c d")


def test_each_budget_holds_independently():
    story = told(LOW, truncated("a ", tokens=70), truncated("b ", tokens=70), max_total_completion_tokens=200)
    assert story << hold(State.EVALUATE_STOP)
    story = story >> released(limits={"max_continuations": 10}) >> truncated("c ", tokens=1)
    assert story << call_model(AttemptKind.CONTINUATION)


def test_a_raised_budget_holds_again_when_it_falls_below_the_threshold_again():
    story = told(LOW, truncated("a "), truncated("b "), truncated("c "), max_continuations=3, max_tokens=900)
    story = (
        story >> released(limits={"max_continuations": 6}) >> truncated("d ") << call_model(AttemptKind.CONTINUATION)
    )
    story = story >> truncated("e ") << hold()
    assert story.step.transitions[-1].reason.endswith(": continuations")


def test_a_budget_together_with_a_state_holds_at_that_state():
    both = Breakpoint(state="continue_pending", budget_below=0.34)
    story = told(both, truncated("a "), truncated("b "), truncated("c "), max_continuations=3, max_tokens=900)
    assert story << hold(State.CONTINUE_PENDING) >> released() << call_model(AttemptKind.CONTINUATION)


def test_a_budget_of_zero_never_triggers_a_budget_breakpoint():
    assert told(Breakpoint(budget_below=0.5), ended("a"), max_continuations=0, max_tool_repair_attempts=0) << finish(
        "a"
    )


@pytest.mark.parametrize("limits", [{"max_seconds": 1.5}, {"max_total_tokens": 20}, {"max_steps": 1}])
def test_every_budget_shown_on_the_pages_is_watched(limits):
    story = told(Breakpoint(budget_below=0.4), ended("a"), **limits) << hold(State.EVALUATE_STOP)
    assert story >> released() << finish("a")


def test_two_budget_breakpoints_hold_each_at_its_own_threshold():
    stops = (Breakpoint(budget_below=0.7), Breakpoint(budget_below=0.3))
    story = Playbook(max_continuations=10, max_tokens=900, max_steps=100) >> started(breakpoints=stops)
    held_at = []
    for count in range(11):
        story = story >> truncated(f"{count} ", tokens=1)
        if story.snapshot.held_state:
            held_at.append(story.snapshot.spent.continuations)
            story = story >> released()
    assert held_at == [4, 8]
