"""A span in each convention's words: the forms that no recorded export shows."""

import json
from dataclasses import replace
from typing import Any

import pytest

from agentcore.messages import Role
from agentcore.reasons import NormalizedStopReason
from dashboard.ingest.assembly.model_answers import answer_of
from dashboard.ingest.conventions.observations import Loop, ModelCall, ToolRun
from dashboard.ingest.conventions.span_reader import seen
from dashboard.ingest.conventions.spans import LogEvent, Span, SpanEvent

SECOND = 10**9


def span(*events: SpanEvent, **attributes: Any) -> Span:
    named = {name.replace("__", "."): value for name, value in attributes.items()}
    return Span("1" * 32, "2" * 16, "", "a span", 2 * 10**18, 2 * 10**18 + SECOND, attributes=named, events=events)


def call(*events: SpanEvent, **attributes: Any) -> ModelCall:
    told = seen(span(*events, **attributes))
    assert isinstance(told, ModelCall)
    return told


def test_openllmetrys_numbered_messages_of_older_releases() -> None:
    told = call(
        **{
            "llm.request.type": "chat", "gen_ai.system": "OpenAI", "gen_ai.request.model": "gpt-4o",
            "gen_ai.prompt.0.role": "system", "gen_ai.prompt.0.content": "Be brief.",
            "gen_ai.prompt.1.role": "user", "gen_ai.prompt.1.content": "Why?",
            "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.finish_reason": "length",
            "gen_ai.completion.0.tool_calls.0.id": "call_1", "gen_ai.completion.0.tool_calls.0.name": "search",
            "gen_ai.completion.0.tool_calls.0.arguments": '{"q": "wh', "llm.request.functions.0.name": "search",
            "llm.request.functions.0.parameters": '{"type": "object"}', "gen_ai.usage.prompt_tokens": 9,
            "gen_ai.usage.completion_tokens": "30",
        }
    )  # fmt: skip
    assert (told.content.system, [message.text for message in told.content.input or ()]) == ("Be brief.", ["Why?"])
    assert [(asked.name, asked.raw) for asked in told.content.calls or ()] == [("search", '{"q": "wh')]
    assert told.content.tools[0].schema == {"type": "object"}
    assert [word.raw for word in told.words] == ["length"]
    assert told.usage is not None
    assert (told.usage.input_tokens, told.usage.output_tokens) == (9, 30)


def test_messages_are_read_from_events_on_the_span_and_in_the_log() -> None:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Because."}}
    on_span = call(
        SpanEvent("gen_ai.user.message", {"content": "Why?"}), SpanEvent("gen_ai.choice", choice),
        gen_ai__system="openai", gen_ai__request__model="gpt-4o",
    )  # fmt: skip
    in_log = seen(
        span(gen_ai__operation__name="chat", gen_ai__request__model="gpt-4o"),
        [
            LogEvent("1" * 32, "2" * 16, "gen_ai.choice", {"body": choice}),
            LogEvent("1" * 32, "2" * 16, "gen_ai.user.message", {"body": {"content": "Why?"}}),
        ],
    )
    for told in (on_span, in_log):
        assert isinstance(told, ModelCall)
        assert (told.content.text, [word.raw for word in told.words]) == ("Because.", ["stop"])
        assert [(message.role, message.text) for message in told.content.input or ()] == [(Role.USER, "Why?")]


def test_a_reason_is_read_in_the_singular_and_as_json() -> None:
    for attributes in (
        {"gen_ai.response.finish_reason": "length"},
        {"gen_ai.response.finish_reasons": '["length"]'},
        {"gen_ai.response.finish_reasons": ["length"]},
    ):
        told = call(**attributes, gen_ai__operation__name="chat")
        assert [word.raw for word in told.words] == ["length"]


def test_an_empty_reason_counts_as_none() -> None:
    assert call(gen_ai__operation__name="chat", gen_ai__response__finish_reasons=[""]).words == ()


