"""agent-loop-stop-reason: think, act, observe; what ends the loop and what goes round again."""

from collections.abc import Callable
from typing import Any

import pytest

from agentcore import AttemptKind, ChatResponse, NormalizedStopReason, State, StopReason, TurnStatus
from agentcore.commands import CallModel, RunTools
from agentcore.messages import Role
from tests.agentcore.playbook import (
    Playbook,
    call,
    call_model,
    called,
    ended,
    finish,
    run_tools,
    started,
    stopped,
    tools_returned,
)
from tests.dashboard.driving import Play
from tests.spec.rules import rule

VALUES = "agent-loop §stop_reason の値"
LOOP = "agent-loop §実際のコード"
TABLE = "agent-loop §状態遷移表"


def asked(**more: Any) -> Playbook:
    return Playbook(**more) >> started("tell me")


@rule(VALUES, "A response has text, tool calls and a stop reason; the raw reason is stored with its attempt")
@pytest.mark.django_db(transaction=True)
def test_a_response_has_what_the_loop_needs_and_the_raw_one_is_kept(play: Play, get: Callable[[str], Any]) -> None:
    assert {"text", "tool_calls", "stop_reason"} <= set(ChatResponse.__dataclass_fields__)
    first, *_ = get(f"/api/v1/turns/{play('sim-tools', tools=['calculator']).id}/attempts").json()
    assert (first["stop_reason"], first["raw_stop_reason"]) == ("tool_call", "tool_calls")
    assert '"finish_reason":"tool_calls"' in first["response"]["body"]


@rule(VALUES, "A tool call runs its tools, then the next iteration begins")
def test_a_tool_call_acts_observes_and_thinks_again() -> None:
    story = (
        asked() >> called(call()) << run_tools("calculator") >> tools_returned() << call_model(AttemptKind.AFTER_TOOLS)
    )
    assert story.snapshot.iteration == 2


@rule(VALUES, "An end of turn returns the answer's text")
def test_an_end_of_turn_returns_the_text() -> None:
    assert asked() >> ended("Forty-two.") << finish("Forty-two.", StopReason.COMPLETED, TurnStatus.COMPLETED)


@rule(VALUES, "An end of turn without text returns an empty text")
def test_an_end_without_text_returns_an_empty_text() -> None:
    assert asked() >> ended("") << finish("", StopReason.COMPLETED, terminal="empty_output")


@rule(LOOP, "The request has the messages so far and the available tools")
def test_the_model_receives_messages_and_tools() -> None:
    command = asked().command
    assert isinstance(command, CallModel)
    assert [(m.role, m.text) for m in command.request.messages] == [(Role.USER, "tell me")]
    assert [tool.name for tool in command.request.tools] == ["calculator", "clock"]


@rule(LOOP, "The assistant's message enters the history before the results of its calls")
def test_the_calls_precede_their_results_in_the_history() -> None:
    story = asked() >> called(call(id="a"), call("clock", id="b"), text="Let me see.") >> tools_returned()
    user, said, first, second = story.command.request.messages
    assert (user.role, said.role, said.text) == (Role.USER, Role.ASSISTANT, "Let me see.")
    assert [c.id for c in said.tool_calls] == [first.tool_call_id, second.tool_call_id] == ["a", "b"]


@rule(LOOP, "All calls of an answer run, in order")
def test_every_call_is_run() -> None:
    assert asked() >> called(call(id="a"), call("clock", id="b")) << run_tools("calculator", "clock")


@rule(LOOP, "An answer without calls ends the loop, whatever its stop reason")
def test_an_answer_without_calls_ends_the_loop() -> None:
    assert (
        asked()
        >> stopped(NormalizedStopReason.TOOL_CALL, "tool_use", "Hi")
        << finish("Hi", status=TurnStatus.COMPLETED)
    )


@rule(TABLE, "Tool calls lead to act, observe and think")
def test_a_tool_call_goes_from_think_over_act_and_observe_to_think() -> None:
    story = asked() >> called(call()) >> tools_returned()
    assert [target for _, _, target in story.moves] == [
        State.REQUEST,
        State.EVALUATE_STOP,
        State.EXECUTE_TOOLS,
        State.EVALUATE_CONTINUATION,
        State.REQUEST,
    ]


@rule(TABLE, "`end_turn` without calls ends the turn")
def test_an_end_goes_from_think_to_done() -> None:
    assert [target for _, _, target in (asked() >> ended("a")).moves][-1] is State.COMPLETE


@rule(TABLE, "No tool runs without calls, whatever the stop reason")
@pytest.mark.parametrize("reason", list(NormalizedStopReason))
def test_without_calls_nothing_runs(reason: NormalizedStopReason) -> None:
    story = asked() >> stopped(reason, "word", "text")
    assert not any(isinstance(step.command, RunTools) for step in story.steps)


@rule(TABLE, "The loop ends at the maximum number of iterations and reports it")
def test_at_the_last_iteration_the_loop_ends_with_its_reason() -> None:
    story = asked(max_steps=2) >> called(call()) >> tools_returned() >> called(call(id="b"))
    assert story << finish("", StopReason.STEPS_LIMIT, TurnStatus.PARTIAL)
    assert "2 of 2 iterations" in story.end.notice
    assert "calculator" in story.end.notice
