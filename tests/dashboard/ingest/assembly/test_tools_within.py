"""Google's client runs functions by itself, and its instrumentation writes one span for the whole loop."""

import json
from dataclasses import replace
from itertools import permutations
from typing import Any

from dashboard.ingest.conventions.spans import Span
from tests.dashboard.ingest.assembly.test_turn_grouping import SECOND, START, USER, made

SAID = {"type": "text", "content": "I look."}
CALLED = {"type": "tool_call", "id": "look_1", "name": "look", "arguments": {"q": 1}}
FOUND = {"type": "text", "content": "Found."}


def loop(*parts: dict[str, Any], reason: str = "stop", seconds: float = 3) -> Span:
    """As OpenTelemetry's instrumentation for `google-genai` writes it."""
    about = {
        "gen_ai.operation.name": "generate_content", "gen_ai.provider.name": "gemini", "gen_ai.request.model": "m",
        "gen_ai.response.finish_reasons": [reason], "gen_ai.usage.input_tokens": 64, "gen_ai.usage.output_tokens": 34,
        "gen_ai.input.messages": json.dumps([USER]),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": parts, "finish_reason": reason}]),
    }  # fmt: skip
    return Span("1" * 32, "a" * 16, "", "generate_content m", START, START + int(seconds * SECOND), attributes=about)


def ran() -> Span:
    about = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.result": "42"}
    return Span("1" * 32, "b" * 16, "a" * 16, "execute_tool look", START + SECOND, START + 2 * SECOND, attributes=about)


def test_a_span_with_tools_within_is_one_attempt_that_says_so() -> None:
    for parts in ([FOUND], [SAID, CALLED, FOUND]):  # whole, and as a stream
        for spans in permutations([loop(*parts), ran()]):
            (turn,) = made(*spans)
            (step,) = turn.history.turn.steps
            assert (step.answer.stop_reason, step.answer.tool_calls) == ("end_turn", ())
            (note,) = (note for note in turn.notes if note.code == "requests_in_one")
            assert "(look)" in note.words


def test_a_call_that_ends_with_calls_and_whose_tools_ran_after_it_keeps_them() -> None:
    (turn,) = made(loop(SAID, CALLED, seconds=0.5), ran())
    assert [call.name for call in turn.history.turn.steps[0].answer.tool_calls] == ["look"]
    assert not any(note.code == "requests_in_one" for note in turn.notes)


def test_a_loop_that_was_cut_keeps_the_call_that_was_cut() -> None:
    (turn,) = made(loop(SAID, CALLED, reason="max_tokens"), ran())
    answer = turn.history.turn.steps[0].answer
    assert (answer.stop_reason, [call.name for call in answer.tool_calls]) == ("max_tokens", ["look"])


def test_tools_of_the_answer_that_ran_before_its_span_ended_are_no_further_request() -> None:
    """As pydantic-ai (2.68) writes a streamed run: the span of the call ends when the program has read the stream."""
    own = replace(ran(), attributes={**ran().attributes, "gen_ai.tool.call.id": "look_1"})
    for spans in permutations([loop(SAID, CALLED, reason="tool_call"), own]):
        (turn,) = made(*spans)
        assert [call.name for call in turn.history.turn.steps[0].answer.tool_calls] == ["look"]
        assert not any(note.code == "requests_in_one" for note in turn.notes)
