"""OpenLLMetry (0.62) with `use_legacy_attributes=False`: messages are log events, some of them of the span around."""

import json
from itertools import permutations
from typing import Any

from dashboard.ingest.assembly.trace import TraceTurn, turns_of
from dashboard.ingest.conventions.log_places import logs_by_span
from dashboard.ingest.conventions.span_reader import seen
from dashboard.ingest.conventions.spans import LogEvent, Span
from dashboard.ingest.services import base_policy
from tests.dashboard.ingest.assembly.test_turn_grouping import SECOND, START

CUT = '{"q": "wh'
AROUND, CALL = "a" * 16, "b" * 16


def call(span: str = CALL, began: float = 0, ended: float = 1, provider: str = "openai", **more: Any) -> Span:
    about = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": provider, "gen_ai.request.model": "m", **more}
    start, end = START + int(began * SECOND), START + int(ended * SECOND)
    return Span("1" * 32, span, AROUND, "openai.chat", start, end, attributes=about)


def event(name: str, span: str = CALL, at: float = 0.9, provider: str = "openai", **body: Any) -> LogEvent:
    about = {"gen_ai.provider.name": provider, "body": json.dumps(body)}
    return LogEvent("1" * 32, span, f"gen_ai.{name}", about, START + int(at * SECOND))


def asked(name: str, arguments: Any, call_id: str = "call_1") -> list[dict[str, Any]]:
    return [{"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}]


def made(*told: Span | LogEvent) -> list[TraceTurn]:
    spans = [one for one in told if isinstance(one, Span)]
    logs = logs_by_span(spans, [one for one in told if isinstance(one, LogEvent)])
    read = [found for one in spans if (found := seen(one, logs.get(one.id, ()))) is not None]
    return turns_of("1" * 32, read, {one.id: one.parent for one in spans}, base_policy(), lambda *_: [])


def codes(turn: TraceTurn) -> set[str]:
    return {note.code for note in turn.notes}


def test_a_truncated_tool_call_beside_its_message_is_not_lost() -> None:
    end = {"gen_ai.response.finish_reasons": ["length"], "gen_ai.usage.output_tokens": 30}
    choice = {"index": 0, "message": {"content": None}, "finish_reason": "length", "tool_calls": asked("look", CUT)}
    (turn,) = made(call(**end), event("choice", **choice))
    (step,) = turn.history.turn.steps
    assert [(one.name, one.raw) for one in step.answer.broken_tool_calls] == [("look", CUT)]
    assert codes(turn).isdisjoint({"cut_call_lost", "answer_unknown"})


def test_the_answer_of_a_stream_belongs_to_the_call_under_way_in_the_span_that_it_names() -> None:
    choice = {"index": 0, "message": {"content": "Because."}, "finish_reason": "stop"}
    told = call(), call("c" * 16, 2, 3), event("choice", AROUND, 2.9, **choice)
    for some in permutations(told):
        first, last = made(*some)
        assert last.history.turn.steps[0].answer.text == "Because."
        assert "answer_unknown" in codes(first)


def test_an_event_during_two_calls_or_none_belongs_to_neither() -> None:
    choice = {"index": 0, "message": {"content": "Because."}, "finish_reason": "stop"}
    for at in (0.9, 5):
        turns = made(call(), call("c" * 16, 0.5, 2), event("choice", AROUND, at, **choice))
        assert all("answer_unknown" in codes(turn) for turn in turns)


def test_the_choices_of_anthropics_answer_are_its_blocks() -> None:
    def block(place: int, content: Any, **more: Any) -> LogEvent:
        told = {"index": place, "message": {"content": content}, "finish_reason": "tool_call", **more}
        return event("choice", provider="anthropic", **told)

    blocks = [
        block(0, {"type": "text", "content": "I look."}),
        block(1, None, tool_calls=asked("look", {"q": 1})),
        block(2, None, tool_calls=asked("look", {"q": 2}, "call_2")),
    ]
    for some in permutations(blocks):
        (turn,) = made(call(provider="anthropic"), *some)
        answer = turn.history.turn.steps[0].answer
        assert (answer.text, [one.arguments for one in answer.tool_calls]) == ("I look.", [{"q": 1}, {"q": 2}])


def test_other_choices_of_other_providers_are_not_of_the_answer() -> None:
    choices = [
        event("choice", index=place, message={"content": text}, finish_reason="stop")
        for place, text in enumerate(["Because.", "Why not."])
    ]
    (turn,) = made(call(), *choices)
    assert turn.history.turn.steps[0].answer.text == "Because."


def test_tools_in_a_users_message_are_tools() -> None:
    tools = [{"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}]
    told = event("user.message", content="Why?", at=0.1), event("user.message", content={"tools": tools}, at=0.2)
    (turn,) = made(call(provider="anthropic"), *told)
    content = turn.history.turn.steps[0].call.content
    assert ([tool.name for tool in content.tools], [one.text for one in content.input or ()]) == (["look"], ["Why?"])
