"""stop-reason-state-machine: a tool call that was cut is never run, and is asked for again once."""

from dataclasses import replace

import pytest

from agentcore import AttemptKind, Limits, StopReason, TurnStatus
from agentcore.commands import CallModel, RunTools
from agentcore.events import Event
from agentcore.messages import CallIssue, Role
from agentcore.providers import get_provider
from tests.agentcore.playbook import (
    Playbook,
    broken,
    call,
    call_model,
    cut_call,
    ended,
    finish,
    malformed_call,
    run_tools,
    started,
    truncated,
)
from tests.spec.rules import Kind, rule

POLICY = "stop-reason-state-machine §Partial Tool-Call JSON Policy"
PROMPT = "stop-reason-state-machine §Recovery prompt contract"
HINT = """\
Previous response was truncated by token limit.
Continue exactly from where you left off.
If you intended a tool call, emit one complete tool call payload only.
Do not repeat already-sent text."""


def cut_twice() -> Playbook:
    """A turn whose tool call is cut, and cut again when it is asked for once more."""
    return Playbook() >> started() >> cut_call("Let me see. ") >> cut_call()


UNSAFE = {
    "cut": cut_call(),
    "malformed": malformed_call(),
    "cut beside a whole one": truncated(tool_calls=(call(id="w"),), broken_tool_calls=(broken(),)),
    "whole, but not shown to be": truncated(tool_calls=(replace(call(), shown_whole=False),)),
    "whole, but not what the tool takes": truncated(tool_calls=(call(wrong=1),)),
    "whole, of no tool we know": truncated(tool_calls=(call("teleport"),)),
}


@rule(POLICY, "A call with an incomplete or ambiguous payload never runs")
@pytest.mark.parametrize("answer", UNSAFE.values(), ids=UNSAFE)
def test_an_unsafe_call_is_never_run(answer: Event) -> None:
    story = Playbook() >> started() >> answer << call_model(AttemptKind.TOOL_REPAIR)
    assert not any(isinstance(step.command, RunTools) for step in story.steps)


@rule(POLICY, "A complete and valid call under `max_tokens` is neither incomplete nor ambiguous, so it runs", Kind.MAY)
def test_a_complete_valid_call_of_a_truncated_answer_runs() -> None:
    assert Playbook() >> started() >> truncated(tool_calls=(call(),)) << run_tools("calculator")


@rule(POLICY, "A truncated call is requested again by itself; its fragment is not sent back")
def test_a_truncated_call_is_requested_again_without_its_fragment() -> None:
    story = Playbook() >> started() >> cut_call("Let me see. ") << call_model(AttemptKind.TOOL_REPAIR)
    request = story.command.request
    assert request.continuation.hint == HINT
    assert request.continuation.text == "Let me see. "
    assert all(not message.tool_calls for message in request.messages)


@rule(POLICY, "max_tool_repair_attempts is 1", Kind.DEFAULT)
def test_one_repair_is_made_by_default() -> None:
    assert Limits().max_tool_repair_attempts == 1
    assert cut_twice().snapshot.spent.tool_repairs == 1
    assert cut_twice() << finish(terminal="tool_repair_failed")


@rule(POLICY, "Repairs and continuations have separate budgets")
def test_repairs_and_continuations_are_counted_separately() -> None:
    story = Playbook(max_continuations=0) >> started() >> cut_call() << call_model(AttemptKind.TOOL_REPAIR)
    assert story.snapshot.spent.continuations == 0
    story = Playbook(max_tool_repair_attempts=0) >> started() >> truncated("a") << call_model(AttemptKind.CONTINUATION)
    assert story.snapshot.spent.tool_repairs == 0


@rule(POLICY, "After a failed repair, the partial answer is returned with a notice about the truncated call")
def test_a_failed_repair_returns_the_partial_answer_with_a_notice() -> None:
    story = cut_twice()
    assert story << finish("Let me see. ", StopReason.RETRY_LIMIT, TurnStatus.PARTIAL, "tool_repair_failed")
    assert "truncated" in story.end.notice


@rule(POLICY, "A failed repair is an event that operators can see")
def test_a_failed_repair_is_observed() -> None:
    (seen,) = cut_twice().observed("tool_payload_repair")
    assert (seen["issue"], seen["repair_attempted"], seen["success"]) == ("truncated", True, False)


@rule(POLICY, "Malformed calls are distinguished from truncated ones", Kind.SHOULD)
@pytest.mark.parametrize(("answer", "issue"), [(cut_call(), CallIssue.TRUNCATED), (malformed_call(), "malformed")])
def test_malformed_and_truncated_calls_are_distinguished(answer: Event, issue: str) -> None:
    story = Playbook(max_tool_repair_attempts=0) >> started() >> answer
    assert story.observed("tool_payload_repair")[0]["issue"] == issue


@rule(PROMPT, "The hint has exactly the document's four lines")
@pytest.mark.parametrize("answer", [truncated("a"), cut_call("a")], ids=["text", "call"])
def test_the_hint_is_the_text_of_the_document(answer: Event) -> None:
    assert (Playbook() >> started() >> answer).command.request.continuation.hint == HINT


@rule(PROMPT, "The hint is a system message, or part of the system prompt where roles must alternate")
@pytest.mark.parametrize("provider", ["openai", "llama", "ollama", "anthropic", "bedrock", "gemini", "cohere"])
def test_the_hint_is_sent_as_a_system_message(provider: str) -> None:
    command = (Playbook() >> started() >> truncated("Once upon")).command
    assert isinstance(command, CallModel)
    body = get_provider(provider).encode_request(command.request)
    said = [*body.get("messages", ()), *body.get("contents", ())]
    by_system = [said_by for said_by in said if said_by["role"] == "system"]
    apart = [body.get("system"), body.get("systemInstruction")]
    assert HINT.splitlines()[0] in repr([*by_system, *apart])
    assert HINT.splitlines()[0] not in repr([one for one in said if one["role"] != "system"])


@rule(PROMPT, "The hint is never part of the conversation")
def test_the_hint_is_in_no_message_of_the_turn() -> None:
    story = Playbook() >> started() >> truncated("a ") >> truncated("b ") >> ended("c")
    told = [m for step in story.steps for m in step.snapshot.messages]
    assert {message.role for message in told} == {Role.USER}
    assert HINT not in story.end.output_text
