"""Loops that end with their tools: on purpose where the loop's own output shows it, else with words that say so."""

import json
import random
from dataclasses import replace
from typing import Any

import pytest

from agentcore.events import ModelResponded, ToolsReturned
from dashboard.ingest.assembly.trace import TraceTurn
from dashboard.ingest.assembly.turn_grouping import RAN
from dashboard.ingest.conventions.spans import Span
from tests.dashboard.ingest.assembly.test_turn_grouping import SECOND, START, agent, calling, kinds, made, tool_run


def loop(output: Any = None, *, name: str = "output.value") -> Span:
    """The agent's span, with what it gave in the end."""
    return replace(agent(), attributes={**agent().attributes, **({} if output is None else {name: output})})


def last(name: str, arguments: str = "{}", *, place: int = 1, text: str = "") -> Span:
    """The last call, which asks for another tool than those before it did."""
    said = [{"type": "text", "content": text}] if text else []
    asked = {"type": "tool_call", "id": f"c{place}", "name": name, "arguments": arguments}
    output = json.dumps([{"role": "assistant", "parts": [*said, asked], "finish_reason": "tool_call"}])
    return replace(calling(place), attributes={**calling(place).attributes, "gen_ai.output.messages": output})


def ended(turn: TraceTurn) -> tuple[str, str]:
    assert turn.history.snapshot.end is not None
    return turn.history.snapshot.end.status.value, turn.history.snapshot.end.error_message


GRAPH = json.dumps({"messages": [{"kwargs": {"content": "Why?"}}, {"kwargs": {"content": "43", "type": "tool"}}]})


@pytest.mark.parametrize("output", ["43", '"43"', GRAPH])
def test_a_loop_that_gives_what_its_last_tool_returned_is_one_completed_turn(output: str) -> None:
    """As LangChain's `return_direct`, and smolagents' final answer."""
    spans = [loop(output), calling(0), tool_run(0), last("report"), tool_run(1, name="report")]
    (turn,) = made(*spans)
    assert kinds(turn) == [ModelResponded, ToolsReturned, ModelResponded], "and nothing that did not happen"
    assert ended(turn) == ("completed", "")
    assert "loop_ended" in {note.code for note in turn.notes}
    for seed in range(9):
        random.Random(seed).shuffle(spans)
        (again,) = made(*spans)
        assert (again.id, again.notes) == (turn.id, turn.notes)
        assert [told.event for told in again.history.told] == [told.event for told in turn.history.told]


def test_a_loop_that_gives_the_arguments_of_a_tool_that_did_not_run_is_completed() -> None:
    """As pydantic-ai's output tools."""
    given = loop('{"answer":"43"}', name="final_result")
    (turn,) = made(given, calling(0), tool_run(0), last("report", '{"answer": "43"}'))
    assert ended(turn) == ("completed", "")


@pytest.mark.parametrize("output", [None, "I look.", "4"])
def test_a_loop_whose_output_is_not_its_tools_ended_in_a_way_that_nobody_tells(output: str | None) -> None:
    (turn,) = made(loop(output), calling(0), tool_run(0), last("report"), tool_run(1, name="report"))
    assert ended(turn) == ("interrupted", RAN)


def test_a_tool_after_which_the_loop_had_gone_on_does_not_end_it() -> None:
    (turn,) = made(loop("43"), calling(0), tool_run(0), calling(1), tool_run(1))
    assert ended(turn) == ("interrupted", RAN)


def test_only_the_calls_up_to_the_end_of_a_loop_ended_it() -> None:
    """Its first call asked for another cap, so it is a turn of its own, which hands its tools out."""
    calls = [replace(span, attributes={**span.attributes, "gen_ai.request.max_tokens": cap})
             for span, cap in ((calling(0), 100), (calling(1), 500), (last("report", place=2), 500))]  # fmt: skip
    tools = [tool_run(0), tool_run(1), tool_run(2, name="report")]
    first, second = made(loop("43"), *calls, *tools)
    assert (ended(first), ended(second)) == (("completed", ""), ("completed", ""))
    assert ["loop_ended" in {note.code for note in turn.notes} for turn in (first, second)] == [False, True]


@pytest.mark.parametrize("output", ["Look at page 43", "I look.43", "143"])
def test_an_output_that_happens_to_end_with_what_a_tool_gave_ended_in_a_way_that_nobody_tells(output: str) -> None:
    (turn,) = made(loop(output), calling(0), tool_run(0), last("report"), tool_run(1, name="report"))
    assert ended(turn) == ("interrupted", RAN)


def test_a_loop_that_gives_the_words_before_the_tool_and_what_it_returned_is_completed() -> None:
    spoken = last("report", text="I look.")
    (turn,) = made(loop("I look.\n43"), calling(0), tool_run(0), spoken, tool_run(1, name="report"))
    assert ended(turn) == ("completed", "")


def test_a_tool_that_failed_ends_no_loop_well() -> None:
    failed = replace(tool_run(1, name="report"), failed=True)
    (turn,) = made(loop("43"), calling(0), tool_run(0), last("report"), failed)
    assert ended(turn) == ("interrupted", RAN)


def test_the_tools_of_smolagents_bring_their_results_without_ids() -> None:
    """Its roles are its own, and its spans have no ids of calls."""
    prefix = "llm.output_messages.0.message.tool_calls.0.tool_call"

    def asked(place: int, name: str, sent: list[tuple[str, str]]) -> Span:
        about: dict[str, Any] = {
            "openinference.span.kind": "LLM", "llm.model_name": "m", f"{prefix}.id": f"c{place}",
            f"{prefix}.function.name": name, f"{prefix}.function.arguments": "{}",
        }  # fmt: skip
        for number, (role, text) in enumerate(sent):
            about |= {f"llm.input_messages.{number}.message.role": role}
            about |= {f"llm.input_messages.{number}.message.content": text}
        start = START + 2 * place * SECOND
        return Span("1" * 32, f"{place + 1:016x}", "a" * 16, "generate", start, start + SECOND, attributes=about)

    first = [("system", "You act."), ("user", "Why?")]
    more = [*first, ("tool-call", "Calling tools: …"), ("tool-response", "Observation: 43")]
    final = tool_run(1, name="final_answer")
    (turn,) = made(loop("43"), asked(0, "look", first), tool_run(0), asked(1, "final_answer", more), final)
    assert ended(turn) == ("completed", "")
    returned = turn.history.told[2].event
    assert isinstance(returned, ToolsReturned)
    assert [result.content for result in returned.results] == ["Observation: 43"]
