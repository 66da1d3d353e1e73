"""Which calls of a trace are one turn, and what the machine makes of them."""

import json
import random
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from agentcore.events import Interrupted, ModelFailed, ModelResponded, ToolsReturned, WokeUp
from dashboard.ingest.assembly.call_dedup import MOST_TELLING
from dashboard.ingest.assembly.trace import TraceTurn, turns_of
from dashboard.ingest.assembly.turn_grouping import RAN
from dashboard.ingest.conventions.span_reader import seen
from dashboard.ingest.conventions.spans import Span, SpanEvent
from dashboard.ingest.services import base_policy

SECOND, START = 10**9, 2 * 10**18
USER = {"role": "user", "parts": [{"type": "text", "content": "Why?"}]}


def chat(place: int, *, parent: str = "a" * 16, reason: str = "stop", text: str = "Because.", **more: Any) -> Span:
    said = {"role": "assistant", "parts": [{"type": "text", "content": text}], "finish_reason": reason}
    attributes = {
        "gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "m",
        "gen_ai.request.max_tokens": 50, "gen_ai.response.finish_reasons": [reason], "gen_ai.usage.output_tokens": 50,
        "gen_ai.input.messages": json.dumps(more.pop("asked", [USER])), "gen_ai.output.messages": json.dumps([said]),
    }  # fmt: skip
    start = START + 2 * place * SECOND
    named = {name: more.pop(name) for name in ("failed", "message") if name in more}
    return Span("1" * 32, f"{place + 1:016x}", parent, "chat m", start, start + SECOND,
                attributes={**attributes, **more}, **named)  # fmt: skip


def agent() -> Span:
    about = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "thinker"}
    return Span("1" * 32, "a" * 16, "", "invoke_agent", START, START + 99 * SECOND, attributes=about)


def made(*spans: Span) -> list[TraceTurn]:
    told = [one for span in spans if (one := seen(span)) is not None]
    return turns_of("1" * 32, told, {span.id: span.parent for span in spans}, base_policy(), lambda *_: [])


def kinds(turn: TraceTurn) -> list[type]:
    return [type(told.event) for told in turn.history.told][1:]


def test_a_truncated_answer_whose_text_is_in_the_next_call_is_continued() -> None:
    said = {"role": "assistant", "parts": [{"type": "text", "content": "Agents stop for"}]}
    first = chat(0, reason="length", text="Agents stop for")
    (turn,) = made(first, chat(1, text=" many reasons.", asked=[USER, said]))
    assert kinds(turn) == [ModelResponded, ModelResponded]
    assert turn.history.policy.limits.max_continuations == 1
    assert turn.history.snapshot.end is not None
    assert turn.history.snapshot.end.output_text == "Agents stop for many reasons."


def test_a_truncated_answer_absent_from_the_next_call_ends_its_turn() -> None:
    assert len(made(chat(0, reason="length"), chat(1))) == 2


def test_a_repeated_failed_call_is_a_retry() -> None:
    failed = chat(0, failed=True, message="Error code: 429 - slow down")
    (turn,) = made(failed, chat(1))
    assert kinds(turn) == [ModelFailed, WokeUp, ModelResponded]
    assert turn.history.snapshot.end is not None
    assert turn.history.snapshot.end.status == "completed"


def test_calls_of_different_models_or_overlapping_calls_are_separate_turns() -> None:
    assert len(made(agent(), chat(0), chat(1))) == 2
    failed = chat(0, failed=True, message="Error code: 429")
    assert len(made(agent(), failed, chat(1, **{"gen_ai.request.model": "other"}))) == 2


def test_a_loop_that_ends_with_tool_calls_hands_out_each_call() -> None:
    part = {"type": "tool_call", "id": "call_1", "name": "search", "arguments": {}}
    asking = {"role": "assistant", "parts": [part], "finish_reason": "tool_call"}
    result = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_1", "response": "found"}]}
    first = chat(0, reason="tool_calls", **{"gen_ai.output.messages": json.dumps([asking])})
    second = chat(1, asked=[USER, asking, result])
    (turn,) = made(agent(), first, second)
    assert kinds(turn) == [ModelResponded, ToolsReturned, ModelResponded]
    last = {"type": "tool_call", "id": "call_2", "name": "final", "arguments": {}}
    output = [{"role": "assistant", "parts": [last], "finish_reason": "tool_call"}]
    ending = chat(
        1, asked=[USER, asking, result], reason="tool_calls", **{"gen_ai.output.messages": json.dumps(output)}
    )
    turns = made(agent(), first, ending)
    assert [kinds(turn) for turn in turns] == [[ModelResponded], [ModelResponded]]
    assert all(later.follows == earlier.id for earlier, later in pairwise(turns))


