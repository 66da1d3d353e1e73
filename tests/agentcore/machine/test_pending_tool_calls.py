"""Calls that have not run: other arguments for them, and tools that run only once a person has approved."""

from dataclasses import replace

import pytest

from agentcore import AttemptKind, ErrorPolicy, NormalizedStopReason, State, TurnStatus
from agentcore.errors import ErrorType, IllegalEvent
from agentcore.events import Approvals, Breakpoint, ChangedCall, OperatorAction, Otherwise, ToolResult
from agentcore.machine.pending_tool_calls import pending_calls
from agentcore.policy import OnTruncation
from tests.agentcore.playbook import (
    Playbook,
    broken,
    call,
    call_model,
    called,
    cut_call,
    ended,
    finish,
    hold,
    malformed_call,
    operator,
    released,
    run_tools,
    started,
    stopped,
    tools_returned,
    truncated,
)
from tests.together import together

RAN = ErrorPolicy.ignore_tool_errors()
ASK = Approvals(("calculator",), 30.0)
STOP = (Breakpoint(state="evaluate_stop"),)


def held(event, **asked):
    return Playbook(error_policy=RAN, **asked) >> started(breakpoints=STOP) >> event


def other(id: str = "a", **arguments):
    return ChangedCall(id, arguments or {"expression": "2+2"})


# Other arguments ------------------------------------------------------------------------------------------------------


def test_a_held_call_runs_with_edited_arguments_and_the_model_sees_them():
    story = (
        held(called(call(), call("clock", "b"), text="so")) >> operator(tool_call=other()) >> released(breakpoints=())
    )
    story = story << run_tools("calculator", "clock")
    assert dict(story.command.calls[0].arguments) == {"expression": "2+2"}
    story = story >> tools_returned() << call_model(AttemptKind.AFTER_TOOLS)
    assert [c.raw for c in story.command.request.messages[1].tool_calls] == ['{"expression": "2+2"}', "{}"]
    assert story >> ended("four") << finish("four")


@pytest.mark.parametrize("rule", OnTruncation)
@pytest.mark.parametrize("event", [cut_call("so "), malformed_call("so ")])
def test_a_broken_call_can_be_completed_by_an_operator_and_runs(event, rule):
    story = held(event, tool_calls_on_truncation=rule) >> released(tool_call=other(), breakpoints=())
    assert story << run_tools("calculator") >> tools_returned() >> ended("4") << finish("4")


def test_nothing_runs_while_another_call_is_broken():
    both = truncated(
        "", broken_tool_calls=(replace(call(), issue="truncated"), replace(call(id="b"), issue="truncated"))
    )
    story = held(both) >> operator(tool_call=other("b"))
    assert [c.id for c in pending_calls(story.snapshot)] == ["b", "a"]
    assert (story >> released()).snapshot.state is State.REQUEST_TOOL_REPAIR
    assert story >> released(tool_call=other("a")) << run_tools("calculator", "calculator")


def test_calls_without_an_id_are_named_by_their_future_id():
    story = held(called(call(id=""), call("clock", "")))
    first, second = (c.id for c in pending_calls(story.snapshot))
    story = story >> operator(tool_call=other(first)) >> released(tool_call=ChangedCall(second, {"zone": "utc"}))
    assert [(c.id, dict(c.arguments)) for c in story.command.calls] == [
        (first, {"expression": "2+2"}),
        (second, {"zone": "utc"}),
    ]


def test_the_dialects_copy_of_an_edited_answer_is_not_sent_back():
    event = called(call())
    event = replace(event, response=replace(event.response, echo={"said": "1+1"}))
    story = held(event) >> released(tool_call=other()) >> tools_returned()
    assert story.command.request.messages[1].echo is None


def test_edited_arguments_that_violate_the_schema_become_an_error_for_the_model():
    story = held(called(call())) >> released(tool_call=other(wrong="x")) << run_tools() >> tools_returned()
    assert "do not fit" in story.command.request.messages[-1].text


def test_a_call_about_to_run_is_listed_with_its_edited_arguments():
    story = Playbook(error_policy=RAN) >> started() >> called(call(), call("clock", "b"))
    story = story >> operator(tool_call=other()) << run_tools("calculator", "clock")
    assert dict(story.command.calls[0].arguments) == {"expression": "2+2"}
    story = story >> tools_returned()
    assert story.command.request.messages[1].tool_calls[0].raw == '{"expression": "2+2"}'


def test_an_edit_decides_by_validity_whether_a_call_runs():
    story = Playbook(error_policy=RAN) >> started() >> called(call(wrong="x")) << run_tools()
    story = story >> operator(tool_call=other()) << run_tools("calculator")
    assert story >> operator(tool_call=other(wrong="x")) << run_tools()


@pytest.mark.parametrize("before", [held(called(call())), held(ended("x")), Playbook() >> started()])
def test_a_call_that_is_not_pending_cannot_be_changed(before):
    with pytest.raises(IllegalEvent, match="No tool call “z” waits to run"):
        before >> operator(tool_call=other("z"))


