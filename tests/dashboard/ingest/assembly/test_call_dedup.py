"""One call that spans of several instrumentations tell of, with times as JavaScript's clocks give them."""

from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from dashboard.ingest.conventions.spans import Span
from tests.dashboard.ingest.assembly.test_turn_grouping import START, made

MILLISECOND = 10**6
ASKED = {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "Why?"}


def openinference(span: str, start: float, end: float, reason: str, **more: Any) -> Span:
    """As OpenInference for JavaScript writes a stream of Anthropic's client: without a response id."""
    about = {
        "openinference.span.kind": "LLM", "llm.provider": "anthropic", "llm.model_name": "m", **ASKED,
        "llm.invocation_parameters": '{"max_tokens": 40}', "llm.finish_reason": reason,
        "llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "Because.",
        "llm.token_count.prompt": 6, "llm.token_count.completion": 9,
    }  # fmt: skip
    return _span(span, "f" * 16, start, end, "@arizeai/openinference-instrumentation-anthropic", {**about, **more})


def of_sdk(span: str, parent: str, start: float, end: float, reason: str, **more: Any) -> Span:
    about = {
        "gen_ai.operation.name": "chat", "gen_ai.provider.name": "anthropic", "gen_ai.request.model": "m",
        "gen_ai.request.max_tokens": 40, "gen_ai.usage.input_tokens": 6, "gen_ai.usage.output_tokens": 9,
        "gen_ai.response.id": f"msg_{span}", "anthropic.message.stop_reason": reason,
    }  # fmt: skip
    return _span(span, parent, start, end, "com.anthropic.sdk.typescript", {**about, **more})


def _span(span: str, parent: str, start: float, end: float, scope: str, about: dict[str, Any]) -> Span:
    at = [START + int(moment * MILLISECOND) for moment in (start, end)]
    return Span("1" * 32, span, parent, "call", *at, scope=scope, attributes=about)


def test_the_inner_span_of_a_stream_that_ends_after_the_outer_one_is_the_same_call() -> None:
    outer = openinference("a" * 16, 1, 375.9, "end_turn")
    for start in (1, 2):
        for spans in permutations([outer, of_sdk("b" * 16, "a" * 16, start, 431.4, "end_turn")]):
            (turn,) = made(*spans)
            (step,) = turn.history.turn.steps
            assert (step.call.span.id, step.answer.text) == ("a" * 16, "Because.")
            assert [note.code for note in turn.notes] == ["told_twice"]


@pytest.mark.parametrize("other", [{"gen_ai.usage.output_tokens": 10}, {"anthropic.message.stop_reason": "tool_use"}])
def test_an_inner_span_that_ends_later_and_tells_otherwise_is_another_call(other: dict[str, Any]) -> None:
    outer = openinference("a" * 16, 1, 375.9, "end_turn")
    assert len(made(outer, of_sdk("b" * 16, "a" * 16, 2, 431.4, "end_turn", **other))) == 2


def test_a_tool_loop_of_javascript_is_one_turn_whichever_span_its_clock_puts_first() -> None:
    """The second call begins in the millisecond in which the first one's outer span has not ended yet."""
    called, sent = "llm.output_messages.0.message.tool_calls.0.tool_call", "llm.input_messages.1.message"
    calls = {f"{called}.id": "t1", f"{called}.function.name": "look", f"{called}.function.arguments": '{"q": 1}'}
    given = {
        f"{sent}.role": "assistant", f"{sent}.tool_calls.0.tool_call.id": "t1",
        f"{sent}.tool_calls.0.tool_call.function.name": "look",
        "llm.input_messages.2.message.role": "user", "llm.input_messages.2.message.tool_call_id": "t1",
        "llm.input_messages.2.message.content": "42",
    }  # fmt: skip
    spans = [
        openinference("a" * 16, 17, 146, "tool_use", **calls),
        of_sdk("b" * 16, "a" * 16, 58, 141.6, "tool_use"),
        openinference("c" * 16, 143, 352, "end_turn", **given),
        of_sdk("d" * 16, "c" * 16, 143, 352.2, "end_turn"),
    ]
    for order in permutations(spans):
        (turn,) = made(*order)
        assert [step.answer.stop_reason for step in turn.history.turn.steps] == ["tool_call", "end_turn"]
    parallel = [replace(spans[0], attributes={**spans[0].attributes, f"{called}.id": "t9"}), *spans[1:]]
    assert len(made(*parallel)) == 2, "it brings results of other calls"
