"""What instrumentations of further clients write, as recorded around real calls to the simulator."""

import json
from dataclasses import replace
from typing import Any

import pytest

from dashboard.ingest.assembly.trace import TraceTurn
from dashboard.ingest.conventions.observations import Loop, ModelCall, ToolRun
from dashboard.ingest.conventions.span_reader import seen
from dashboard.ingest.conventions.spans import LogEvent, Span, SpanEvent
from dashboard.ingest.conventions.tables import dialect_of
from tests.dashboard.ingest.assembly.test_turn_grouping import SECOND, START, made
from tests.dashboard.ingest.conventions.test_span_reader import call, span

LLM = {"openinference.span.kind": "LLM", "llm.model_name": "m"}


def one_turn(**attributes: Any) -> TraceTurn:
    (turn,) = made(Span("1" * 32, "b" * 16, "", "call", START, START + SECOND, attributes=attributes))
    return turn


def codes(turn: TraceTurn) -> set[str]:
    return {note.code for note in turn.notes}


@pytest.mark.parametrize(("provider", "dialect"), [("gcp.gen_ai", "gemini"), ("aws", "bedrock"), ("groq", "openai")])
def test_a_cloud_platform_maps_to_the_dialect_of_its_models(provider: str, dialect: str) -> None:
    assert dialect_of(provider) == dialect


def test_bedrock_blocks_in_the_complete_answer_are_calls_and_not_text() -> None:
    """As OpenInference for boto3 writes a cut call."""
    used = {"toolUse": {"toolUseId": "call_1", "name": "look", "input": {}}}
    told = call(**LLM, **{"output.value": json.dumps({"role": "assistant", "content": [used]})})
    assert (told.content.text, [asked.name for asked in told.content.calls or ()]) == ("", ["look"])


def test_a_prompt_blocked_by_gemini_is_recognized_in_the_words_of_its_python_client() -> None:
    feedback = {"prompt_feedback": {"block_reason": "PROHIBITED_CONTENT"}, "usage_metadata": {"prompt_token_count": 6}}
    turn = one_turn(**LLM, **{"llm.provider": "google", "output.value": json.dumps(feedback)})
    assert turn.history.snapshot.end is not None
    assert turn.history.snapshot.end.status.value == "aborted"
    assert turn.history.turn.steps[0].answer.raw_stop_reason == "PROHIBITED_CONTENT"


def test_the_cap_is_read_from_the_options_of_ollamas_client() -> None:
    told = call(**LLM, **{"llm.invocation_parameters": '{"stream": false, "options": {"num_predict": 60}}'})
    assert told.max_tokens == 60


def test_functions_declared_in_geminis_format_are_tools() -> None:
    declared = {"function_declarations": [{"name": "look", "parameters_json_schema": {"type": "object"}}]}
    told = call(gen_ai__operation__name="generate_content", **{"gen_ai.tool.definitions": json.dumps([declared])})
    assert [(tool.name, tool.schema) for tool in told.content.tools] == [("look", {"type": "object"})]


def test_a_truncated_answer_without_recorded_text_is_not_empty_where_tokens_were_used() -> None:
    """As OpenLLMetry writes a stream of Gemini's."""
    output = json.dumps([{"role": "assistant", "parts": [], "finish_reason": "length"}])
    about = {
        "gen_ai.operation.name": "generate_content", "gen_ai.provider.name": "gcp.gen_ai",
        "gen_ai.request.model": "m", "gen_ai.output.messages": output,
    }  # fmt: skip
    turn = one_turn(**about, **{"gen_ai.usage.output_tokens": 60})
    assert codes(turn) >= {"cut_call_lost", "reason_renamed"}
    thought = {"gen_ai.usage.output_tokens": 60, "gen_ai.usage.reasoning_tokens": 60}
    assert "cut_call_lost" not in codes(one_turn(**about, **thought)), "thoughts used them all"


SHOWN = "ChatCompletion(id='chatcmpl-1', choices=[Choice(finish_reason='length', index=0, message=…)])"
OTHERS = "ModelResponse(id='1', created=2, model='m', system_fingerprint=None, choices=[Choices(finish_reason='stop',"


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (SHOWN, ["length"]),
        (OTHERS, ["stop"]),
        ("ChatCompletion(id='1', text=\"choices=[Choice(finish_reason='length'\")", []),
        ("Choice(finish_reason='length')", []),
        (None, []),
    ],
)
def test_smolagents_gives_the_reason_only_in_the_clients_own_object(raw: Any, words: list[str]) -> None:
    told = call(**LLM, **{"output.value": json.dumps({"role": "assistant", "content": "Because", "raw": raw})})
    assert ([word.raw for word in told.words], told.content.text) == (words, "Because")