def test_a_call_that_langchain_could_not_parse_is_found_in_the_complete_answer() -> None:
    broken = {"id": "call_1", "name": "search", "args": '{"q": "wh', "error": "cut"}
    kwargs = {"content": "", "tool_calls": [], "invalid_tool_calls": [broken]}
    message = {"lc": 1, "type": "constructor", "kwargs": kwargs}
    output = {"generations": [[{"text": "", "message": message, "generation_info": {"finish_reason": "length"}}]]}
    told = call(
        **{
            "openinference.span.kind": "LLM", "llm.model_name": "gpt-4o", "output.value": json.dumps(output),
            "llm.output_messages.0.message.role": "assistant",
        }
    )  # fmt: skip
    assert [(asked.name, asked.raw) for asked in told.content.calls or ()] == [("search", '{"q": "wh')]
    assert [word.raw for word in told.words] == ["length"]


def test_arguments_that_pydantic_ai_could_not_parse_are_unwrapped() -> None:
    part = {"type": "tool_call", "id": "call_1", "name": "search", "arguments": {"INVALID_JSON": '{"q": "wh'}}
    output = json.dumps([{"role": "assistant", "parts": [part], "finish_reason": "length"}])
    told = call(gen_ai__operation__name="chat", **{"gen_ai.output.messages": output})
    assert (told.content.calls or ())[0].raw == '{"q": "wh'


def test_the_end_of_a_stream_written_by_logfire_is_a_call_with_its_answer() -> None:
    answer = {"message": {"role": "assistant", "content": "Because."}, "finish_reason": "stop"}
    told = call(
        **{"logfire.span_type": "log", "gen_ai.request.model": "gpt-4o", "response_data": json.dumps(answer)},
    )
    assert told.content.text == "Because."
    pending = span(**{"logfire.span_type": "pending_span", "gen_ai.operation.name": "chat"})
    assert seen(pending) is None


def test_loops_and_tools_are_distinguished_and_other_operations_ignored() -> None:
    kinds = {
        ("gen_ai.operation.name", "invoke_agent"): Loop, ("traceloop.span.kind", "workflow"): Loop,
        ("openinference.span.kind", "AGENT"): Loop, ("openinference.span.kind", "TOOL"): ToolRun,
        ("gen_ai.operation.name", "execute_tool"): ToolRun, ("ai.operationId", "ai.streamText"): Loop,
        ("ai.operationId", "ai.workflowAgent.stream"): Loop,
    }  # fmt: skip
    for (name, value), kind in kinds.items():
        assert isinstance(seen(span(**{name: value})), kind)
    for operation in ("embeddings", "agent_step", "decide"):
        other = {"gen_ai.operation.name": operation, "gen_ai.request.model": "m", "gen_ai.usage.output_tokens": 1}
        assert seen(span(**other)) is None
    assert seen(span(**{"http.request.method": "POST"})) is None
    assert seen(span(**{"openinference.span.kind": "RETRIEVER"})) is None


def test_a_failure_is_classified_by_status_class_and_message() -> None:
    cases = [
        ({"http.response.status_code": 429, "error.type": "x"}, "rate_limit", 429),
        ({"error.type": "openai.APITimeoutError"}, "timeout", None),
        ({"error.type": "SomethingElse"}, "not_told", None),
    ]
    for attributes, kind, status in cases:
        error = call(gen_ai__operation__name="chat", **attributes).error
        assert error is not None
        assert (error.kind, error.status) == (kind, status)


