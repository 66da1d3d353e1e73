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
def test_every_deciding_state_holds_goes_on_by_its_own_release_and_can_be_cancelled(state):
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
def test_all_that_is_set_must_match_alone_and_together(choice):
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
def test_a_reason_or_a_tool_together_with_a_place_holds_at_that_place(breakpoint_, event, state):
    assert told(breakpoint_, event) << hold(state)


def test_a_tool_and_a_state_hold_when_its_results_are_in():
    story = told(Breakpoint(state="evaluate_continuation", tool="clock"), called(call("clock")), tools_returned())
    assert story << hold(State.EVALUATE_CONTINUATION) >> released() << call_model(AttemptKind.AFTER_TOOLS)


def test_a_reason_alone_holds_once_for_each_answer():
    story = told(Breakpoint(stop_reason="max_tokens"), truncated("a ")) << hold(State.EVALUATE_STOP) >> released()
    assert story << call_model(AttemptKind.CONTINUATION)
    assert story >> truncated("b ") << hold(State.EVALUATE_STOP)
    assert story >> ended("b") << finish("a b")


def test_an_error_word_holds_once():
    story = told(Breakpoint(stop_reason="unknown"), unknown("error", "a")) << hold(State.EVALUATE_STOP) >> released()
    assert story.snapshot.state is State.BACKOFF


def test_a_breakpoint_holds_again_each_time_its_state_is_entered():
    story = told(Breakpoint(state="continue_pending"), truncated("a "))
    for _ in range(3):
        story = story << hold(State.CONTINUE_PENDING) >> released() << call_model(AttemptKind.CONTINUATION)
        story = story >> truncated("more ")
    assert story << hold(State.CONTINUE_PENDING) >> released() << finish(None, StopReason.RETRY_LIMIT)


def test_a_cap_changed_while_an_error_is_held_counts_for_the_retry():
    story = told(Breakpoint(state="evaluate_error"), error(draw=0.5)) >> released(max_tokens=7) << wait(0.5)
    assert story >> woke_up() << call_model(AttemptKind.ERROR_RETRY, max_tokens=7)


def test_a_cap_changed_during_a_call_that_fails_counts_for_the_retry():
    story = told(Breakpoint(state="complete"), operator(max_tokens=7), error(), woke_up())
    assert story << call_model(AttemptKind.ERROR_RETRY, max_tokens=7)


def test_a_policy_changed_while_an_error_is_held_judges_it():
    story = Playbook() >> started(breakpoints=(Breakpoint(state="evaluate_error"),)) >> error()
    assert story >> released() << finish("", StopReason.ERROR, TurnStatus.FAILED)
    lenient = story >> released(error_policy={"on_model_error": "retry", "max_retries": 2})
    assert lenient.snapshot.state is State.BACKOFF


def test_steps_changed_before_tools_run_judge_their_calls():
    story = told(Breakpoint(tool="calculator"), called(call()))
    assert story >> released(limits={"max_steps": 1}) << finish("", StopReason.STEPS_LIMIT, terminal="forbidden")


def test_a_hold_asked_for_during_backoff_and_tools_holds_at_the_next_judgement():
    story = told(Breakpoint(state="complete"), error(), operator(OperatorAction.HOLD), woke_up(), ended("a"))
    assert story << hold(State.EVALUATE_STOP)
    story = told(Breakpoint(state="complete"), called(call()), operator(OperatorAction.HOLD), tools_returned())
    assert story << hold(State.EVALUATE_CONTINUATION)


def test_holding_records_one_move_and_no_outcome():
    story = told(Breakpoint(trigger="responded"), ended("a"))
    move = story.step.transitions[-1]
    assert (move.source, move.trigger, move.target) == (State.EVALUATE_STOP, Trigger.BREAKPOINT, State.HELD)
    assert (move.outcome, move.reason) == (None, "breakpoint on trigger responded")


def test_a_cap_changed_while_a_failed_continuation_is_held_counts_for_its_retry():
    story = told(Breakpoint(state="evaluate_error"), truncated("a "), error()) << hold(State.EVALUATE_ERROR)
    story = story >> operator(max_tokens=7) >> released() >> woke_up()
    assert story << call_model(AttemptKind.ERROR_RETRY, continues="a ", max_tokens=7)


# Budgets --------------------------------------------------------------------------------------------------------------

LOW = Breakpoint(budget_below=0.34)


def test_a_budget_holds_once_when_it_comes_under_and_not_again():
    story = told(LOW, truncated("a "), truncated("b "), truncated("c "), max_continuations=3, max_tokens=900)
    assert story << hold(State.EVALUATE_STOP)
    assert story.step.transitions[-1].reason == "breakpoint on a budget under 34 %: continuations"
    story = story >> released() << call_model(AttemptKind.CONTINUATION)
    assert story >> ended("d") << finish("a b c d")


def test_each_budget_holds_for_itself():
    story = told(LOW, truncated("a ", tokens=70), truncated("b ", tokens=70), max_total_completion_tokens=200)
    assert story << hold(State.EVALUATE_STOP)
    story = story >> released(limits={"max_continuations": 10}) >> truncated("c ", tokens=1)
    assert story << call_model(AttemptKind.CONTINUATION)


def test_a_budget_that_was_raised_holds_when_it_comes_under_once_more():
    story = told(LOW, truncated("a "), truncated("b "), truncated("c "), max_continuations=3, max_tokens=900)
    story = (
        story >> released(limits={"max_continuations": 6}) >> truncated("d ") << call_model(AttemptKind.CONTINUATION)
    )
    story = story >> truncated("e ") << hold()
    assert story.step.transitions[-1].reason.endswith(": continuations")


def test_a_budget_and_a_place_hold_at_that_place():
    both = Breakpoint(state="continue_pending", budget_below=0.34)
    story = told(both, truncated("a "), truncated("b "), truncated("c "), max_continuations=3, max_tokens=900)
    assert story << hold(State.CONTINUE_PENDING) >> released() << call_model(AttemptKind.CONTINUATION)


def test_what_is_not_allowed_at_all_cannot_run_low():
    assert told(Breakpoint(budget_below=0.5), ended("a"), max_continuations=0, max_tool_repair_attempts=0) << finish(
        "a"
    )


@pytest.mark.parametrize("limits", [{"max_seconds": 1.5}, {"max_total_tokens": 20}, {"max_steps": 1}])
def test_every_budget_the_pages_show_is_watched(limits):
    story = told(Breakpoint(budget_below=0.4), ended("a"), **limits) << hold(State.EVALUATE_STOP)
    assert story >> released() << finish("a")


def test_two_breakpoints_on_budgets_hold_each_at_its_own():
    stops = (Breakpoint(budget_below=0.7), Breakpoint(budget_below=0.3))
    story = Playbook(max_continuations=10, max_tokens=900, max_steps=100) >> started(breakpoints=stops)
    held_at = []
    for count in range(11):
        story = story >> truncated(f"{count} ", tokens=1)
        if story.snapshot.held_state:
            held_at.append(story.snapshot.spent.continuations)
            story = story >> released()
    assert held_at == [4, 8]
