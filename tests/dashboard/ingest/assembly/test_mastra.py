"""Mastra (1.71, its exporter 1.4): a step has the messages and the answer of a call, and the span within all else."""

import json
from dataclasses import replace
from itertools import permutations
from typing import Any

from dashboard.ingest.assembly.trace import TraceTurn
from dashboard.ingest.conventions.span_kinds import is_about_a_model
from dashboard.ingest.conventions.spans import Span
from tests.dashboard.ingest.assembly.test_turn_grouping import SECOND, START, made

SCOPE = "@mastra/otel-exporter"
SENT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]
CALLED = [{"role": "assistant", "content": "I look.[tool: look]"}, {"role": "tool", "content": "[tool-result: look]"}]
ASKED = {"toolCallId": "call_1", "toolName": "look", "args": {"q": 1}}
OF_AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "reader"}
OF_TOOL = {
    "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.id": "call_1",
    "gen_ai.tool.call.result": "42",
}  # fmt: skip


def a_span(span: str, parent: str, began: float, ended: float, about: dict[str, Any]) -> Span:
    start, end = START + int(began * SECOND), START + int(ended * SECOND)
    return Span("1" * 32, span * 16, parent and parent * 16, "a span", start, end, SCOPE, attributes=about)


def step(span: str, began: float, sent: list[Any], text: str, *calls: dict[str, Any], **more: Any) -> Span:
    about = {
        "gen_ai.operation.name": "agent_step", "mastra.span.type": "model_step",
        "mastra.model_step.input": json.dumps(sent),
        "mastra.model_step.output": json.dumps({"text": text, "toolCalls": calls}), **more,
    }  # fmt: skip
    return a_span(span, "a", began, began + 2, about)


def inference(span: str, parent: str, began: float, word: str, **more: Any) -> Span:
    about = {
        "gen_ai.operation.name": "chat", "mastra.span.type": "model_inference", "gen_ai.request.model": "m",
        "gen_ai.request.max_tokens": 60, "gen_ai.provider.name": "openai.chat", "gen_ai.agent.name": "reader",
        "gen_ai.response.finish_reasons": json.dumps([word]), **more,
    }  # fmt: skip
    return a_span(span, parent, began, began + 1, about)


USED = {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 35}
AGENT = a_span("a", "", 0, 9, OF_AGENT)
TOOL = a_span("d", "b", 2, 2.5, OF_TOOL)


def codes(turn: TraceTurn) -> set[str]:
    return {note.code for note in turn.notes}


def test_a_step_and_the_call_within_it_are_one_attempt_and_its_tools_are_no_request() -> None:
    first_call = step("b", 1, SENT, "I look.", ASKED), inference("c", "b", 1, "tool-calls", **USED)
    last_call = step("e", 4, [*SENT, *CALLED], "Found."), inference("f", "e", 4, "stop", **USED)
    spans = [AGENT, *first_call, TOOL, *last_call]
    for some in (spans, spans[::-1], spans[3:] + spans[:3]):
        (turn,) = made(*some)
        first, last = turn.history.turn.steps
        assert [(call.id, call.name, call.raw) for call in first.answer.tool_calls] == [("call_1", "look", '{"q":1}')]
        assert (first.call.content.system, first.call.model, first.call.max_tokens) == ("Be brief.", "m", 60)
        assert (last.answer.text, last.answer.stop_reason, last.call.agent) == ("Found.", "end_turn", "reader")
        assert "requests_in_one" not in codes(turn)


def test_a_truncated_call_is_as_the_provider_wrote_it_where_the_trace_has_that() -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"q": "wh'}}
    message = {"role": "assistant", "tool_calls": [call]}
    body = {"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "length"}]}
    for more, raw in (({"mastra.metadata.body": json.dumps(body)}, '{"q": "wh'), ({}, "{}")):
        cut = step("b", 1, SENT, "", {**ASKED, "args": {}}, **more)
        (turn,) = made(AGENT, cut, inference("c", "b", 1, "length", **USED), TOOL)
        answer = turn.history.turn.steps[0].answer
        assert [(call.name, call.raw) for call in answer.broken_tool_calls] == [("look", raw)]
        assert ("cut_arguments_lost" in codes(turn)) is (not more)
        assert codes(turn).isdisjoint({"cut_call_lost", "requests_in_one"})


def test_the_word_for_an_error_leaves_it_to_the_agent_to_say_which() -> None:
    said = "Rate limit reached for m on requests per minute (RPM)."
    agent = replace(AGENT, failed=True, message=said)
    for spans in permutations([agent, step("b", 1, SENT, ""), inference("c", "b", 1, "error")]):
        (turn,) = made(*spans)
        error = turn.history.turn.steps[0].call.error
        assert error is not None
        assert error.kind == "rate_limit"


def test_a_step_of_an_earlier_release_is_no_call() -> None:
    """Its exporter (0.3) has one span for all calls of a loop."""
    about = {"gen_ai.operation.name": "agent_step", "mastra.span.type": "model_step", "input": "[]", "output": "{}"}
    assert not is_about_a_model(a_span("b", "a", 1, 2, about))
