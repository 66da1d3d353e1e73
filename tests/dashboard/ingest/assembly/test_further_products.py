"""What LangSmith, MLflow, OpenLIT, Langtrace and LiteLLM write, as recorded around calls to the simulator."""

import json
from typing import Any

from dashboard.ingest.assembly.trace import TraceTurn
from dashboard.ingest.conventions.content.shapes import NOT_TOLD
from dashboard.ingest.conventions.observations import Loop
from dashboard.ingest.conventions.span_reader import seen
from dashboard.ingest.conventions.spans import Span, SpanEvent
from tests.dashboard.ingest.assembly.test_turn_grouping import SECOND, START, made
from tests.dashboard.ingest.conventions.test_more_instrumentations import codes
from tests.dashboard.ingest.conventions.test_span_reader import call

TRACE = "1" * 32
USER = {"role": "user", "content": "Why?"}


def spanned(
    place: int, name: str, attributes: dict[str, Any], *, parent: str = "", scope: str = "", events: Any = ()
) -> Span:
    begun = START + place * SECOND
    return Span(
        TRACE, f"{place + 1:016x}", parent, name, begun, begun + SECOND // 2, scope=scope, attributes=attributes,
        events=tuple(events),
    )  # fmt: skip


def answers(turn: TraceTurn) -> list[Any]:
    return [step.answer for step in turn.history.turn.steps]


def results(turn: TraceTurn) -> list[str]:
    events = [told.event for told in turn.history.told]
    return [result.content for event in events for result in getattr(event, "results", ())]


def langsmith(place: int, messages: list[Any], *, reason: str, text: str = "", calls: Any = ()) -> Span:
    """A call within a node of its own, as each step of a graph has one."""
    said = {"kwargs": {"content": text, "tool_calls": list(calls)}}
    generation = {"text": text, "generation_info": {"finish_reason": reason}, "message": said}
    about = {
        "gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 9,
        "gen_ai.usage.output_tokens": 35, "langsmith.metadata.lc_agent_name": "planner",
        "gen_ai.prompt": json.dumps({"messages": [[{"kwargs": message} for message in messages]]}),
        "gen_ai.completion": json.dumps({"generations": [[generation]]}),
    }  # fmt: skip
    return spanned(place, "ChatOpenAI", about, parent=f"{100 + place:016x}", scope="langsmith")


def graph(place: int, name: str, parent: str = "") -> Span:
    about = {"gen_ai.operation.name": "chain", "langsmith.metadata.lc_agent_name": "planner"}
    return spanned(place, name, about, parent=parent, scope="langsmith")


def test_the_calls_of_a_graph_that_langsmith_traces_are_one_turn_of_its_agent() -> None:
    asked = {"name": "look", "args": {"q": 1}, "id": "c1", "type": "tool_call"}
    human = {"content": "Why?", "type": "human"}
    sent = [human, {"content": "", "type": "ai", "tool_calls": [asked]}]
    sent.append({"content": "42", "type": "tool", "tool_call_id": "c1"})
    root = graph(90, "planner")
    nodes = [graph(place, "model", root.id) for place in (99, 101)]
    first = langsmith(0, [human], reason="tool_calls", calls=[asked])
    (turn,) = made(root, *nodes, first, langsmith(2, sent, reason="stop", text="Because."))
    assert turn.history.turn.loop is not None
    assert turn.history.turn.loop.name == "planner"
    assert ([answer.text for answer in answers(turn)], results(turn)) == (["", "Because."], ["42"])


def test_a_graph_has_its_agents_name_and_its_nodes_have_not() -> None:
    told = [seen(graph(0, name)) for name in ("planner", "model")]
    assert [(isinstance(one, Loop), isinstance(one, Loop) and one.is_agent) for one in told] == [
        (True, True),
        (True, False),
    ]


def test_mlflow_writes_the_models_name_as_json() -> None:
    about = {"mlflow.spanType": '"CHAT_MODEL"', "mlflow.llm.model": '"m"', "mlflow.llm.provider": '"anthropic"'}
    told = call(**about, invocation_params='{"max_completion_tokens": 60}')
    assert (told.model, told.provider, told.max_tokens) == ("m", "anthropic", 60)


def test_the_last_event_of_a_responses_stream_that_mlflow_keeps_holds_its_end() -> None:
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Agents st"}]}
    whole = {
        "object": "response", "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"},
        "output": [item], "usage": {"input_tokens": 6, "output_tokens": 60},
    }  # fmt: skip
    pieces = [
        {"type": "response.output_text.delta", "delta": "st"},
        {"type": "response.incomplete", "response": whole},
    ]
    events = [
        SpanEvent(f"mlflow.chunk.item.{place}", {"mlflow.chunk.value": json.dumps(piece)})
        for place, piece in enumerate(pieces)
    ]
    shown = {**whole, "status": None, "incomplete_details": None, "usage": None}
    about = {"mlflow.spanType": '"CHAT_MODEL"', "mlflow.llm.model": '"m"', "mlflow.spanOutputs": json.dumps(shown)}
    told = call(*events, **about)
    assert ([word.raw for word in told.words], told.content.text) == (["max_output_tokens"], "Agents st")
    assert told.usage is not None
    assert (told.usage.input_tokens, told.usage.output_tokens) == (6, 60)


