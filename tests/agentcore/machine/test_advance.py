"""Breakpoints, holding, stepping and releasing (design §2)."""

import pytest

from agentcore import State, StopReason, Trigger, TurnStatus, advance
from agentcore.commands import Finish
from agentcore.events import Breakpoint, OperatorAction
from tests.agentcore.playbook import (
    Playbook,
    call,
    called,
    ended,
    finish,
    hold,
    operator,
    released,
    run_tools,
    started,
    tools_returned,
    truncated,
)
from tests.together import together


@together
@pytest.mark.parametrize(
    ("breakpoint_", "state"),
    [
        (Breakpoint(state="evaluate_stop"), State.EVALUATE_STOP),
        (Breakpoint(state="continue_pending"), State.CONTINUE_PENDING),
        (Breakpoint(trigger="responded"), State.EVALUATE_STOP),
        (Breakpoint(trigger="max_tokens"), State.CONTINUE_PENDING),
        (Breakpoint(stop_reason="max_tokens"), State.EVALUATE_STOP),
        (Breakpoint(state="evaluate_stop", stop_reason="max_tokens"), State.EVALUATE_STOP),
    ],
)
def test_a_breakpoint_holds_where_it_matches(breakpoint_, state):
    story = Playbook() >> started(breakpoints=(breakpoint_,)) >> truncated("a") << hold(state)
    source, trigger, target = story.moves[-1]
    assert (source, trigger, target) == (state, Trigger.BREAKPOINT, State.HELD)


@together
@pytest.mark.parametrize(
    "breakpoint_",
    [
        Breakpoint(),
        Breakpoint(state="evaluate_envelope"),
        Breakpoint(stop_reason="end_turn"),
        Breakpoint(state="evaluate_stop", stop_reason="end_turn"),
        Breakpoint(tool="calculator"),
    ],
)
def test_a_breakpoint_that_does_not_match_does_not_hold(breakpoint_):
    story = Playbook() >> started(breakpoints=(breakpoint_,)) >> truncated("a")
    assert story.snapshot.state is State.REQUEST_CONTINUATION


def test_a_breakpoint_on_a_tool_holds_before_the_tool_runs():
    story = Playbook() >> started(breakpoints=(Breakpoint(tool="clock"),)) >> called(call(), call("clock", "b"))
    assert story << hold(State.EVALUATE_STOP) >> released() << run_tools("calculator", "clock")


def test_no_judgement_is_made_where_a_breakpoint_held():
    story = Playbook() >> started(breakpoints=(Breakpoint(state="evaluate_stop"),)) >> truncated("a ") >> released()
    story = story >> ended("b")
    assert all(t.outcome is None for step in story.steps for t in step.transitions if t.trigger is Trigger.BREAKPOINT)


def test_a_release_judges_again_with_the_current_limits():
    story = (
        Playbook(max_continuations=0) >> started(breakpoints=(Breakpoint(state="continue_pending"),)) >> truncated("a")
    )
    assert story >> released() << finish("a", StopReason.RETRY_LIMIT)
    assert (story >> released(limits={"max_continuations": 1})).snapshot.state is State.REQUEST_CONTINUATION


def test_an_operators_hold_stops_once_at_the_next_deciding_state():
    story = Playbook() >> started() >> operator(OperatorAction.HOLD) >> truncated("a ") << hold(State.EVALUATE_STOP)
    story = story >> released()
    assert story.snapshot.state is State.REQUEST_CONTINUATION
    assert story >> ended("b") << finish("a b")


def test_stepping_moves_from_one_deciding_state_to_the_next():
    story = Playbook(max_continuations=0) >> started() >> operator(OperatorAction.HOLD) >> truncated("a")
    story = story << hold(State.EVALUATE_STOP) >> operator(OperatorAction.STEP)
    story = story << hold(State.CONTINUE_PENDING) >> operator(OperatorAction.STEP)
    story = story << hold(State.ABORT_PARTIAL) >> operator(OperatorAction.STEP)
    assert story << finish("a", StopReason.RETRY_LIMIT, TurnStatus.PARTIAL)


def test_a_step_holds_across_a_call():
    story = Playbook() >> started() >> operator(OperatorAction.HOLD) >> truncated("a ")
    story = story >> operator(OperatorAction.STEP) << hold(State.CONTINUE_PENDING) >> operator(OperatorAction.STEP)
    assert story.snapshot.state is State.REQUEST_CONTINUATION
    assert story >> ended("b") << hold(State.EVALUATE_STOP)


def test_holding_and_releasing_everywhere_does_not_change_the_ending():
    def told(book, *, stop):
        for event in (truncated("a "), called(call()), tools_returned(), truncated("b "), ended("c")):
            book = book >> event
            while stop and book.snapshot.state is State.HELD:
                book = book >> released()
        return book

    everywhere = tuple(Breakpoint(state=state) for state in State if state not in (State.IDLE, State.HELD))
    free = told(Playbook() >> started(), stop=False)
    held = told(Playbook() >> started(breakpoints=everywhere), stop=True)
    assert free.end == held.end
    assert [t for t in held.triggers if t is not Trigger.BREAKPOINT and "release" not in t] == free.triggers


def test_a_step_has_exactly_one_command_and_a_terminal_state_has_its_ending():
    story = Playbook() >> started() >> ended("a")
    assert isinstance(story.command, Finish)
    assert story.command is story.snapshot.end


def test_advancing_does_not_mutate_its_arguments():
    book = Playbook() >> started()
    event = ended("a")
    before = repr(book.snapshot), repr(event)
    advance(book.snapshot, event, book.policy)
    assert (repr(book.snapshot), repr(event)) == before