REPLY = (
    "ChatMessage(_content=[TextContent(text='{said}')], _name=None, "
    "_meta={{'model': 'm', 'index': 0, 'finish_reason': 'length', 'usage': {{}}}})"
)


def test_haystack_gives_the_reason_at_the_end_of_its_message() -> None:
    for said in ("Because.", ", _name=None, _meta={{'finish_reason': 'stop'}}"):
        told = call(**LLM, **{"output.value": json.dumps({"replies": [REPLY.format(said=said)]})})
        assert [word.raw for word in told.words] == ["length"]
    for replies in ([], [{"finish_reason": "stop"}], ["'finish_reason': 'stop'"]):
        assert call(**LLM, **{"output.value": json.dumps({"replies": replies})}).words == ()


def test_langfuse_writes_langchain_tools_among_the_messages_and_calls_in_its_own_format() -> None:
    definition = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    sent = [{"role": "user", "content": "Why?"}, {"role": "tool", "content": definition}]
    asked = {"name": "look", "args": {"q": 1}, "id": "c1", "type": "tool_call"}
    said = {"role": "assistant", "content": "I look.", "tool_calls": [asked]}
    told = call(
        **{
            "langfuse.observation.type": "generation", "langfuse.observation.model.name": "m",
            "langfuse.observation.input": json.dumps(sent), "langfuse.observation.output": json.dumps(said),
        }
    )  # fmt: skip
    assert [message.text for message in told.content.input or ()] == ["Why?"]
    assert [tool.name for tool in told.content.tools] == ["look"]
    assert [(one.id, one.name, one.raw) for one in told.content.calls or ()] == [("c1", "look", '{"q":1}')]


@pytest.mark.parametrize(
    "written",
    [
        {"type": "tool", "data": {"content": "43", "status": "success"}},
        {"output": {"type": "tool", "data": {"content": "43"}}},
        {"output": {"lc": 1, "kwargs": {"content": "43"}}},
    ],
)
def test_the_result_of_a_langchain_tool_is_the_content_of_its_message(written: dict[str, Any]) -> None:
    run = seen(span(**{"openinference.span.kind": "TOOL", "tool.name": "look", "output.value": json.dumps(written)}))
    assert isinstance(run, ToolRun)
    assert run.result == "43"


def botocore_log(at: int, name: str, content: list[Any], **body: Any) -> LogEvent:
    return LogEvent("1" * 32, "2" * 16, name, {"body": {"content": content, **body}}, at)


def test_messages_in_the_log_are_read_in_order_and_once_each() -> None:
    """As OpenTelemetry's instrumentation for botocore writes the second call of a loop: a call stands among the blocks
    and among the calls, a result as the tool's message and as the user's."""
    used, asked = {"toolUseId": "c1", "name": "add", "input": {"a": 17}}, {"name": "add", "arguments": {"a": 17}}
    result = [{"text": "43"}]
    told = seen(
        span(gen_ai__operation__name="chat", gen_ai__system="aws.bedrock", gen_ai__request__model="m"),
        [
            botocore_log(4, "gen_ai.tool.message", result, id="c1"),
            botocore_log(2, "gen_ai.user.message", [{"text": "Why?"}]),
            botocore_log(5, "gen_ai.user.message", [{"toolResult": {"toolUseId": "c1", "content": result}}]),
            botocore_log(1, "gen_ai.system.message", [{"text": "Be brief."}]),
            botocore_log(
                3, "gen_ai.assistant.message", [{"text": "I look."}, {"toolUse": used}],
                tool_calls=[{"id": "c1", "type": "function", "function": asked}],
            ),
        ],
    )  # fmt: skip
    assert isinstance(told, ModelCall)
    assert [(one.role.value, one.text, len(one.tool_calls)) for one in told.content.input or ()] == [
        ("user", "Why?", 0), ("assistant", "I look.", 1), ("tool", "43", 0)
    ]  # fmt: skip


def test_attributes_dropped_by_an_sdk_are_reported() -> None:
    """An SDK keeps 128 attributes of a span: the messages of a long loop are more."""
    told = Span("1" * 32, "b" * 16, "", "call", START, START + SECOND, attributes=LLM, dropped=3)
    (turn,) = made(told)
    assert [note.words for note in turn.notes if note.code == "attributes_dropped"] == [
        "The exporter dropped 3 attributes of this call's span, so earlier messages or tools may be missing."
    ]