def test_editing_a_call_does_not_undo_a_block():
    event = stopped(NormalizedStopReason.SAFETY_BLOCKED, "content_filter", broken_tool_calls=(broken(),))
    story = held(event) >> released(tool_call=other())
    assert story.end.terminal_reason == "safety_blocked"


# Approvals ------------------------------------------------------------------------------------------------------------


def asked(*events, approvals: Approvals = ASK, breakpoints=(), **more):
    story = Playbook(error_policy=RAN, approvals=approvals, **more) >> started(breakpoints=breakpoints)
    for event in events:
        story = story >> event
    return story


def test_a_tool_that_needs_approval_holds_until_released():
    story = asked(called(call(), call("clock", "b"))) << hold(State.EVALUATE_STOP, deadline=31.0 + 1.0)
    assert story.step.transitions[-1].reason == "approval of calculator"
    assert story.snapshot.approving == ("calculator",)
    story = story >> released() << run_tools("calculator", "clock")
    assert (story.snapshot.approving, story.snapshot.held_until) == ((), None)
    assert story >> tools_returned() >> ended("2") << finish("2")


def test_tools_without_approval_run_at_once():
    assert asked(called(call("clock"))) << run_tools("clock")


@together
@pytest.mark.parametrize(
    "event", [called(call("nope")), called(call(wrong="x")), cut_call("x"), ended("x"), truncated("x")]
)
def test_a_call_that_would_not_run_needs_no_approval(event):
    assert asked(event).snapshot.state is not State.HELD


def test_a_rejected_call_becomes_an_error_naming_the_operator_and_its_siblings_run():
    story = asked(called(call(), call("clock", "b"))) >> operator(OperatorAction.REFUSE) << run_tools("clock")
    story = story >> tools_returned() << call_model(AttemptKind.AFTER_TOOLS)
    told = {m.tool_call_id: m.text for m in story.command.request.messages if m.tool_call_id}
    assert told == {"a": "This call was not approved: refused by ada.", "b": "done"}
    assert story >> ended("then not") << finish("then not")


def test_under_a_policy_that_stops_on_tool_errors_a_rejection_ends_the_turn():
    story = Playbook(approvals=ASK) >> started() >> called(call(), text="so") >> operator(OperatorAction.REFUSE)
    assert (story >> tools_returned()).end.status is TurnStatus.PARTIAL


def test_a_result_supplied_by_an_operator_is_kept_beside_a_rejection():
    mine = ToolResult("a", "calculator", "4")
    story = asked(called(call(), call(id="b"))) >> operator(OperatorAction.REFUSE, tool_result=mine) >> tools_returned()
    assert [m.text for m in story.command.request.messages if m.tool_call_id][:1] == ["4"]


def test_a_call_can_only_be_rejected_while_it_awaits_approval():
    with pytest.raises(IllegalEvent, match="No call waits for approval"):
        held(called(call())) >> operator(OperatorAction.REFUSE)


def test_clearing_breakpoints_does_not_clear_approvals():
    story = asked(operator(breakpoints=()), called(call()))
    assert story.snapshot.approving == ("calculator",)


@pytest.mark.parametrize("action", [OperatorAction.HOLD, OperatorAction.CHANGE])
def test_an_approval_is_named_before_any_other_cause_of_the_hold(action):
    story = asked(operator(action), called(call()), breakpoints=STOP)
    assert story.step.transitions[-1].reason == "approval of calculator"
    assert story >> released() << run_tools("calculator")


def test_editing_a_call_in_a_turn_held_for_another_reason_is_not_an_approval():
    story = asked(cut_call("x"), breakpoints=STOP) >> released(tool_call=other())
    assert (story.command.deadline, story.snapshot.approving) == (story.snapshot.at + 30, ("calculator",))
    assert story >> released() << run_tools("calculator")


@pytest.mark.parametrize(
    ("action", "ran"), [(OperatorAction.REFUSE, ()), (OperatorAction.RELEASE, ("clock", "calculator"))]
)
def test_a_call_edited_while_another_awaits_approval_waits_too(action, ran):
    approvals = Approvals(("clock", "calculator"), 30.0, Otherwise.REFUSE)
    story = asked(called(call("clock", "b"), call(wrong="x")), approvals=approvals)
    assert story.snapshot.approving == ("clock",)
    story = story >> operator(tool_call=other())
    assert story.snapshot.approving == ("clock", "calculator")
    story = story >> operator(action)
    answered = {result.name for result in story.snapshot.supplied}
    assert {"clock", "calculator"} - answered == set(ran)


def test_a_change_during_an_approval_does_not_move_its_deadline():
    story = asked(called(call()))
    assert (story >> operator(max_tokens=7)).command == story.command


@pytest.mark.parametrize("otherwise", Otherwise)
def test_without_a_time_limit_an_approval_waits_forever(otherwise):
    assert asked(called(call()), approvals=Approvals(("calculator",), None, otherwise)) << hold()


def test_a_rejection_is_a_tool_error():
    story = asked(called(call())) >> operator(OperatorAction.REFUSE)
    assert [result.error for result in story.snapshot.supplied] == [ErrorType.TOOL]