@pytest.mark.parametrize(
    ("scope", "system"), [("strands.telemetry.tracer", ""), ("", "strands-agents"), ("my-service", "my-service")]
)
def test_content_blocks_in_bedrocks_format_are_read_from_events_of_strands(scope: str, system: str) -> None:
    answer = [
        {"reasoningContent": {"reasoningText": {"text": "Look it up."}}},
        {"text": "I look. "},
        {"toolUse": {"toolUseId": "call_1", "name": "search", "input": {"q": "why"}}},
    ]
    result = [{"toolResult": {"toolUseId": "call_0", "content": [{"text": "found"}]}}]
    events = (
        SpanEvent("gen_ai.user.message", {"content": json.dumps([{"text": "Why?"}])}),
        SpanEvent("gen_ai.tool.message", {"content": json.dumps(result)}),
        SpanEvent("gen_ai.choice", {"message": json.dumps(answer), "finish_reason": "tool_use"}),
    )
    told = seen(replace(span(*events, gen_ai__operation__name="chat", gen_ai__system=system), scope=scope))
    assert isinstance(told, ModelCall)
    assert [(message.role, message.text) for message in told.content.input or ()] == [
        (Role.USER, "Why?"),
        (Role.TOOL, "found"),
    ]
    assert (told.content.text, told.content.reasoning) == ("I look. ", "Look it up.")
    assert [(asked.id, asked.name, asked.raw) for asked in told.content.calls or ()] == [
        ("call_1", "search", '{"q":"why"}')
    ]


def test_json_text_stays_text() -> None:
    for text in ('[{"text":"a"},{"text":"b"}]', "[{}]"):
        message = {"role": "assistant", "content": text}
        in_attributes = call(
            gen_ai__operation__name="chat",
            gen_ai__input__messages=json.dumps([{"role": "user", "parts": [{"type": "text", "content": text}]}]),
            gen_ai__output__messages=json.dumps([message]),
        )
        in_events = call(
            SpanEvent("gen_ai.user.message", {"content": text}), SpanEvent("gen_ai.choice", {"message": message}),
            gen_ai__operation__name="chat", gen_ai__system="openai",
        )  # fmt: skip
        for told in (in_attributes, in_events):
            assert [one.text for one in told.content.input or ()] == [text]
            assert told.content.text == text


def test_reasoning_beside_openinferences_text_is_not_part_of_it() -> None:
    start = "llm.output_messages.0.message.contents"
    told = call(
        **{
            "openinference.span.kind": "LLM", "llm.request.model_name": "o4",
            f"{start}.0.message_content.type": "reasoning", f"{start}.0.message_content.text": "Hm.",
            f"{start}.1.message_content.type": "text", f"{start}.1.message_content.text": "Because.",
        }
    )  # fmt: skip
    assert (told.content.text, told.content.reasoning, told.model) == ("Because.", "Hm.", "o4")


def test_counts_and_limits_are_read_under_openai_like_names() -> None:
    told = call(
        **{
            "gen_ai.operation.name": "chat", "gen_ai.request.max_completion_tokens": 400,
            "gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 30,
            "gen_ai.usage.completion_tokens_details.reasoning_tokens": 20,
            "gen_ai.usage.prompt_tokens_details.cached_tokens": 4, "langsmith.request.streaming": True,
        }
    )  # fmt: skip
    assert told.usage is not None
    assert (told.max_tokens, told.usage.reasoning_tokens, told.usage.cached_tokens) == (400, 20, 4)
    assert told.stream


def test_a_generation_of_langfuse_is_a_call() -> None:
    answer = {"role": "assistant", "content": "Because.", "tool_calls": None}
    told = call(
        **{
            "langfuse.observation.type": "generation", "langfuse.observation.model.name": "gpt-4o",
            "langfuse.observation.model.parameters": json.dumps({"max_tokens": 60, "temperature": 1}),
            "langfuse.observation.input": json.dumps([{"role": "user", "content": "Why?"}]),
            "langfuse.observation.output": json.dumps(answer),
            "langfuse.observation.usage_details": json.dumps({"input": 9, "output": 60, "total": 69}),
        }
    )  # fmt: skip
    assert (told.model, told.max_tokens, told.content.text) == ("gpt-4o", 60, "Because.")
    assert told.usage is not None
    assert (told.usage.input_tokens, told.usage.output_tokens) == (9, 60)
    assert [message.text for message in told.content.input or ()] == ["Why?"]
    assert told.words == ()
    assert isinstance(seen(span(langfuse__observation__type="agent")), Loop)


