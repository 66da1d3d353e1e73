"""What a span lacks and the rest of its trace holds: tool calls that were lost, and the limit that cut an answer."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from agentcore.events import ModelResponded, Started, ToolsReturned
from dashboard.ingest.assembly.trace import TraceTurn
from dashboard.ingest.assembly.turn_grouping import with_calls_run
from dashboard.ingest.conventions.observations import ToolRun
from dashboard.ingest.conventions.spans import Span
from dashboard.turns.sent_caps import DEFAULT_CAP
from tests.dashboard.ingest.assembly.test_turn_grouping import SECOND, START, kinds, made

MODEL = {"llm.request.type": "chat", "gen_ai.system": "Ollama", "gen_ai.request.model": "m"}
ASKED = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "Why?"}
SENT_BACK = {
    "gen_ai.prompt.1.role": "assistant", "gen_ai.prompt.1.content": "I look.",
    "gen_ai.prompt.1.tool_calls.0.name": "search", "gen_ai.prompt.1.tool_calls.0.arguments": '{"q": "a"}',
    "gen_ai.prompt.1.tool_calls.1.name": "search", "gen_ai.prompt.1.tool_calls.1.arguments": '{"q": "b"}',
    "gen_ai.prompt.2.role": "tool", "gen_ai.prompt.2.content": "A",
    "gen_ai.prompt.3.role": "tool", "gen_ai.prompt.3.content": "B",
}  # fmt: skip


def ollama(place: int, said: str, sent: dict[str, Any] = ASKED, **more: Any) -> Span:
    about = {**MODEL, **sent, "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": said, **more}
    start = START + 2 * place * SECOND
    return Span("1" * 32, f"{place + 1:016x}", "a" * 16, "ollama.chat", start, start + SECOND, attributes=about)


def cap_of(turn: TraceTurn) -> int:
    started = turn.history.told[0].event
    assert isinstance(started, Started)
    return started.setup.max_tokens


def test_tool_calls_found_only_in_the_next_request_belong_to_the_answer() -> None:
    (turn,) = made(ollama(0, "I look."), ollama(1, "Found.", {**ASKED, **SENT_BACK}))
    assert kinds(turn) == [ModelResponded, ToolsReturned, ModelResponded]
    calls = turn.history.turn.steps[0].answer.tool_calls
    assert [dict(call.arguments) for call in calls] == [{"q": "a"}, {"q": "b"}]
    assert len({call.id for call in calls}) == 2
    (returned,) = (told.event for told in turn.history.told if isinstance(told.event, ToolsReturned))
    assert [result.content for result in returned.results] == ["A", "B"]
    assert [note.attempt for note in turn.notes if note.code == "calls_from_next"] == [1]


@pytest.mark.parametrize(
    ("said", "sent"),
    [
        ("I look.", {**ASKED, "gen_ai.prompt.0.content": "Why not?", **SENT_BACK}),
        ("I look again.", {**ASKED, **SENT_BACK}),
        ("I look.", {**ASKED, **{name: value for name, value in SENT_BACK.items() if name < "gen_ai.prompt.2"}}),
    ],
    ids=["another conversation", "another text", "no results"],
)
def test_calls_of_another_conversation_are_not_assigned_to_the_answer(said: str, sent: dict[str, Any]) -> None:
    turns = made(ollama(0, said), ollama(1, "Found.", sent))
    assert [len(turn.history.turn.steps) for turn in turns] == [1, 1]
    assert not any(note.code == "calls_from_next" for turn in turns for note in turn.notes)


@pytest.mark.parametrize(("used", "cap"), [({"gen_ai.usage.output_tokens": 60}, 60), ({}, 25)])
def test_an_answer_truncated_by_an_unknown_limit_was_truncated_at_its_usage(used: dict[str, Any], cap: int) -> None:
    (turn,) = made(ollama(0, "word " * 20, **used, **{"gen_ai.response.finish_reasons": ["length"]}))
    end = turn.history.snapshot.end
    assert end is not None
    assert (cap_of(turn), turn.history.snapshot.spent.output_tokens) == (cap, cap)
    assert "context window" not in end.notice
    assert any("What the truncated answer used" in note.words for note in turn.notes if note.code == "cap_unknown")


def test_an_unknown_limit_stays_unknown_where_nothing_was_truncated() -> None:
    (turn,) = made(ollama(0, "Because.", **{"gen_ai.response.finish_reasons": ["stop"]}))
    assert cap_of(turn) == DEFAULT_CAP


def test_calls_without_ids_get_those_of_the_next_request() -> None:
    """As LiteLLM's callback writes them."""
    called = {
        f"gen_ai.completion.{place}.function_call.{name}": told
        for place, q in enumerate("ab")
        for name, told in {"name": "search", "arguments": f'{{"q": "{q}"}}'}.items()
    }
    sent = {**ASKED, **SENT_BACK}
    sent |= {f"gen_ai.prompt.1.tool_calls.{place}.id": f"call_{place}" for place in range(2)}
    sent |= {f"gen_ai.prompt.{place + 2}.tool_call_id": f"call_{place}" for place in range(2)}
    (turn,) = made(ollama(0, "I look.", **called), ollama(1, "Found.", sent))
    assert kinds(turn) == [ModelResponded, ToolsReturned, ModelResponded]
    calls = turn.history.turn.steps[0].answer.tool_calls
    assert [(one.id, dict(one.arguments)) for one in calls] == [("call_0", {"q": "a"}), ("call_1", {"q": "b"})]
    assert "calls_from_next" not in {note.code for note in turn.notes}


