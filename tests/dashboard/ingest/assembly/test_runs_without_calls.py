"""Agents' runs of whose calls the trace has none, as instrumentations of Agno and CrewAI write them."""

import json
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from dashboard.ingest.assembly.trace import TraceTurn
from dashboard.ingest.conventions.spans import Span
from tests.dashboard.ingest.assembly.test_turn_grouping import SECOND, START, USER, chat, made

ANSWER = {"role": "assistant", "parts": [{"type": "text", "content": "I look. Found."}], "finish_reason": "stop"}
#: As OpenTelemetry's instrumentation for Agno writes it, where an answer that was cut ends with `stop` too.
OF_AGNO = {
    "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "reader", "gen_ai.request.model": "m",
    "gen_ai.input.messages": json.dumps([USER]), "gen_ai.output.messages": json.dumps([ANSWER]),
}  # fmt: skip
#: As OpenLLMetry writes it.
OF_OPENLLMETRY = {
    "traceloop.span.kind": "agent", "gen_ai.system": "agno", "gen_ai.agent.name": "reader", "gen_ai.request.model": "m",
    "traceloop.entity.input": "Why?", "traceloop.entity.output": "I look. Found.",
    "gen_ai.usage.input_tokens": 58, "gen_ai.usage.output_tokens": 51,
}  # fmt: skip


def run(about: dict[str, Any], span: str = "a" * 16, parent: str = "") -> Span:
    return Span("1" * 32, span, parent, "reader", START, START + 9 * SECOND, attributes=about)


def tool() -> Span:
    about = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.id": "c1"}
    return Span("1" * 32, "b" * 16, "a" * 16, "look", START + SECOND, START + 2 * SECOND, attributes=about)


def codes(turn: TraceTurn) -> set[str]:
    return {note.code for note in turn.notes}


@pytest.mark.parametrize("about", [OF_AGNO, OF_OPENLLMETRY], ids=["OpenTelemetry", "OpenLLMetry"])
def test_a_run_without_calls_is_one_attempt_whose_stop_reason_is_unknown(about: dict[str, Any]) -> None:
    for spans in permutations([run(about), tool()]):
        (turn,) = made(*spans)
        (step,) = turn.history.turn.steps
        assert (step.call.agent, step.call.model, step.answer.text) == ("reader", "m", "I look. Found.")
        assert [message.text for message in step.call.content.input or ()] == ["Why?"]
        assert (step.answer.stop_reason, step.answer.raw_stop_reason) == ("unknown", None)
        assert {"run_without_calls", "reason_unknown"} <= codes(turn)
        assert ("usage_unknown" in codes(turn)) is (about is OF_AGNO)


def test_counts_of_zero_beside_a_text_are_unknown() -> None:
    (turn,) = made(run({**OF_OPENLLMETRY, "gen_ai.usage.input_tokens": 0, "gen_ai.usage.output_tokens": 0}))
    assert "usage_unknown" in codes(turn)


def test_a_run_with_calls_is_told_by_these_alone_in_whichever_order_they_come() -> None:
    for spans in permutations([run(OF_AGNO), chat(0)]):
        (turn,) = made(*spans)
        assert len(turn.history.turn.steps) == 1
        assert turn.history.turn.steps[0].call.span.id == chat(0).id
        assert "run_without_calls" not in codes(turn)


def test_only_the_innermost_of_agents_within_one_another_is_a_run() -> None:
    (turn,) = made(run(OF_AGNO), run(OF_OPENLLMETRY, span="c" * 16, parent="a" * 16))
    assert turn.history.turn.steps[0].call.span.id == "c" * 16


#: They name no model and no counts: OpenTelemetry's instrumentation for OpenAI Agents, OpenInference's for CrewAI.
OF_OPENAI_AGENTS = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "reader"}
OF_CREWAI = {"openinference.span.kind": "AGENT", "graph.node.id": "reader", "output.value": '{"raw": "Found."}'}
LIMITED = "Error code: 429 - {'error': {'message': 'Rate limit reached'}}"


@pytest.mark.parametrize("about", [OF_OPENAI_AGENTS, OF_CREWAI], ids=["OpenAI Agents", "CrewAI"])
def test_a_run_that_names_only_its_agent_is_one_attempt_of_which_all_else_is_unknown(about: dict[str, Any]) -> None:
    for spans in permutations([run(about), tool()]):
        (turn,) = made(*spans)
        (step,) = turn.history.turn.steps
        assert (step.call.agent, step.call.model, step.answer.stop_reason) == ("reader", "", "unknown")
        assert codes(turn) >= {"run_without_calls", "reason_unknown", "usage_unknown"}


def test_a_task_of_crewai_has_its_description_and_its_answer() -> None:
    """Its input is the agent's settings as JSON, and its messages end with its own prompt."""
    prompt = {"role": "user", "content": "Current Task: Why? Provide your complete response:"}
    output = {"description": "Why?", "raw": "Found.", "messages": [prompt]}
    about = {**OF_CREWAI, "input.value": '{"agent": {"role": "reader"}}', "output.value": json.dumps(output)}
    (turn,) = made(run(about))
    (step,) = turn.history.turn.steps
    assert [message.text for message in step.call.content.input or ()] == ["Why?"]
    assert step.answer.text == "Found."


@pytest.mark.parametrize("about", [OF_OPENAI_AGENTS, OF_CREWAI], ids=["OpenAI Agents", "CrewAI"])
def test_a_failed_run_says_why_also_beside_calls_of_others(about: dict[str, Any]) -> None:
    failed = replace(run(about, span="f" * 16), failed=True, message=LIMITED)
    for spans in permutations([failed, run(OF_AGNO), chat(0)]):
        (found,) = (turn for turn in made(*spans) if "run_without_calls" in codes(turn))
        error = found.history.turn.steps[0].call.error
        assert error is not None
        assert error.kind == "rate_limit"


def test_a_run_that_names_only_its_agent_is_none_beside_calls_of_others() -> None:
    """It may be a person's turn in a group chat, or a program's."""
    for spans in permutations([run(OF_OPENAI_AGENTS, span="f" * 16), run(OF_AGNO), chat(0)]):
        assert [turn.history.turn.steps[0].call.span.id for turn in made(*spans)] == [chat(0).id]


@pytest.mark.parametrize(
    "about",
    [
        {"gen_ai.operation.name": "invoke_agent"},
        {"openinference.span.kind": "AGENT", "output.value": "Found."},
        {**OF_AGNO, "gen_ai.operation.name": "invoke_workflow"},
    ],
    ids=["nothing", "no name", "a workflow"],
)
def test_a_span_that_names_neither_a_model_nor_an_agent_is_no_run(about: dict[str, Any]) -> None:
    assert made(run(about)) == []
