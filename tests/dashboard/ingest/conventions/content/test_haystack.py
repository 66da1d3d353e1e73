"""Haystack's own spans, in the forms that releases 2.31 and 3.4 sent around real calls to the simulator."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from agentcore.messages import Role
from dashboard.ingest.assembly.trace import TraceTurn
from dashboard.ingest.conventions.observations import Loop, ModelCall, ToolRun
from dashboard.ingest.conventions.span_kinds import is_about_a_model
from dashboard.ingest.conventions.span_reader import seen
from dashboard.ingest.conventions.spans import Span, SpanEvent
from tests.dashboard.ingest.assembly.test_turn_grouping import SECOND, START, made

SPEC = {"replies": {"type": "list[haystack.dataclasses.chat_message.ChatMessage]", "receivers": []}}
GENERATOR = {"haystack.component.type": "OpenAIChatGenerator", "haystack.component.output_spec": json.dumps(SPEC)}
USAGE = {
    "prompt_tokens": 10, "completion_tokens": 60, "total_tokens": 70,
    "completion_tokens_details": {"reasoning_tokens": 20}, "prompt_tokens_details": {"cached_tokens": 4},
}  # fmt: skip
CALL = {"tool_call": {"tool_name": "calculator", "arguments": {"expression": "6 * 7"}, "id": "call_1", "extra": None}}
TOOL = {
    "type": "haystack.tools.tool.Tool",
    "data": {"name": "calculator", "description": "Sums.", "parameters": {"type": "object"}},
}
ASKED = [
    {"role": "system", "meta": {}, "name": None, "content": [{"text": "You are brief."}]},
    {"role": "user", "meta": {}, "name": None, "content": [{"text": "Why do agents stop?"}]},
]


def reply(reason: str, *parts: Mapping[str, Any], usage: Any = None, **meta: Any) -> dict[str, Any]:
    told = {"model": "sim-essay", "index": 0, "finish_reason": reason, "usage": usage, **meta}
    return {"role": "assistant", "meta": told, "name": None, "content": list(parts)}


def result(text: str) -> dict[str, Any]:
    told = {"result": text, "origin": CALL["tool_call"], "error": False}
    return {"role": "tool", "meta": {}, "name": None, "content": [{"tool_call_result": told}]}


def span(name: str, at: int = 0, parent: str = "", *, seconds: int = 1, **attributes: Any) -> Span:
    told = {key: value if isinstance(value, str | int) else json.dumps(value) for key, value in attributes.items()}
    start = START + at * SECOND
    return Span("1" * 32, f"{name}{at}", parent, name, start, start + seconds * SECOND, attributes=told)


def component(replies: list[Any], **more: Any) -> Span:
    told = {"haystack.component.input": {"messages": ASKED, "generation_kwargs": None}, **GENERATOR, **more}
    return span("haystack.component.run", **told, **{"haystack.component.output": {"replies": replies}})


def step(at: int, asked: list[Any], answer: dict[str, Any]) -> Span:
    told = {"messages": asked, "tools": [TOOL]}
    answered = {"replies": [answer]}
    return span(
        "haystack.agent.step.llm", at, "haystack.agent.run0",
        **{"haystack.agent.step.llm.input": told, "haystack.agent.step.llm.output": answered},
    )  # fmt: skip


def ran(at: int, text: str) -> Span:
    told = {"haystack.tool.name": "calculator", "haystack.agent.step.tool.output": text}
    return span("haystack.agent.step.tool", at, "haystack.agent.run0", **told)


def agent(steps: int, most: int, **output: Any) -> Span:
    told = {"haystack.agent.max_steps": most, "haystack.agent.steps_taken": steps, "haystack.agent.output": output}
    return span("haystack.agent.run", seconds=9, **told)


def one(*spans: Span) -> TraceTurn:
    (turn,) = made(*spans)
    return turn


def test_the_answer_of_a_generator_is_a_call_with_its_stop_reason_and_usage() -> None:
    told = seen(component([reply("length", {"text": "Agents stop for"}, usage=USAGE)]))
    assert isinstance(told, ModelCall)
    assert (told.provider, told.model, told.stream) == ("openai", "sim-essay", False)
    assert [(word.source, word.raw) for word in told.words] == [("haystack.component.output", "length")]
    assert told.usage is not None
    counts = told.usage.input_tokens, told.usage.output_tokens, told.usage.reasoning_tokens, told.usage.cached_tokens
    assert counts == (10, 60, 20, 4)
    assert (told.content.system, told.content.text, told.content.calls) == ("You are brief.", "Agents stop for", ())
    assert [(message.role, message.text) for message in told.content.input or ()] == [
        (Role.USER, "Why do agents stop?")
    ]


def test_a_stream_is_marked_by_the_time_of_its_first_chunk_and_may_lack_counts() -> None:
    told = seen(component([reply("length", {"text": "A"}, completion_start_time="2026-11-28T09:13:23.524214")]))
    assert isinstance(told, ModelCall)
    assert (told.stream, told.usage) == (True, None)


def test_the_cap_of_a_run_is_recorded_and_that_of_the_generator_is_not() -> None:
    given = {"messages": ASKED, "generation_kwargs": {"max_tokens": 60}}
    told = seen(component([reply("length", {"text": "A"})], **{"haystack.component.input": given}))
    assert isinstance(told, ModelCall)
    assert told.max_tokens == 60


def test_a_text_generator_gives_its_stop_reason_beside_the_text() -> None:
    meta = [{"model": "m", "index": 0, "finish_reason": "stop", "usage": {"prompt_tokens": 3, "completion_tokens": 2}}]
    told = seen(
        span(
            "haystack.component.run", **{**GENERATOR, "haystack.component.type": "OpenAIGenerator"},
            **{"haystack.component.input": {"prompt": "Why?", "system_prompt": "Be brief."}},
            **{"haystack.component.output": {"replies": ["Because."], "meta": meta}},
        )
    )  # fmt: skip
    assert isinstance(told, ModelCall)
    assert (told.content.system, told.content.text, told.words[0].raw) == ("Be brief.", "Because.", "stop")
    assert [message.text for message in told.content.input or ()] == ["Why?"]
    assert told.usage is not None
    assert told.usage.output_tokens == 2


def test_messages_of_older_releases_are_read() -> None:
    old = {"_role": "assistant", "_content": [{"text": "A"}], "_name": None, "_meta": {"finish_reason": "length"}}
    told = seen(component([old]))
    assert isinstance(told, ModelCall)
    assert (told.content.text, [word.raw for word in told.words]) == ("A", ["length"])


@pytest.mark.parametrize(
    "attributes",
    [
        {"haystack.component.type": "ChatPromptBuilder", "haystack.component.output_spec": json.dumps({"prompt": {}})},
        {"haystack.component.type": "ConditionalRouter", "haystack.component.output_spec": json.dumps(SPEC)},
        {"haystack.component.type": "ImageGenerator", "haystack.component.output_spec": json.dumps({"images": {}})},
        {"haystack.component.type": ["OpenAIChatGenerator"]},
        {},
    ],
)
def test_other_components_are_not_calls(attributes: dict[str, Any]) -> None:
    assert not is_about_a_model(Span("1" * 32, "b", "", "haystack.component.run", 0, 1, attributes=attributes))


@pytest.mark.parametrize(
    "told",
    ["{", "[]", '{"replies": "A"}', '{"replies": [7]}', '{"replies": [{"content": 7, "meta": 7}]}'],
)
def test_unreadable_content_leaves_the_call_without_an_answer(told: str) -> None:
    broken = seen(component([], **{"haystack.component.input": told}))
    assert isinstance(broken, ModelCall)
    also = seen(span("haystack.agent.step.llm", **{"haystack.agent.step.llm.output": told}))
    assert isinstance(also, ModelCall)
    assert also.words == ()


def test_the_calls_of_an_agent_and_the_results_of_its_tools_are_one_turn() -> None:
    first = reply("tool_calls", {"text": "I look."}, CALL, usage=USAGE)
    last = reply("stop", {"text": "It is 42."}, usage=USAGE)
    told = [*ASKED, first, result("42")]
    output = agent(2, 4, messages=[*told, last], exit_reason="text")
    turn = one(output, step(1, ASKED, first), ran(2, "42"), step(3, told, last))
    assert [joined.answer.raw_stop_reason for joined in turn.history.turn.steps] == ["tool_calls", "stop"]
    assert turn.history.snapshot.end is not None
    assert turn.history.snapshot.end.status.value == "completed"
    assert [tool.name for tool in turn.history.turn.steps[0].call.content.tools] == ["calculator"]
    assert turn.history.turn.loop is not None
    assert (turn.history.turn.loop.word, turn.history.turn.loop.output) == ("text", "It is 42.")


@pytest.mark.parametrize("exit_reason", [{"exit_reason": "max_agent_steps"}, {}])
def test_the_step_limit_of_an_agent_ended_its_turn(exit_reason: dict[str, str]) -> None:
    """Releases before 3.0 do not tell it: then all steps were taken, and the tools ran last."""
    first = reply("tool_calls", CALL, usage=USAGE)
    output = agent(1, 1, messages=[*ASKED, first, result("42")], **exit_reason)
    turn = one(output, step(1, ASKED, first), ran(2, "42"))
    assert turn.history.snapshot.end is not None
    assert turn.history.snapshot.end.status.value == "interrupted"
    assert "max_agent_steps: 1" in turn.history.snapshot.end.error_message


def test_an_agent_that_answered_at_its_last_step_did_not_hit_the_limit() -> None:
    told = seen(agent(1, 1, messages=[*ASKED, reply("stop", {"text": "Because."})]))
    assert isinstance(told, Loop)
    assert (told.failure, told.output) == (None, "Because.")


def test_a_truncated_call_dropped_by_haystack_is_marked_as_lost() -> None:
    turn = one(component([reply("length", usage=USAGE)]))
    assert "cut_call_lost" in {note.code for note in turn.notes}
    assert turn.history.snapshot.end is not None
    end = turn.history.snapshot.end
    assert (end.status.value, end.terminal_reason) == ("partial", "max_tokens")


def test_an_error_of_a_generator_is_the_providers() -> None:
    said = "The following component failed to run:\nComponent name: 'llm'\nError: Error code: 429 - Rate limit reached."
    raised = SpanEvent("exception", {"exception.type": "haystack.PipelineRuntimeError", "exception.message": said})
    failed = replace(component([]), failed=True, message=f"PipelineRuntimeError: {said}", events=(raised,))
    told = seen(failed)
    assert isinstance(told, ModelCall)
    assert told.error is not None
    assert told.error.kind == "rate_limit"


def test_without_content_the_positions_of_calls_and_tools_are_known() -> None:
    names = "haystack.agent.step.llm", "haystack.agent.step.tool"
    told = [seen(span(name, **{"haystack.tool.name": "look"})) for name in names]
    assert isinstance(told[0], ModelCall)
    assert not told[0].content.answered
    assert isinstance(told[1], ToolRun)
    assert (told[1].name, told[1].result) == ("look", None)