def test_a_turn_has_the_same_id_whatever_else_of_its_trace_has_arrived() -> None:
    (alone,) = made(chat(0))
    (beneath,) = made(agent(), chat(0))
    assert alone.id == beneath.id
    assert alone.id.version == 7


def test_spans_with_cyclic_parents_are_still_read() -> None:
    one, other = chat(0, parent="b" * 16), agent()
    circle = Span("1" * 32, "b" * 16, "a" * 16, "x", START, START)
    looped = Span("1" * 32, "a" * 16, "b" * 16, other.name, START, START, attributes=other.attributes)
    assert len(made(one, circle, looped)) == 1


class Counted(dict[str, str]):
    """Parents of spans, which count how often they are asked for."""

    asked = 0

    def get(self, span: str, default: Any = None) -> Any:
        self.asked += 1
        return super().get(span, default)


def test_deeply_nested_calls_are_each_compared_with_few() -> None:
    spans = [chat(place, parent=f"{place:016x}") for place in range(1, 60)]
    spans = [replace(span, start=START, end=START + SECOND) for span in spans]
    parents = Counted({span.id: span.parent for span in spans})
    turns = turns_of("1" * 32, [one for span in spans if (one := seen(span))], parents, base_policy(), lambda *_: [])
    told = [step.call.spans for turn in turns for step in turn.history.turn.steps]
    assert sum(map(len, told)) == len(spans)
    assert max(map(len, told)) == MOST_TELLING
    assert parents.asked < 3 * sum(range(len(spans)))


def test_an_empty_object_in_a_truncated_answer_is_a_call_with_lost_arguments() -> None:
    call = "llm.output_messages.0.message.tool_calls.0.tool_call"
    about = {
        "openinference.span.kind": "LLM", "llm.provider": "anthropic", "llm.model_name": "m",
        "llm.finish_reason": "max_tokens", f"{call}.id": "call_1", f"{call}.function.name": "search",
        f"{call}.function.arguments": "{}",
    }  # fmt: skip
    (turn,) = made(Span("1" * 32, "b" * 16, "", "messages.create", START, START + SECOND, attributes=about))
    answer = turn.history.turn.steps[0].answer
    assert ([call.name for call in answer.broken_tool_calls], answer.tool_calls) == (["search"], ())
    assert "cut_arguments_lost" in {note.code for note in turn.notes}


@pytest.mark.parametrize("is_streamed", [True, False])
def test_truncated_arguments_closed_by_langchain_are_not_a_complete_call(is_streamed: bool) -> None:
    call, about = "llm.output_messages.0.message.tool_calls.0.tool_call", {"id": "call_1", "name": "search"}
    chunks = {"tool_call_chunks": [{**about, "args": '{"q": "wh'}]} if is_streamed else {}
    message = {"kwargs": {"content": "", "tool_calls": [{**about, "args": {"q": "wh"}}], **chunks}}
    attributes = {
        "openinference.span.kind": "LLM", "llm.provider": "openai", "llm.model_name": "m",
        "llm.finish_reason": "length",
        f"{call}.id": "call_1", f"{call}.function.name": "search", f"{call}.function.arguments": '{"q": "wh"}',
        "output.value": json.dumps({"generations": [[{"text": "", "message": message}]]}),
    }  # fmt: skip
    scope = "openinference.instrumentation.langchain"
    span = Span("1" * 32, "b" * 16, "", "ChatOpenAI", START, START + SECOND, scope=scope, attributes=attributes)
    (turn,) = made(span)
    snapshot, answer = turn.history.snapshot, turn.history.turn.steps[0].answer
    assert snapshot.end is not None
    assert snapshot.end.status.value == "partial"
    assert [call.name for call in answer.broken_tool_calls] == (["search"] if is_streamed else [])
    assert ("cut_arguments_lost" in {note.code for note in turn.notes}) is not is_streamed


def test_arguments_closed_by_anthropics_client_are_not_a_complete_call_where_the_answer_shows_it() -> None:
    call = "llm.output_messages.0.message.tool_calls.0.tool_call"
    used = {"type": "tool_use", "id": "call_1", "name": "search", "input": {"q": "wh"}}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [used],
               "stop_reason": "max_tokens", "usage": {"input_tokens": 9, "output_tokens": 30}}  # fmt: skip
    attributes = {
        "openinference.span.kind": "LLM", "llm.provider": "anthropic", "llm.model_name": "m",
        f"{call}.id": "call_1", f"{call}.function.name": "search", f"{call}.function.arguments": '{"q": "wh"}',
        "output.value": json.dumps(message),
    }  # fmt: skip
    scope = "openinference.instrumentation.anthropic"
    (turn,) = made(Span("1" * 32, "b" * 16, "", "Messages", START, START + SECOND, scope=scope, attributes=attributes))
    answer = turn.history.turn.steps[0].answer
    assert [one.shown_whole for one in (*answer.tool_calls, *answer.broken_tool_calls)] == [False]
    assert "cut_arguments_lost" in {note.code for note in turn.notes}


