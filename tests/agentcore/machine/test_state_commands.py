"""What a command carries: the request of its call, and the seconds left of the turn (design §3.5)."""

from agentcore import AttemptKind, ErrorPolicy, Message, Role
from agentcore.commands import CallModel, RunTools
from agentcore.events import ModelResponded, ToolResult
from tests.agentcore.playbook import (
    Playbook,
    call,
    call_model,
    called,
    error,
    operator,
    run_tools,
    started,
    tools_returned,
    truncated,
    woke_up,
)


def test_every_call_and_tool_run_carries_the_seconds_left():
    story = Playbook(max_seconds=10.0, error_policy=ErrorPolicy.retry_all()) >> started()
    left = [story.command.seconds_left]
    for event in (truncated("a "), error(), woke_up(), called(call()), tools_returned()):
        story = story >> event
        if isinstance(story.command, CallModel | RunTools):
            left.append(story.command.seconds_left)
    assert left == [10.0, 9.0, 8.0, 7.0, 6.0]


def test_without_a_time_limit_no_seconds_are_carried_and_they_are_never_negative():
    assert (Playbook() >> started()).command.seconds_left is None
    late = Playbook(max_seconds=10.0) >> started() >> operator(limits={"max_seconds": 0.0})
    assert late.command.seconds_left == 0.0


def test_tools_with_a_result_are_not_run():
    story = Playbook() >> started() >> called(call(), call("nope", "b"), call("clock", "c"))
    assert story >> operator(tool_result=ToolResult("c", "clock", "noon")) << run_tools("calculator")


def test_a_request_holds_the_prompt_and_history_and_no_internal_text():
    story = (
        Playbook(system_prompt="Be terse.", extra={"temperature": 0}) >> started("q") >> called(call(), text="let me ")
    )
    story = story >> tools_returned() << call_model(AttemptKind.AFTER_TOOLS, system_prompt="Be terse.", max_tokens=60)
    request = story.command.request
    assert [m.role for m in request.messages] == [Role.USER, Role.ASSISTANT, Role.TOOL]
    assert (request.messages[0], request.extra, request.continuation) == (
        Message(Role.USER, "q"),
        {"temperature": 0},
        None,
    )
    assert request.tools == story.setup.tools


def test_attempts_are_numbered_from_one_throughout_the_turn():
    story = Playbook(error_policy=ErrorPolicy.retry_all()) >> started()
    numbers = [story.command.attempt]
    for event in (truncated("a "), error(), woke_up(), called(call()), tools_returned()):
        story = story >> event
        numbers += [story.command.attempt] if isinstance(story.command, CallModel) else []
    assert numbers == [1, 2, 3, 4]
    assert isinstance(story.records[1].event, ModelResponded)
