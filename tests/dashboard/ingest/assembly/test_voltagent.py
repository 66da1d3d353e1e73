"""VoltAgent (2.10): one span for all requests of a loop, whose tools and whose text stand beside and above it."""

import json
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from dashboard.ingest.assembly.trace import TraceTurn
from dashboard.ingest.conventions.span_kinds import is_about_a_model
from dashboard.ingest.conventions.spans import Span
from tests.dashboard.ingest.assembly.test_turn_grouping import SECOND, START, made

SENT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": [{"type": "text", "text": "Why?"}]}]
OF_AGENT = {
    "entity.id": "reader", "entity.type": "agent", "entity.name": "reader", "agent.messages": json.dumps(SENT),
    "ai.model.name": "m", "output": "Found.", "ai.response.finish_reason": "stop",
    "usage.prompt_tokens": 57, "usage.completion_tokens": 50,
}  # fmt: skip
OF_CALL = {
    "entity.type": "agent", "entity.name": "reader", "span.type": "llm", "llm.model": "m", "llm.stream": True,
    "llm.max_output_tokens": 60, "llm.messages": json.dumps(SENT), "llm.tools": "look,find",
    "llm.usage.prompt_tokens": 48, "llm.usage.completion_tokens": 15, "llm.finish_reason": "stop",
}  # fmt: skip
OF_TOOL = {
    "entity.type": "agent", "span.type": "tool", "tool.name": "look", "tool.call.id": "call_1", "output": "42",
}  # fmt: skip


def a_span(span: str, parent: str, began: int, ended: int, about: dict[str, Any]) -> Span:
    start, end = START + began * SECOND, START + ended * SECOND
    return Span("1" * 32, span * 16, parent and parent * 16, "a span", start, end, "@voltagent/core", attributes=about)


def agent(**more: Any) -> Span:
    return a_span("a", "", 0, 9, {**OF_AGENT, **more})


def a_call(**more: Any) -> Span:
    return a_span("b", "a", 1, 8, {**OF_CALL, **more})


def tool() -> Span:
    return a_span("c", "a", 2, 3, OF_TOOL)


def codes(turn: TraceTurn) -> set[str]:
    return {note.code for note in turn.notes}


def test_a_call_has_its_agents_text_and_says_where_it_comes_from() -> None:
    for spans in permutations([agent(), a_call()]):
        (turn,) = made(*spans)
        (step,) = turn.history.turn.steps
        assert (step.answer.text, step.answer.stop_reason, step.call.agent) == ("Found.", "end_turn", "reader")
        assert step.call.content.system == "Be brief."
        assert [message.text for message in step.call.content.input or ()] == ["Why?"]
        assert (step.call.max_tokens, step.call.stream) == (60, True)
        assert step.call.usage is not None
        assert (step.call.usage.input_tokens, step.call.usage.output_tokens) == (48, 15)
        assert [offered.name for offered in step.call.content.tools] == ["look", "find"]
        assert "text_from_agent" in codes(turn)


def test_a_call_with_tools_beside_it_holds_several_requests() -> None:
    for spans in permutations([agent(), a_call(), tool()]):
        (turn,) = made(*spans)
        assert len(turn.history.turn.steps) == 1
        assert "requests_in_one" in codes(turn)


def test_an_agent_without_the_span_of_its_call_is_one_attempt_with_an_unknown_reason() -> None:
    (turn,) = made(agent(), tool())
    (step,) = turn.history.turn.steps
    assert (step.call.agent, step.call.model, step.answer.text) == ("reader", "m", "Found.")
    assert step.answer.stop_reason == "unknown"
    assert {"run_without_calls", "reason_unknown"} <= codes(turn)


@pytest.mark.parametrize(
    ("word", "status"), [("length", "partial"), ("content-filter", "aborted"), ("stop", "completed")]
)
def test_its_words_end_the_turn(word: str, status: str) -> None:
    (turn,) = made(agent(), a_call(**{"llm.finish_reason": word}))
    assert turn.history.snapshot.end is not None
    assert turn.history.snapshot.end.status == status


def test_a_failed_call_has_no_text_of_its_agent() -> None:
    said = "Rate limit reached for m on requests per minute (RPM)."
    bare = {name: value for name, value in OF_CALL.items() if not name.startswith(("llm.usage", "llm.finish"))}
    failed = replace(a_span("b", "a", 1, 8, bare), failed=True, message=said)
    (turn,) = made(replace(agent(output=""), failed=True, message=said), failed)
    (step,) = turn.history.turn.steps
    assert step.call.error is not None
    assert (step.call.error.kind, step.answer.text) == ("rate_limit", "")


@pytest.mark.parametrize("kind", ["memory", "retriever", "guardrail"])
def test_other_spans_of_an_agent_are_not_about_a_model(kind: str) -> None:
    assert not is_about_a_model(a_span("d", "a", 1, 2, {"entity.type": "agent", "span.type": kind}))


def test_the_same_words_in_another_scope_are_no_call() -> None:
    assert not is_about_a_model(replace(a_call(), scope="shop"))