def test_truncated_arguments_passed_on_by_llama_index_are_not_lost() -> None:
    call = "llm.output_messages.0.message.tool_calls.0.tool_call"
    attributes = {
        "openinference.span.kind": "LLM", "llm.provider": "openai", "llm.model_name": "m",
        "llm.finish_reason": "length",
        f"{call}.id": "call_1", f"{call}.function.name": "search", f"{call}.function.arguments": '{"q": "wh',
    }  # fmt: skip
    scope = "openinference.instrumentation.llama_index"
    (turn,) = made(Span("1" * 32, "b" * 16, "", "chat", START, START + SECOND, scope=scope, attributes=attributes))
    assert [call.raw for call in turn.history.turn.steps[0].answer.broken_tool_calls] == ['{"q": "wh']
    assert "cut_arguments_lost" not in {note.code for note in turn.notes}


def test_a_malformed_call_dropped_by_the_provider_is_not_a_complete_call() -> None:
    attributes = {
        "openinference.span.kind": "LLM", "llm.provider": "google", "llm.model_name": "m",
        "llm.finish_reason": "MALFORMED_FUNCTION_CALL", "llm.output_messages.0.message.role": "model",
    }  # fmt: skip
    (turn,) = made(Span("1" * 32, "b" * 16, "", "chat", START, START + SECOND, attributes=attributes))
    answer = turn.history.turn.steps[0].answer
    assert ([call.issue for call in answer.broken_tool_calls], answer.tool_calls) == (["malformed"], ())
    assert turn.history.snapshot.end is not None
    assert turn.history.snapshot.end.status.value == "partial"


def failing_agent(name: str, message: str) -> Span:
    raised = SpanEvent("exception", {"exception.type": f"framework.errors.{name}", "exception.message": message})
    return replace(agent(), failed=True, events=(raised,))


def calling(place: int) -> Span:
    """A call that asks for a tool, after as many that did so before."""
    asked: list[Any] = [USER]
    for number in range(place):
        call = {"type": "tool_call", "id": f"c{number}", "name": "look", "arguments": "{}"}
        asked += [{"role": "assistant", "parts": [call]}]
        asked += [{"role": "tool", "parts": [{"type": "tool_call_response", "id": f"c{number}", "result": "42"}]}]
    call = {"type": "tool_call", "id": f"c{place}", "name": "look", "arguments": "{}"}
    said = json.dumps([{"role": "assistant", "parts": [call], "finish_reason": "tool_call"}])
    return chat(place, reason="tool_call", asked=asked, **{"gen_ai.output.messages": said})


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("UsageLimitExceeded", "The next request would exceed the request_limit of 3."),
        ("GraphRecursionError", "Recursion limit of 6 reached without hitting a stop condition."),
        ("MaxTurnsExceeded", "Max turns (3) exceeded"),
        ("SpanError", "Max turns exceeded: {'max_turns': 3}"),
        ("AgentMaxStepsError", "Reached max steps."),
    ],
)
def test_a_limit_of_the_loop_ends_one_turn_of_all_its_calls(name: str, message: str) -> None:
    (turn,) = made(failing_agent(name, message), calling(0), calling(1), calling(2))
    end = turn.history.snapshot.end
    assert end is not None
    assert len(turn.history.turn.steps) == 3
    told = f"A limit of the agent's loop ended it: “{message.rstrip('.')}”."
    assert (end.status.value, end.error_message) == ("interrupted", told)
    assert ("loop_failed", told) in [(note.code, note.words) for note in turn.notes]


def test_an_error_of_the_loop_after_a_tool_call_is_reported_as_one() -> None:
    (turn,) = made(failing_agent("KeyError", "'city'"), calling(0))
    assert turn.history.snapshot.end is not None
    assert turn.history.snapshot.end.error_message == "The agent's loop ended with an error: “'city'”."


def test_a_loop_that_did_not_fail_hands_out_its_calls_as_before() -> None:
    assert [turn.history.snapshot.model_stop_reason for turn in made(agent(), calling(0), calling(1))] == [
        "tool_call",
        "tool_call",
    ]