def test_azures_clients_write_a_message_as_json_in_one_event_attribute() -> None:
    asked = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 17'}}
    choice = {"message": {"content": "I look.", "tool_calls": [asked]}, "finish_reason": "length", "index": 0}
    told = call(
        SpanEvent("gen_ai.system.message", {"gen_ai.event.content": '{"role": "system", "content": "Be brief."}'}),
        SpanEvent("gen_ai.user.message", {"gen_ai.event.content": '{"role": "user", "content": "Why?"}'}),
        SpanEvent("gen_ai.choice", {"gen_ai.event.content": json.dumps(choice)}),
        gen_ai__operation__name="chat", gen_ai__system="az.ai.inference", gen_ai__request__model="m",
    )  # fmt: skip
    assert (told.content.system, [one.text for one in told.content.input or ()]) == ("Be brief.", ["Why?"])
    assert (told.content.text, [word.raw for word in told.words]) == ("I look.", ["length"])
    assert [(one.name, one.raw) for one in told.content.calls or ()] == [("add", '{"a": 17')]


ASKED = {"index": 0, "id": "c1", "function": {"name": "add", "arguments": ""}}
#: As MLflow writes the answer that it put together itself.
PUT_TOGETHER = {
    "object": "chat.completion", "choices": [{"finish_reason": "stop", "index": 0, "message": {"content": ""}}]
}  # fmt: skip


def mlflow_stream(*deltas: dict[str, Any], reason: str, first: int = 0) -> ModelCall:
    """A stream's span. `first`: the number of the first piece; those before it are lost."""
    choices = [*({"delta": delta, "finish_reason": None} for delta in deltas), {"delta": {}, "finish_reason": reason}]
    events = [
        SpanEvent(f"mlflow.chunk.item.{place}", {"mlflow.chunk.value": json.dumps({"choices": [choice]})})
        for place, choice in enumerate(choices, first)
    ]
    about = {"mlflow.spanType": '"CHAT_MODEL"', "mlflow.spanOutputs": json.dumps(PUT_TOGETHER)}
    return call(*events, **about)


def test_a_stream_of_mlflow_ends_as_its_last_chunk_says() -> None:
    """MLflow's own answer to it says `stop`, and has no calls, whatever was streamed."""
    rest = [{"tool_calls": [{"index": 0, "function": {"arguments": part}}]} for part in ('{"a":', " 17")]
    told = mlflow_stream({"tool_calls": [ASKED]}, *rest, reason="length")
    assert [word.raw for word in told.words] == ["length", "stop"]
    assert [(one.id, one.name, one.raw) for one in told.content.calls or ()] == [("c1", "add", '{"a": 17')]
    told = mlflow_stream(*rest, reason="length", first=1)
    assert (told.words[0].raw, told.content.calls) == ("length", ()), "a call without its beginning is none"