def test_a_chat_model_of_mlflow_is_a_call_with_the_providers_own_reason() -> None:
    message = {"role": "assistant", "content": "Beca"}
    answer = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "choices": [{"finish_reason": "length", "message": message}],
    }
    told = call(
        **{
            "mlflow.spanType": '"CHAT_MODEL"', "mlflow.llm.model": "gpt-4o", "mlflow.llm.provider": "openai",
            "mlflow.spanInputs": json.dumps({"messages": [{"role": "user", "content": "Why?"}], "max_tokens": 60}),
            "mlflow.spanOutputs": json.dumps(answer),
            "mlflow.chat.tokenUsage": json.dumps({"input_tokens": 9, "output_tokens": 60, "total_tokens": 69}),
        }
    )  # fmt: skip
    assert (told.model, told.max_tokens, told.content.text) == ("gpt-4o", 60, "Beca")
    assert [word.raw for word in told.words] == ["length"]
    assert told.usage is not None
    assert (told.usage.input_tokens, told.usage.output_tokens) == (9, 60)
    assert [message.text for message in told.content.input or ()] == ["Why?"]
    assert isinstance(seen(span(mlflow__spanType='"TOOL"', mlflow__spanOutputs='"found"')), ToolRun)


def test_prompts_and_completions_are_read_in_langsmiths_format() -> None:
    lc = {"kwargs": {"content": "Beca", "tool_calls": []}}
    generations = {"generations": [[{"text": "Beca", "message": lc, "generation_info": {"finish_reason": "length"}}]]}
    for messages in ([{"role": "user", "content": "Why?"}], [[{"kwargs": {"type": "human", "content": "Why?"}}]]):
        told = call(
            **{
                "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o",
                "gen_ai.prompt": json.dumps({"messages": messages}), "gen_ai.completion": json.dumps(generations),
            }
        )  # fmt: skip
        assert [message.text for message in told.content.input or ()] == ["Why?"]
        assert (told.content.text, [word.raw for word in told.words]) == ("Beca", ["length"])


def test_a_complete_answer_of_googles_agent_kit_is_read() -> None:
    parts = [
        {"text": "Hm.", "thought": True},
        {"text": "Beca"},
        {"function_call": {"name": "search", "args": {"q": 1}}},
    ]
    told = call(
        **{
            "gen_ai.system": "gcp.vertex.agent", "gen_ai.request.model": "gemini-3",
            "gen_ai.response.finish_reasons": ["max_tokens"],
            "gcp.vertex.agent.llm_response": json.dumps({"content": {"parts": parts, "role": "model"}}),
        }
    )  # fmt: skip
    assert (told.content.text, told.content.reasoning) == ("Beca", "Hm.")
    assert [asked.name for asked in told.content.calls or ()] == ["search"]


def test_the_text_and_the_reason_of_a_langfuse_stream_are_read() -> None:
    told = call(
        **{
            "langfuse.observation.type": "generation", "langfuse.observation.model.name": "gpt-4o",
            "langfuse.observation.output": "Agents stop for", "langfuse.observation.metadata.finish_reason": '"length"',
        }
    )  # fmt: skip
    assert (told.content.text, told.content.calls) == ("Agents stop for", None)
    assert [word.raw for word in told.words] == ["length"]


def test_bedrocks_limit_name_is_read_from_openinferences_parameters() -> None:
    told = call(**{"openinference.span.kind": "LLM", "llm.invocation_parameters": '{"maxTokens": 60}'})
    assert told.max_tokens == 60


def test_a_llama_index_method_that_only_prepares_the_request_is_not_a_call() -> None:
    told = span(openinference__span__kind="LLM", llm__model_name="m")
    assert seen(replace(told, name="OpenAILike._prepare_chat_with_tools")) is None
    assert isinstance(seen(replace(told, name="OpenAILike.chat")), ModelCall)


def test_a_langgraph_step_with_agent_in_its_name_is_not_an_agent() -> None:
    about = {"openinference.span.kind": "AGENT", "metadata": json.dumps({"langgraph_node": "agent"})}
    step = seen(replace(span(**about), name="agent"))
    helper = seen(replace(span(**about), name="reviewer"))
    assert isinstance(step, Loop)
    assert isinstance(helper, Loop)
    assert [step.is_agent, helper.is_agent] == [False, True]


