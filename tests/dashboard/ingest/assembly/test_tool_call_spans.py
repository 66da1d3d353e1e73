"""AgentOps (0.4), and Mastra's streams (1.71): each tool call of an answer has a span of its own within the call's."""

import json
from itertools import permutations
from typing import Any

import pytest

from dashboard.ingest.conventions.span_kinds import is_about_a_model
from dashboard.ingest.conventions.spans import Span
from tests.dashboard.ingest.assembly.test_mastra import AGENT, ASKED, SENT, TOOL, USED, a_span, codes, inference, step
from tests.dashboard.ingest.assembly.test_turn_grouping import SECOND, START, made

CUT = '{"q": "wh'


def agentops(word: str, **more: Any) -> Span:
    """The span of a stream's call, which holds nothing of the answer but its end."""
    about = {
        "gen_ai.request.type": "chat", "gen_ai.system": "OpenAI", "gen_ai.request.model": "m",
        "gen_ai.request.max_tokens": 30, "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "Why?",
        "gen_ai.completion.0.finish_reason": word, "gen_ai.usage.prompt_tokens": 9,
        "gen_ai.usage.completion_tokens": 30, "gen_ai.request.functions.0.name": "look", **more,
    }  # fmt: skip
    return Span("1" * 32, "a" * 16, "", "openai.chat.completion", START, START + SECOND, "openai", attributes=about)


def asked(span: str, call_id: str, arguments: str, after: float = 0.9, parent: str = "a") -> Span:
    about = {
        "tool.name": "look", "tool.parameters": arguments, "tool.call.id": call_id, "tool.call.type": "function",
    }  # fmt: skip
    at = START + int(after * SECOND)
    scope = "agentops.instrumentation.providers.openai.wrappers.chat"
    return Span("1" * 32, span * 16, parent * 16, "tool_call.look", at, at, scope, attributes=about)


def piece(given: dict[str, Any]) -> Span:
    about = {"gen_ai.operation.name": "model_chunk", "mastra.model_chunk.output": json.dumps(given)}
    return a_span("9", "c", 1.2, 1.3, about)


def test_a_truncated_call_in_a_span_of_its_own_is_not_lost() -> None:
    spans = [agentops("length"), asked("b", "call_1", CUT)]
    for some in permutations(spans):
        (turn,) = made(*some)
        (step,) = turn.history.turn.steps
        assert [(call.id, call.name, call.raw) for call in step.answer.broken_tool_calls] == [("call_1", "look", CUT)]
        assert codes(turn).isdisjoint({"cut_call_lost", "cut_arguments_lost", "answer_unknown"})


def test_several_calls_stand_in_their_order() -> None:
    calls = asked("c", "call_1", '{"q":1}', 0.5), asked("b", "call_2", '{"q":2}', 0.6)
    for some in permutations([agentops("tool_calls"), *calls]):
        (turn,) = made(*some)
        (step,) = turn.history.turn.steps
        assert [call.raw for call in step.answer.tool_calls] == ['{"q":1}', '{"q":2}']
        assert "calls_unknown" not in codes(turn)


def test_a_truncated_call_of_mastras_stream_is_the_text_of_its_piece() -> None:
    given = {"toolName": "look", "toolCallId": "call_1", "toolInput": CUT}
    cut = step("b", 1, SENT, "", {**ASKED, "args": {}}), inference("c", "b", 1, "length", **USED)
    for some in permutations([AGENT, *cut, piece(given), TOOL]):
        (turn,) = made(*some)
        (one,) = turn.history.turn.steps
        assert [(call.name, call.raw) for call in one.answer.broken_tool_calls] == [("look", CUT)]
        assert codes(turn).isdisjoint({"cut_call_lost", "cut_arguments_lost"})


@pytest.mark.parametrize("given", [{}, {"text": "I look."}])
def test_other_pieces_of_a_stream_are_let_go(given: dict[str, Any]) -> None:
    assert not is_about_a_model(piece(given))


def test_a_tool_call_whose_model_call_has_not_arrived_is_no_turn() -> None:
    assert made(asked("b", "call_1", CUT)) == []


def test_llamaindexs_task_has_the_clients_answer_with_the_truncated_call() -> None:
    """OpenLLMetry (0.62) for LlamaIndex writes messages without calls, and beside them the answer of the client."""
    asked = {"id": "call_1", "function": {"name": "look", "arguments": CUT}, "type": "function"}
    choice = {"index": 0, "finish_reason": "length", "message": {"role": "assistant", "tool_calls": [asked]}}
    given = {
        "message": {"role": "assistant", "additional_kwargs": {"tool_calls": [asked]}, "blocks": []},
        "raw": {"object": "chat.completion", "choices": [choice], "usage": {"completion_tokens": 30}},
    }
    about = {
        "traceloop.span.kind": "task", "gen_ai.operation.name": "chat", "gen_ai.provider.name": "openailike",
        "gen_ai.response.model": "m", "gen_ai.usage.output_tokens": 30, "gen_ai.response.finish_reasons": ["length"],
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [], "finish_reason": "length"}]),
        "traceloop.entity.output": json.dumps(given),
    }  # fmt: skip
    (turn,) = made(Span("1" * 32, "a" * 16, "", "OpenAILike.task", START, START + SECOND, attributes=about))
    (one,) = turn.history.turn.steps
    assert [(call.name, call.raw) for call in one.answer.broken_tool_calls] == [("look", CUT)]
    assert codes(turn).isdisjoint({"cut_call_lost", "cut_arguments_lost"})