@pytest.mark.parametrize("lost", [1, 2])
def test_no_call_is_assembled_from_an_mlflow_stream_with_a_lost_chunk(lost: int) -> None:
    names = ["mlflow.chunk.item.0", "mlflow.chunk.item.1", "mlflow.chunk.item.2", "mlflow.chunk.item.3"]
    deltas = [{"tool_calls": [ASKED]}, *({"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]} for _ in "ab")]
    choices = [*({"delta": delta} for delta in deltas), {"delta": {}, "finish_reason": "tool_calls"}]
    events = [
        SpanEvent(name, {"mlflow.chunk.value": json.dumps({"choices": [choice]})})
        for place, (name, choice) in enumerate(zip(names, choices, strict=True))
        if place != lost
    ]
    told = call(*events, **{"mlflow.spanType": '"CHAT_MODEL"', "mlflow.spanOutputs": json.dumps(PUT_TOGETHER)})
    assert told.content.calls == ()


def test_the_first_of_several_choices_of_a_stream_counts() -> None:
    """Their pieces come one after another."""
    other = {"index": 1, "delta": {"tool_calls": [{**ASKED, "id": "c2"}]}, "finish_reason": "length"}
    first = {"index": 0, "delta": {"tool_calls": [ASKED]}, "finish_reason": "tool_calls"}
    events = [
        SpanEvent(f"mlflow.chunk.item.{place}", {"mlflow.chunk.value": json.dumps({"choices": [choice]})})
        for place, choice in enumerate((first, other))
    ]
    told = call(*events, **{"mlflow.spanType": '"CHAT_MODEL"', "mlflow.spanOutputs": json.dumps(PUT_TOGETHER)})
    assert ([one.id for one in told.content.calls or ()], told.words[0].raw) == (["c1"], "tool_calls")


def test_a_complete_request_includes_tools_system_and_items_of_the_responses_api() -> None:
    """As MLflow writes it, and LangSmith."""
    items = [
        {"role": "user", "content": [{"type": "input_text", "text": "Why?"}]},
        {"type": "function_call", "call_id": "c1", "name": "add", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "43"},
    ]
    tools = [{"type": "function", "name": "add", "parameters": {"type": "object"}}]
    asked = json.dumps({"model": "m", "instructions": "Be brief.", "input": items, "tools": tools})
    content = call(**{"mlflow.spanType": '"CHAT_MODEL"', "mlflow.spanInputs": asked}).content
    assert content.system == "Be brief."
    assert [(one.role.value, one.text, len(one.tool_calls), one.tool_call_id) for one in content.input or ()] == [
        ("user", "Why?", 0, None), ("assistant", "", 1, None), ("tool", "43", 0, "c1")
    ]  # fmt: skip
    assert [tool.name for tool in content.tools] == ["add"]


def test_a_complete_request_of_the_responses_api_may_have_a_text_input() -> None:
    asked = json.dumps({"model": "m", "input": "Why?"})
    content = call(**{"mlflow.spanType": '"CHAT_MODEL"', "mlflow.spanInputs": asked}).content
    assert [(one.role.value, one.text) for one in content.input or ()] == [("user", "Why?")]


def test_langsmith_gives_the_cap_in_its_metadata() -> None:
    told = call(**{"gen_ai.operation.name": "chat", "langsmith.metadata.ls_max_tokens": 60})
    assert told.max_tokens == 60


def test_openlit_writes_request_and_answer_as_plain_text() -> None:
    about = {"gen_ai.operation.name": "chat", "gen_ai.system": "openai", "gen_ai.request.is_stream": True}
    told = call(**about, **{"gen_ai.prompt": "system: Be brief.\nuser: Why?", "gen_ai.completion": "Because"})
    assert [one.text for one in told.content.input or ()] == ["system: Be brief.\nuser: Why?"]
    assert (told.content.text, told.content.calls, told.stream) == ("Because", None, True)


@pytest.mark.parametrize(
    ("written", "raw"),
    [
        ({"raw": '{"a": 17, "b": 2'}, '{"a": 17, "b": 2'),
        ({"_raw": '{"a": 17, "b": 2'}, '{"a": 17, "b": 2'),
        ({"raw": "{}"}, '{"raw":"{}"}'),
        ({"raw": "milk"}, '{"raw":"milk"}'),
    ],
)
def test_truncated_arguments_inside_an_object_are_the_original_text(written: dict[str, str], raw: str) -> None:
    part = {"type": "tool_call", "id": "c1", "name": "add", "arguments": written}
    output = json.dumps([{"role": "assistant", "parts": [part], "finish_reason": "length"}])
    told = call(**{"gen_ai.operation.name": "chat", "gen_ai.output.messages": output})
    assert [one.raw for one in told.content.calls or ()] == [raw]


OPENLIT = {"gen_ai.operation.name": "chat", "gen_ai.system": "openai", "gen_ai.request.model": "m"}


@pytest.mark.parametrize(
    ("scope", "stream", "word", "invented"),
    [
        ("openlit.otel.tracing", True, "stop", True),
        ("openlit.otel.tracing", False, "stop", False),
        ("openlit.otel.tracing", True, "max_tokens", False),
        ("openlit.instrumentation.openai", True, "stop", False),
    ],
)
def test_a_reason_that_openlit_writes_for_every_stream_is_not_the_providers(
    scope: str, stream: bool, word: str, invented: bool
) -> None:
    about = {
        **OPENLIT, "gen_ai.request.is_stream": stream, "gen_ai.response.finish_reasons": [word],
        "gen_ai.usage.input_tokens": 29, "gen_ai.usage.output_tokens": 24, "gen_ai.completion": "The sum is",
    }  # fmt: skip
    (turn,) = made(Span("1" * 32, "b" * 16, "", "chat m", START, START + SECOND, scope, attributes=about))
    step = turn.history.turn.steps[0]
    assert (step.answer.raw_stop_reason, step.call.usage is None) == (None if invented else word, invented)
    assert ({"reason_invented", "reason_unknown", "usage_unknown"} <= codes(turn)) is invented
    assert step.answer.text == "The sum is"


def test_the_reason_that_strands_writes_for_all_others_has_a_note() -> None:
    choice = SpanEvent("gen_ai.choice", {"message": '[{"text": "Hi"}]', "finish_reason": "end_turn"})
    about = {"gen_ai.operation.name": "chat", "gen_ai.system": "strands-agents", "gen_ai.request.model": "m"}
    own = Span("1" * 32, "b" * 16, "", "chat", START, START + SECOND, attributes=about, events=(choice,))
    for scope, is_noted in (("strands.telemetry.tracer", True), ("another", False)):
        (turn,) = made(replace(own, scope=scope))
        assert ("reason_lumped" in codes(turn)) is is_noted


def test_function_calls_of_litellm_belong_to_the_single_answer() -> None:
    told = call(
        **OPENLIT, **{
            "gen_ai.output.messages": '[{"role": "assistant", "parts": [], "finish_reason": "tool_calls"}]',
            "gen_ai.completion.0.function_call.name": "add", "gen_ai.completion.0.function_call.arguments": '{"a": 17}',
            "gen_ai.completion.1.function_call.name": "weather",
            "gen_ai.completion.1.function_call.arguments": '{"city": "Os',
        },
    )  # fmt: skip
    assert [(one.id, one.name, one.raw) for one in told.content.calls or ()] == [
        ("", "add", '{"a": 17}'), ("", "weather", '{"city": "Os'),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("told", "scope", "cap"),
    [(60, "llama_index", 60), (256, "llama_index", None), (-1, "llama_index", None), (60, "x", None)],
)
def test_the_output_limit_of_a_llamaindex_model_is_the_cap_unless_it_is_the_default(
    told: int, scope: str, cap: int | None
) -> None:
    about = {**LLM, "llm.invocation_parameters": json.dumps({"context_window": 128000, "num_output": told})}
    whole = Span(
        "1" * 32,
        "b" * 16,
        "",
        "OpenAI.chat",
        START,
        START + SECOND,
        f"openinference.instrumentation.{scope}",
        attributes=about,
    )
    found = seen(whole)
    assert isinstance(found, ModelCall)
    assert found.max_tokens == cap


@pytest.mark.parametrize(("word", "meaning"), [("length", "max_tokens"), ("function_calls", "tool_call")])
def test_the_stop_reason_of_autogen_starts_its_complete_answer(word: str, meaning: str) -> None:
    said = {"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "The sum"}
    if word != "length":
        function = "llm.output_messages.0.message.tool_calls.0.tool_call"
        said |= {f"{function}.id": "c1", f"{function}.function.name": "add", f"{function}.function.arguments": "{}"}
    turn = one_turn(**LLM, **said, **{"output.value": json.dumps({"finish_reason": word, "content": "The sum"})})
    answer = turn.history.turn.steps[0].answer
    assert (answer.raw_stop_reason, answer.stop_reason.value) == (word, meaning)
    assert "reason_unknown" not in codes(turn)
    assert ("reason_renamed" in codes(turn)) is (word == "function_calls")  # it writes it also for a truncated call


def test_results_that_autogen_writes_beside_a_message_are_those_of_its_tools() -> None:
    results = {
        f"llm.input_messages.0.function.{place}": json.dumps({"name": "add", "content": text, "call_id": f"c{place}"})
        for place, text in enumerate(("43", "44"))
    }
    told = call(**LLM, **{"llm.input_messages.0.message.role": "function"}, **results)
    sent = [(message.role.value, message.text, message.tool_call_id) for message in told.content.input or ()]
    assert sent == [("tool", "43", "c0"), ("tool", "44", "c1")]


def joined(name: str, arguments: str, *tools: str) -> list[tuple[str, str, str]]:
    """What OpenInference for JavaScript's calls of a stream are read as."""
    called = "llm.output_messages.0.message.tool_calls.0.tool_call"
    offered = {
        f"llm.tools.{place}.tool.json_schema": json.dumps({"type": "function", "function": {"name": tool}})
        for place, tool in enumerate(tools)
    }
    about = {f"{called}.id": "c1c2", f"{called}.function.name": name, f"{called}.function.arguments": arguments}
    told = call(**LLM, **offered, **about)
    return [(one.id, one.name, one.raw) for one in told.content.calls or ()]


def test_calls_joined_into_one_are_taken_apart_by_the_tools_that_were_offered() -> None:
    two = joined("looklook", '{"q": "a}{"}{"q": 2}', "look", "add")
    assert two == [("", "look", '{"q": "a}{"}'), ("", "look", '{"q": 2}')]
    assert joined("lookadd", '{"q": 1}{"q": ', "look", "add") == [("", "look", '{"q": 1}'), ("", "add", '{"q": ')]


@pytest.mark.parametrize(
    ("name", "arguments", "tools"),
    [
        ("look", '{"q": 1}', ("look",)),
        ("looklook", '{"q": 1}{"q": 2}', ("look", "looklook")),
        ("looklook", '{"q": 1}{"q": 2}', ("look", "loo")),
        ("looklook", '{"q": 1}', ("look",)),
        ("looklook", '{"q": 1} {"q": 2}', ("look",)),
        ("looklook", '{"q": 1}{"q": 2}', ()),
    ],
    ids=["one call", "a tool of that name", "two readings", "one object", "more than objects", "no tools"],
)
def test_calls_that_the_tools_do_not_tell_apart_stay_as_they_came(
    name: str, arguments: str, tools: tuple[str, ...]
) -> None:
    assert joined(name, arguments, *tools) == [("c1c2", name, arguments)]


def test_an_agent_is_called_by_its_name_and_not_by_the_id_of_its_node() -> None:
    """As OpenInference for Microsoft's Agent Framework writes them: the ids differ each time."""
    node = {"graph.node.id": "agent_f7629575", "graph.node.name": "reader"}
    loop = seen(span(**{"openinference.span.kind": "AGENT", **node}))
    assert isinstance(loop, Loop)
    assert loop.name == "reader"
    assert call(**LLM, **{"graph.node.id": "llm_180869"}).agent == ""


def test_blocks_written_as_json_in_place_of_a_text_are_that_text() -> None:
    """As OpenLLMetry for LangChain.js (0.27) writes the system's words and a message of several blocks."""
    blocks = json.dumps([{"type": "text", "text": "Be brief. "}, {"type": "text", "text": "Be kind."}])
    seen_image = json.dumps([{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": "data:"}])
    sent = [
        {"role": "system", "parts": [{"type": "text", "content": blocks}]},
        {"role": "user", "parts": [{"type": "text", "content": seen_image}]},
        {"role": "user", "parts": [{"type": "text", "content": '[{"type": 1, "text": "mine"}]'}]},
    ]
    told = call(gen_ai__operation__name="chat", **{"gen_ai.input.messages": json.dumps(sent)})
    assert told.content.system == "Be brief. Be kind."
    assert [message.text for message in told.content.input or ()] == ["What is this?", '[{"type": 1, "text": "mine"}]']


@pytest.mark.parametrize(
    ("attributes", "is_loop", "name"),
    [
        ({"langwatch.span.type": "agent", "langwatch.output": '{"type": "text", "value": "Found."}'}, True, "reader"),
        ({"agentops.span.kind": "agent", "operation.name": "reader"}, True, "reader"),
        ({"langwatch.span.type": "tool", "langwatch.output": '{"type": "text", "value": "42"}'}, False, "look"),
        ({"agentops.span.kind": "tool", "operation.name": "look", "agentops.tool.output": "42"}, False, "look"),
        ({"lmnr.span.type": "TOOL", "lmnr.span.output": '"42"'}, False, "look"),
    ],
)
def test_agents_and_tools_that_a_product_marks_are_read(attributes: dict[str, str], is_loop: bool, name: str) -> None:
    """As LangWatch (1.4), AgentOps (0.4) and Laminar (0.7) write what is marked with their decorators."""
    told = seen(Span("1" * 32, "b" * 16, "", name, START, START + SECOND, attributes=attributes))
    if is_loop:
        assert isinstance(told, Loop)
        assert (told.name, told.is_agent) == (name, True)
    else:
        assert isinstance(told, ToolRun)
        assert (told.name, told.result) == (name, "42")


def test_a_call_that_langwatch_tracks_has_its_messages_and_no_stop_reason() -> None:
    """As its SDK (1.4) writes one of OpenAI's client."""
    asked = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"q": "wh'}}
    answer = [{"role": "assistant", "content": None, "tool_calls": [asked]}]
    offered = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
    sent = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]
    told = call(
        **{
            "langwatch.span.type": "llm", "gen_ai.request.model": "openai/m",
            "langwatch.input": json.dumps({"type": "chat_messages", "value": sent}),
            "langwatch.output": json.dumps({"type": "chat_messages", "value": answer}),
            "langwatch.params": json.dumps({"max_tokens": 30, "tools": offered}),
            "langwatch.metrics": '{"prompt_tokens": 9, "completion_tokens": 30}',
        }
    )  # fmt: skip
    assert (told.content.system, [message.text for message in told.content.input or ()]) == ("Be brief.", ["Why?"])
    assert [(one.name, one.raw) for one in told.content.calls or ()] == [("look", '{"q": "wh')]
    assert (told.max_tokens, [tool.name for tool in told.content.tools], told.words) == (30, ["look"], ())
    assert told.usage is not None
    assert told.usage.output_tokens == 30


def test_a_failed_call_of_agentops_is_a_call() -> None:
    """Its only word for what it is stands in `gen_ai.request.type`; one that succeeds has counts and a choice, too."""
    about = {
        "gen_ai.request.type": "chat", "gen_ai.system": "OpenAI", "gen_ai.request.model": "m",
        "gen_ai.request.streaming": True, "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "Why?",
        "gen_ai.request.functions.0.name": "look",
    }  # fmt: skip
    told = seen(Span("1" * 32, "b" * 16, "", "c", START, START + SECOND, attributes=about, failed=True, message="No"))
    assert isinstance(told, ModelCall)
    assert told.error is not None
    assert (told.stream, [tool.name for tool in told.content.tools]) == (True, ["look"])


def test_the_word_that_stands_in_for_a_filtered_text_is_no_text() -> None:
    """As OpenLLMetry's older releases, and Laminar (0.7), write an answer that a content filter kept back."""
    about = {"llm.request.type": "chat", "gen_ai.completion.0.content": "FILTERED"}
    filtered = call(**about, **{"gen_ai.completion.0.finish_reason": "content_filter"})
    assert filtered.content.text is None
    assert call(**about, **{"gen_ai.completion.0.finish_reason": "stop"}).content.text == "FILTERED"


def test_a_span_for_an_event_within_a_call_or_an_agent_is_neither() -> None:
    """As OpenInference for BeeAI (0.1) writes one for each token of a stream, with the kind of what it belongs to."""
    for kind, path in (("LLM", "backend.openai.chat.new_token"), ("AGENT", "agent.toolCalling.start")):
        about = {"openinference.span.kind": kind, "metadata.path": path, "input.value": "{}"}
        token = Span(
            "1" * 32, "b" * 16, "", "new_token", START, START, "openinference.instrumentation.beeai", attributes=about
        )
        assert seen(token) is None


def adk(*pieces: list[dict[str, Any]]) -> ModelCall:
    """A stream of Google's Agent Development Kit (2.13): one message for each piece."""
    output = [{"role": "assistant", "parts": parts, "finish_reason": ""} for parts in pieces]
    output[-1]["finish_reason"] = "stop"
    return call(
        gen_ai__operation__name="generate_content",
        **{"gen_ai.output.messages": json.dumps(output), "gcp.vertex.agent.invocation_id": "1"},
    )


def test_the_last_piece_of_a_stream_that_holds_the_whole_answer_is_not_added_to_the_others() -> None:
    """As it writes them with LiteLLM, where each piece of a call has its name and no arguments."""
    said = [[{"type": "text", "content": word}] for word in ("I ", "look.")]
    named: dict[str, Any] = {"type": "tool_call", "id": "c1", "name": "look", "arguments": None}
    whole = {**named, "arguments": {"q": 1}}
    told = adk(*said, [named], [named], [{"type": "text", "content": "I look."}, whole])
    assert told.content.text == "I look."
    assert [(asked.id, asked.raw) for asked in told.content.calls or ()] == [("c1", '{"q":1}')]


def test_pieces_of_a_stream_are_put_together_and_a_cut_call_is_told_once() -> None:
    named: dict[str, Any] = {"type": "tool_call", "id": "c1", "name": "look", "arguments": None}
    told = adk([{"type": "text", "content": "I "}], [{"type": "text", "content": "look."}], [named], [named])
    assert (told.content.text, [asked.raw for asked in told.content.calls or ()]) == ("I look.", [""])


def test_a_truncated_answer_without_content_and_without_counts_is_not_empty() -> None:
    """As OpenInference for Haystack (0.1) writes a stream whose tool call was cut."""
    turn = one_turn(**LLM, **{"llm.output_messages.0.message.role": "assistant", "llm.finish_reason": "length"})
    (note,) = (note for note in turn.notes if note.code == "cut_call_lost")
    assert note.words.startswith("Nothing of the truncated answer is in the trace.")


@pytest.mark.parametrize(
    "listed", ['["LENGTH"]', "[LENGTH]", "['LENGTH']", "[LENGTH, STOP]", ["LENGTH", "STOP"], "LENGTH"]
)
def test_a_list_of_stop_reasons_is_read_in_each_form(listed: Any) -> None:
    """Spring AI writes JSON in the names of its constants, AWS's instrumentation for Java a list as Java shows it."""
    told = call(gen_ai__operation__name="chat", **{"gen_ai.response.finish_reasons": listed})
    assert [word.raw for word in told.words] == ["LENGTH"]


def test_spring_ai_writes_counts_as_text() -> None:
    about = {
        "gen_ai.operation.name": "chat", "gen_ai.system": "openai", "gen_ai.request.model": "m",
        "gen_ai.request.max_tokens": "60", "gen_ai.response.finish_reasons": '["LENGTH"]',
        "gen_ai.usage.input_tokens": "9", "gen_ai.usage.output_tokens": "60", "gen_ai.usage.total_tokens": "69",
    }  # fmt: skip
    turn = one_turn(**about)
    (step,) = turn.history.turn.steps
    assert (step.answer.stop_reason, step.call.max_tokens) == ("max_tokens", 60)
    assert step.call.usage is not None
    assert (step.call.usage.input_tokens, step.call.usage.output_tokens) == (9, 60)
    assert "answer_unknown" in codes(turn)


def test_braintrusts_spans_are_calls_and_tools() -> None:
    """As its SDKs for Go and Java write them."""
    asked = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"q": "wh'}}
    message = {"role": "assistant", "content": "", "tool_calls": [asked]}
    about = {
        "braintrust.span_attributes": '{"type":"llm"}',
        "braintrust.input_json": json.dumps(
            [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]
        ),
        "braintrust.output_json": json.dumps([{"index": 0, "finish_reason": "length", "message": message}]),
        "braintrust.metadata": json.dumps({"provider": "openai", "model": "m", "max_tokens": 30}),
        "braintrust.metrics": json.dumps({"prompt_tokens": 9, "completion_tokens": 30, "tokens": 39}),
    }
    told = call(**about)
    assert (told.model, told.max_tokens, [word.raw for word in told.words]) == ("m", 30, ["length"])
    assert (told.content.system, [message.text for message in told.content.input or ()]) == ("Be brief.", ["Why?"])
    assert [(one.id, one.name, one.raw) for one in told.content.calls or ()] == [("c1", "look", '{"q": "wh')]
    assert told.usage is not None
    assert (told.usage.input_tokens, told.usage.output_tokens) == (9, 30)
    tool = {"braintrust.span_attributes": '{"type":"tool"}', "braintrust.output_json": '"42"'}
    ran = seen(span(**tool))
    assert isinstance(ran, ToolRun)
    assert ran.result == "42"


@pytest.mark.parametrize("more", [{"failed": True, "message": "Error code: 429 - Rate limit."}, {}])
def test_traceai_has_openinferences_messages_under_other_names(more: dict[str, Any]) -> None:
    cut = '{"q": "wh'
    asked = "gen_ai.output.messages.0.message.tool_calls.0.tool_call"
    about = {
        "gen_ai.span.kind": "LLM", "gen_ai.provider.name": "openai",
        "gen_ai.request.parameters": json.dumps({"model": "m", "max_tokens": 30}),
        "gen_ai.input.messages.0.message.role": "user", "gen_ai.input.messages.0.message.content": "Why?",
    }  # fmt: skip
    given = {"gen_ai.output.messages.0.message.role": "assistant", f"{asked}.id": "call_1"}
    given |= {f"{asked}.function.name": "look", f"{asked}.function.arguments": cut}
    about |= {} if more else given
    (turn,) = made(
        Span("1" * 32, "b" * 16, "", "call", START, START + SECOND, "traceai_openai", attributes=about, **more)
    )
    (step,) = turn.history.turn.steps
    sent = [message.text for message in step.call.content.input or ()]
    assert (step.call.model, step.call.max_tokens, sent) == ("m", 30, ["Why?"])
    assert [call.raw for call in step.answer.broken_tool_calls] == ([] if more else [cut])
    assert (step.call.error is not None) is bool(more)


@pytest.mark.parametrize(("word", "message_word"), [("tool-calls", "tool_call"), ("content-filter", "content_filter")])
def test_neither_of_two_spellings_of_a_stop_reason_is_called_the_providers_own(word: str, message_word: str) -> None:
    """AI SDK 7 writes its own word on the span and OpenTelemetry's in the message. OpenAI's is “tool_calls”."""
    part: dict[str, Any] = {"type": "text", "content": "I look."}
    if word == "tool-calls":
        part = {"type": "tool_call", "id": "call_1", "name": "look", "arguments": {"q": 1}}
    output = [{"role": "assistant", "parts": [part], "finish_reason": message_word}]
    told = {
        "gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "m",
        "gen_ai.response.finish_reasons": [word], "gen_ai.output.messages": json.dumps(output),
    }  # fmt: skip
    (said,) = [note.words for note in one_turn(**told).notes if note.code == "reason_renamed"]
    assert said.endswith("; the provider's own stop reason is not in the trace.")