def test_counts_of_zero_beside_an_answer_are_unknown() -> None:
    zeros = {"llm.token_count.prompt": 0, "llm.token_count.completion": 0, "openinference.span.kind": "LLM"}
    said = {"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "Because."}
    assert call(**zeros, **said).usage is None
    silent = call(**zeros).usage
    assert silent is not None
    assert silent.output_tokens == 0


@pytest.mark.parametrize(
    "written",
    [
        {"generations": [[{"text": "", "message": {"kwargs": {"additional_kwargs": {"refusal": "No."}}}}]]},
        [{"role": "assistant", "content": None, "refusal": "No."}],
    ],
)
def test_a_refusal_written_by_langchain_or_openais_agents_kit_is_a_refusal(written: Any) -> None:
    told = call(**{"openinference.span.kind": "LLM", "llm.model_name": "m", "output.value": json.dumps(written)})
    assert told.content.refusal == "No."


def test_the_stack_trace_after_an_error_is_not_part_of_its_message() -> None:
    message = "RateLimitError('Error code: 429')Traceback (most recent call last):\n  File 'client.py'"
    failed = seen(replace(span(**{"openinference.span.kind": "LLM"}), failed=True, message=message))
    assert isinstance(failed, ModelCall)
    assert failed.error is not None
    assert (failed.error.message, failed.error.status) == ("RateLimitError('Error code: 429')", 429)


def test_messages_without_recorded_content_are_unknown_and_not_empty() -> None:
    """As `opentelemetry-instrumentation-openai-v2` sends them, which records no content unless it is told to."""
    named = {"gen_ai__operation__name": "chat", "gen_ai__request__model": "gpt-4o"}
    function = {"id": "c1", "type": "function", "function": {"name": "look"}}
    answered = call(
        SpanEvent("gen_ai.user.message", {}),
        SpanEvent("gen_ai.choice", {"index": 0, "finish_reason": "stop", "message": {"role": "assistant"}}),
        **named,
    )
    assert (answered.content.answered, answered.content.input) == (False, None)
    assert [word.raw for word in answered.words] == ["stop"]
    later = call(
        SpanEvent("gen_ai.user.message", {}),
        SpanEvent("gen_ai.assistant.message", {"body": {"tool_calls": [function]}}),
        SpanEvent("gen_ai.tool.message", {"body": {"id": "c1"}}),
        **named,
    )
    assert [(one.role, one.text) for one in later.content.input or ()] == [
        (Role.ASSISTANT, ""),
        (Role.TOOL, "[The tool's result was not recorded.]"),
    ]


REFUSED = {"role": "assistant", "content": None, "refusal": "No."}


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.refusal": "No."},
        {"gen_ai.output.messages": json.dumps([REFUSED])},
        {"gen_ai.output.messages": json.dumps([{"parts": [{"type": "refusal", "content": "No."}]}])},
        {"response_data": json.dumps({"message": REFUSED, "usage": None})},
        {
            "openinference.span.kind": "LLM", "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.contents.0.message_content.type": "refusal",
            "llm.output_messages.0.message.contents.0.message_content.refusal": "No.",
        },
        {
            "openinference.span.kind": "LLM", "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.refusal": "No.",
        },
    ],
)  # fmt: skip
def test_a_refusal_is_read_from_every_position_of_an_export(attributes: dict[str, Any]) -> None:
    stopped = {"gen_ai.response.finish_reasons": ["stop"], "gen_ai.operation.name": "chat"}
    answer = answer_of(call(**stopped, **attributes))
    assert (answer.refusal, answer.stop_reason) == ("No.", NormalizedStopReason.SAFETY_BLOCKED)


def test_a_refusal_in_an_older_event_is_read() -> None:
    choice = SpanEvent("gen_ai.choice", {"index": 0, "finish_reason": "stop", "message": REFUSED})
    answer = answer_of(call(choice, gen_ai__operation__name="chat", gen_ai__request__model="m"))
    assert (answer.refusal, answer.stop_reason) == ("No.", NormalizedStopReason.SAFETY_BLOCKED)