def test_lists_without_any_message_are_no_empty_answer() -> None:
    """As OpenLIT writes them where it records no contents."""
    about = {
        "gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.output_tokens": 351,
        "gen_ai.response.finish_reasons": ["stop"], "gen_ai.input.messages": [], "gen_ai.output.messages": [],
    }  # fmt: skip
    (turn,) = made(spanned(0, "chat m", about))
    assert codes(turn) >= {"input_unknown", "answer_unknown"}
    assert turn.history.snapshot.end is not None
    assert turn.history.snapshot.end.status.value == "completed"


def langtrace(place: int, sent: list[Any], said: dict[str, Any]) -> Span:
    about = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.output_tokens": 35}
    events = [
        SpanEvent("gen_ai.content.prompt", {"gen_ai.prompt": json.dumps(sent)}),
        SpanEvent("gen_ai.content.completion", {"gen_ai.completion": json.dumps([said])}),
    ]
    return spanned(place, "chat", about, events=events, parent="f" * 16)


def test_the_tool_calls_that_langtrace_writes_in_place_of_a_text_are_calls() -> None:
    asked = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"q": "wh'}}
    (turn,) = made(langtrace(0, [USER], {"role": "assistant", "content": [asked]}))
    (answer,) = answers(turn)
    assert (answer.text, [(one.name, one.raw) for one in answer.broken_tool_calls]) == ("", [("look", '{"q": "wh')])


def test_results_whose_message_langtrace_lost_continue_the_answer_before_them() -> None:
    sent = [USER, [{"id": "", "type": ""}], {"role": "tool", "tool_call_id": "c1", "content": "42"}]
    (turn,) = made(
        langtrace(0, [USER], {"role": "assistant", "content": "I look."}),
        langtrace(1, sent, {"role": "assistant", "content": "Because."}),
    )
    assert ([answer.text for answer in answers(turn)], results(turn)) == (["I look.", "Because."], ["42"])
    assert codes(turn) >= {"calls_from_next", "calls_unknown"}


def litellm(place: int, sent: list[Any], said: list[Any], *, reason: str, scope: str = "litellm") -> Span:
    about = {
        "gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "llm.request.type": "responses",
        "litellm.call_id": "6754c5cc", "gen_ai.usage.input_tokens": 6, "gen_ai.usage.output_tokens": 30,
        "gen_ai.response.finish_reasons": json.dumps([reason]), "gen_ai.input.messages": json.dumps(sent),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": said}]),
    }  # fmt: skip
    return spanned(place, "chat m", about, scope=scope, parent="f" * 16)


ASKED = {"role": "user", "parts": [{"type": "text", "content": "Why?"}]}
LOST = {"role": "user", "parts": [{"type": "text", "content": ""}]}
LOOK = {"type": "tool_call", "id": "c1", "name": "look", "arguments": '{"q": 1}'}


def test_a_call_of_an_answer_that_litellm_says_is_incomplete_was_cut() -> None:
    (turn,) = made(litellm(0, [ASKED], [{**LOOK, "arguments": '{"q": "wh'}], reason="incomplete"))
    (answer,) = answers(turn)
    assert [one.issue.value for one in answer.broken_tool_calls if one.issue] == ["truncated"]
    assert (answer.stop_reason.value, answer.raw_stop_reason) == ("unknown", "incomplete")


def test_items_that_litellm_loses_of_a_request_are_calls_and_results_and_no_empty_messages() -> None:
    text = {"type": "text", "content": "I look."}
    sent = [ASKED, {"role": "assistant", "parts": [text]}, {**LOST, "id": "fc_1"}, LOST]
    (turn,) = made(
        litellm(0, [ASKED], [text, LOOK], reason="completed"),
        litellm(1, sent, [{"type": "text", "content": "Because."}], reason="completed"),
    )
    assert ([answer.text for answer in answers(turn)], results(turn)) == (["I look.", "Because."], [NOT_TOLD])


def test_a_call_that_litellm_wrote_on_the_span_around_it_says_that_others_may_be_missing() -> None:
    for scope, is_told in (("app", True), ("litellm", False)):
        (turn,) = made(litellm(0, [ASKED], [{"type": "text", "content": "So."}], reason="completed", scope=scope))
        assert ("calls_overwritten" in codes(turn)) is is_told