def tool_run(place: int, *, call_id: str | None = None, name: str = "look") -> Span:
    """The tool that the call at this place asked for, run within the loop."""
    about = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.result": "43"}
    if call_id:
        about["gen_ai.tool.call.id"] = call_id
    start = START + (2 * place + 1) * SECOND
    return Span("1" * 32, f"{place + 100:016x}", "a" * 16, f"execute_tool {name}", start, start + SECOND,
                attributes=about)  # fmt: skip


@pytest.mark.parametrize("ids", [("c0", "c1"), (None, None)])
def test_a_loop_that_ran_its_last_tools_and_made_no_further_call_is_one_turn(ids: tuple[str | None, ...]) -> None:
    """As the AI SDK's `stepCountIs`, and AutoGen's most turns."""
    tools = [tool_run(place, call_id=call_id) for place, call_id in enumerate(ids)]
    (turn,) = made(agent(), calling(0), tools[0], calling(1), tools[1])
    end = turn.history.snapshot.end
    assert end is not None
    assert kinds(turn) == [ModelResponded, ToolsReturned, ModelResponded, Interrupted], "no call that was never made"
    assert (end.status.value, end.error_message) == ("interrupted", RAN)
    assert ("loop_failed", RAN) in [(note.code, note.words) for note in turn.notes]


def test_tools_run_by_the_caller_or_ending_the_loop_are_handed_out_as_before() -> None:
    assert len(made(agent(), calling(0), tool_run(0, call_id="c0"), calling(1))) == 2
    said = {"type": "tool_call", "id": "c1", "name": "final_answer", "arguments": "{}"}
    ending = json.dumps([{"role": "assistant", "parts": [said], "finish_reason": "tool_call"}])
    last = replace(calling(1), attributes={**calling(1).attributes, "gen_ai.output.messages": ending})
    ran = tool_run(1, call_id="c1", name="final_answer")
    assert len(made(agent(), calling(0), tool_run(0, call_id="c0"), last, ran)) == 2


@pytest.mark.parametrize(
    "output",
    [
        {"messages": [{"content": "Why?"}, {"kwargs": {"content": "Sorry, need more steps to process this request."}}]},
        {"messages": [{"type": "ai", "content": "Sorry, need more steps to process this request."}]},
        {"messages": [{"type": "ai", "data": {"content": "Sorry, need more steps to process this request."}}]},
        {"output": "Agent stopped due to max iterations."},
        {"outputs": {"output": "Agent stopped due to iteration limit or time limit."}, "kwargs": {}},
    ],
)
def test_a_loop_that_gives_up_with_its_own_text_was_ended_by_its_limit(output: dict[str, Any]) -> None:
    graph = {"openinference.span.kind": "CHAIN", "output.value": json.dumps(output)}
    (turn,) = made(replace(agent(), attributes=graph), calling(0), calling(1))
    end = turn.history.snapshot.end
    assert end is not None
    assert end.status.value == "interrupted"
    assert end.error_message.startswith("A limit of the agent's loop ended it: “")


def test_only_the_last_turn_of_a_loop_was_ended_by_its_failure() -> None:
    first, last = made(failing_agent("MaxTurnsExceeded", "Max turns (3) exceeded"), chat(0), calling(1))
    assert [note.code for note in first.notes if note.code == "loop_failed"] == []
    assert [note.code for note in last.notes if note.code == "loop_failed"] == ["loop_failed"]


def test_a_call_without_data_gets_the_provider_error_of_its_loop() -> None:
    """As a stream that fails before its first word: its own span has no error, and ends as if it were well."""
    empty = json.dumps([{"role": "assistant", "parts": []}])
    nothing = {"gen_ai.response.finish_reasons": [], "gen_ai.usage.output_tokens": None}
    silent = chat(0, **nothing, **{"gen_ai.output.messages": empty})
    (turn,) = made(failing_agent("ModelHTTPError", "status_code: 429, model_name: m"), silent)
    end = turn.history.snapshot.end
    assert end is not None
    assert (end.status.value, end.error_message) == ("failed", "status_code: 429, model_name: m")
    (other,) = made(failing_agent("KeyError", "'city'"), silent)
    assert turn.history.turn.steps[0].call.error is not None
    assert other.history.turn.steps[0].call.error is None, "which says nothing of the call"