def unrecorded(place: int, **more: Any) -> Span:
    """A call as Google's Agent Development Kit tells it where content is not recorded; Gemini says stop for calls."""
    about = {
        "gen_ai.operation.name": "generate_content", "gen_ai.provider.name": "gcp.gemini",
        "gen_ai.request.model": "m", "gen_ai.response.finish_reasons": ["stop"], **more,
    }  # fmt: skip
    start = START + 2 * place * SECOND
    return Span("1" * 32, f"{place + 1:016x}", "a" * 16, "generate_content m", start, start + SECOND, attributes=about)


def ran(place: int, call_id: str = "c1") -> Span:
    """A tool that ran between the call at this place and the next."""
    about = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "gen_ai.tool.call.id": call_id}
    start = START + (2 * place + 1) * SECOND
    return Span("1" * 32, f"{place + 90:016x}", "a" * 16, "execute_tool", start, start + SECOND // 2, attributes=about)


AGENT = Span(
    "1" * 32, "a" * 16, "", "invoke_agent", START, START + 20 * SECOND,
    attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "reader"},
)  # fmt: skip


def test_a_loop_with_tools_between_two_calls_is_one_turn_even_without_recorded_content() -> None:
    (turn,) = made(unrecorded(0), ran(0), unrecorded(1), AGENT)
    assert kinds(turn) == [ModelResponded, ToolsReturned, ModelResponded]
    first = turn.history.turn.steps[0].answer
    assert (first.stop_reason, first.raw_stop_reason) == ("tool_call", "stop")
    assert [(call.id, call.name) for call in first.tool_calls] == [("c1", "search")]
    assert [note.attempt for note in turn.notes if note.code == "calls_from_tools"] == [1]


@pytest.mark.parametrize(
    "spans",
    [
        (unrecorded(0), unrecorded(1), ran(1), AGENT),
        (unrecorded(0), ran(0), unrecorded(1)),
        (unrecorded(0, **{"gen_ai.response.finish_reasons": ["max_tokens"]}), ran(0), unrecorded(1), AGENT),
        (unrecorded(0, **{"gen_ai.output.messages": "[]"}), ran(0), unrecorded(1), AGENT),
    ],
    ids=["ran later", "no loop", "cut", "its answer is recorded"],
)
def test_tools_not_necessarily_requested_by_a_loop_are_not_its_calls(
    spans: tuple[Span, ...],
) -> None:
    assert not any(note.code == "calls_from_tools" for turn in made(*spans) for note in turn.notes)


def test_each_call_of_a_loop_has_the_tools_run_before_the_next_one_in_any_arrival_order() -> None:
    (turn,) = made(
        ran(2, "c"), unrecorded(3), ran(0, "a"), unrecorded(1), ran(1, "b"), unrecorded(0), unrecorded(2), AGENT
    )
    asked = [[call.id for call in step.answer.tool_calls] for step in turn.history.turn.steps]
    assert asked == [["a"], ["b"], ["c"], []]


class Looked(list[ToolRun]):
    """Tools that ran, and how often one of them was looked at."""

    looks = 0

    def __getitem__(self, place: Any) -> Any:
        self.looks += 1
        return super().__getitem__(place)

    def __iter__(self) -> Iterator[ToolRun]:
        self.looks += len(self)
        return super().__iter__()


def test_a_call_is_compared_with_few_tools_of_a_long_loop() -> None:
    (turn,) = made(unrecorded(0), ran(0), unrecorded(1), AGENT)
    call, after = (step.call for step in turn.history.turn.steps)
    blank = replace(call, content=replace(call.content, calls=None), calls_from_tools=False)
    span = ran(0)
    tools = Looked(
        ToolRun(replace(span, start=span.start + n * SECOND, end=span.end + n * SECOND), "search", f"c{n}")
        for n in range(1_000)
    )
    found = with_calls_run(blank, after, tools)
    assert [one.id for one in found.content.calls or ()] == ["c0"]
    assert tools.looks < 50