def test_a_refusal_without_text_is_a_refusal() -> None:
    """As OpenAI's agents kit tells it: no span of it has a stop reason."""
    said = json.dumps([{"role": "assistant", "content": None, "refusal": "No."}])
    about = {"openinference.span.kind": "LLM", "llm.model_name": "m", "output.value": said}
    (turn,) = made(replace(chat(0), attributes=about))
    assert turn.history.snapshot.end is not None
    assert (turn.history.snapshot.end.status.value, turn.history.snapshot.model_stop_reason) == (
        "aborted",
        "safety_blocked",
    )


def test_a_call_without_data_in_a_failed_loop_is_not_complete() -> None:
    """As OpenLLMetry writes an answer that was filtered, of which the agents SDK raised an error."""
    blank = replace(chat(0), attributes={"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"})
    (turn,) = made(failing_agent("AgentError", "Model refused to produce output"), blank)
    assert kinds(turn) == [Interrupted]
    end = turn.history.snapshot.end
    assert end is not None
    assert (end.status.value, "Model refused" in (end.error_message or "")) == ("interrupted", True)
    (other,) = made(agent(), blank)
    assert kinds(other) == [ModelResponded], "a loop that did not fail had an answer"


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
def test_a_loop_that_returns_the_result_of_its_last_tool_is_one_completed_turn(output: str) -> None:
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


def test_a_loop_that_returns_the_arguments_of_a_tool_not_run_is_completed() -> None:
    """As pydantic-ai's output tools."""
    given = loop('{"answer":"43"}', name="final_result")
    (turn,) = made(given, calling(0), tool_run(0), last("report", '{"answer": "43"}'))
    assert ended(turn) == ("completed", "")


@pytest.mark.parametrize("output", [None, "I look.", "4"])
def test_a_loop_whose_output_is_not_from_its_tools_has_an_unknown_ending(output: str | None) -> None:
    (turn,) = made(loop(output), calling(0), tool_run(0), last("report"), tool_run(1, name="report"))
    assert ended(turn) == ("interrupted", RAN)


def test_a_tool_after_which_the_loop_continued_does_not_end_it() -> None:
    (turn,) = made(loop("43"), calling(0), tool_run(0), calling(1), tool_run(1))
    assert ended(turn) == ("interrupted", RAN)


def test_only_calls_before_the_end_of_a_loop_ended_it() -> None:
    """Its first call asked for another cap, so it is a turn of its own, which hands its tools out."""
    calls = [replace(span, attributes={**span.attributes, "gen_ai.request.max_tokens": cap})
             for span, cap in ((calling(0), 100), (calling(1), 500), (last("report", place=2), 500))]  # fmt: skip
    tools = [tool_run(0), tool_run(1), tool_run(2, name="report")]
    first, second = made(loop("43"), *calls, *tools)
    assert (ended(first), ended(second)) == (("completed", ""), ("completed", ""))
    assert ["loop_ended" in {note.code for note in turn.notes} for turn in (first, second)] == [False, True]


@pytest.mark.parametrize("output", ["Look at page 43", "I look.43", "143"])
def test_an_output_that_only_ends_like_a_tool_result_has_an_unknown_ending(output: str) -> None:
    (turn,) = made(loop(output), calling(0), tool_run(0), last("report"), tool_run(1, name="report"))
    assert ended(turn) == ("interrupted", RAN)


def test_a_loop_that_returns_the_text_before_the_tool_and_its_result_is_completed() -> None:
    spoken = last("report", text="I look.")
    (turn,) = made(loop("I look.\n43"), calling(0), tool_run(0), spoken, tool_run(1, name="report"))
    assert ended(turn) == ("completed", "")


def test_a_failed_tool_does_not_complete_a_loop() -> None:
    failed = replace(tool_run(1, name="report"), failed=True)
    (turn,) = made(loop("43"), calling(0), tool_run(0), last("report"), failed)
    assert ended(turn) == ("interrupted", RAN)


def test_smolagents_tool_results_have_no_ids() -> None:
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


def test_an_answer_that_is_sent_back_with_other_ids_continues_its_turn() -> None:
    """As Google's Agent Development Kit sends what it streamed: it gives the calls ids of its own, and removes them."""
    asked = {"type": "tool_call", "name": "look", "arguments": {"q": 1}}
    answer = {"role": "assistant", "parts": [{**asked, "id": "adk-1"}], "finish_reason": "tool_call"}
    result = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "look_0", "response": "42"}]}
    first = chat(0, reason="tool_call", **{"gen_ai.output.messages": json.dumps([answer])})
    for arguments, turns in (({"q": 1}, 1), ({"q": 2}, 2)):
        sent = {"role": "assistant", "parts": [{**asked, "id": "look_1", "arguments": arguments}]}
        assert len(made(agent(), first, chat(1, asked=[USER, sent, result]))) == turns
