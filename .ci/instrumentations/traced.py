"""All cases through one instrumentation, with its client unmodified: `traced.py INSTRUMENTATION`.

Runs in the client's own environment. The addresses and keys come from the variables that the clients and OpenTelemetry
read themselves. Prints each case with the id of its trace.
"""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

QUESTION = "Why do agents stop?"
CAP, CALL_CAP = 60, 30  #: tokens, which cut the essay and the call
SUMS = {"6 * 7": "42", "2 ** 10": "1024"}
SCHEMA = {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]}
#: The model and the options of a case.
CASES: Mapping[str, tuple[str, dict[str, Any]]] = {
    "ok": ("sim-essay", {}),
    "trunc": ("sim-essay", {"max_tokens": CAP}),
    "cuttool": ("sim-cut-tool", {"max_tokens": CALL_CAP, "tools": True}),
    "refusal": ("sim-refuse", {}),
    "error": ("sim-429", {}),
    "agent": ("sim-tools", {"tools": True}),
}
STREAMED = ("trunc", "cuttool")
UNSTREAMED = {"openinference-agents", "openllmetry-agents"}  #: their client has no stream of a single answer
#: The module and the class of an instrumentor; where there is none, the client is instrumented by `logfire`.
INSTRUMENTORS = {
    "otel-openai": ("opentelemetry.instrumentation.openai_v2", "OpenAIInstrumentor"),
    "openinference-openai": ("openinference.instrumentation.openai", "OpenAIInstrumentor"),
    "openinference-responses": ("openinference.instrumentation.openai", "OpenAIInstrumentor"),
    "openllmetry-openai": ("opentelemetry.instrumentation.openai", "OpenAIInstrumentor"),
    "openinference-anthropic": ("openinference.instrumentation.anthropic", "AnthropicInstrumentor"),
    "openllmetry-anthropic": ("opentelemetry.instrumentation.anthropic", "AnthropicInstrumentor"),
    "openinference-langchain": ("openinference.instrumentation.langchain", "LangChainInstrumentor"),
    "openllmetry-langchain": ("opentelemetry.instrumentation.langchain", "LangchainInstrumentor"),
    "openinference-agents": ("openinference.instrumentation.openai_agents", "OpenAIAgentsInstrumentor"),
    "openllmetry-agents": ("opentelemetry.instrumentation.openai_agents", "OpenAIAgentsInstrumentor"),
    "otel-google": ("opentelemetry.instrumentation.google_genai", "GoogleGenAiSdkInstrumentor"),
    "openinference-google": ("openinference.instrumentation.google_genai", "GoogleGenAIInstrumentor"),
    "openinference-litellm": ("openinference.instrumentation.litellm", "LiteLLMInstrumentor"),
}


def calculator(expression: str) -> str:
    """Works out an expression."""
    return SUMS.get(expression, "0")


def asked_of_openai(model: str, options: dict[str, Any], stream: bool) -> None:
    import openai

    client = openai.OpenAI(max_retries=0, timeout=30)
    tools = [{"type": "function", "function": {"name": "calculator", "description": "Sums.", "parameters": SCHEMA}}]
    more = {**options, "tools": tools} if options.pop("tools", False) else options
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    if stream:
        list(
            client.chat.completions.create(
                model=model, messages=messages, stream=True, stream_options={"include_usage": True}, **more
            )
        )
        return
    answer = client.chat.completions.create(model=model, messages=messages, **more).choices[0]
    while answer.finish_reason == "tool_calls":
        messages.append(answer.message.model_dump(exclude_none=True))
        calls = answer.message.tool_calls or ()
        messages += [{"role": "tool", "tool_call_id": call.id, "content": "42"} for call in calls]
        answer = client.chat.completions.create(model=model, messages=messages, **more).choices[0]


def asked_of_responses(model: str, options: dict[str, Any], stream: bool) -> None:
    import openai

    client = openai.OpenAI(max_retries=0, timeout=30)
    more: dict[str, Any] = {}
    if "max_tokens" in options:
        more["max_output_tokens"] = options["max_tokens"]
    if options.get("tools"):
        more["tools"] = [{"type": "function", "name": "calculator", "parameters": SCHEMA, "strict": False}]
    asked: list[Any] = [{"role": "user", "content": QUESTION}]
    if stream:
        list(client.responses.create(model=model, input=asked, stream=True, **more))
        return
    answer = client.responses.create(model=model, input=asked, **more)
    while answer.status == "completed" and (calls := [item for item in answer.output if item.type == "function_call"]):
        asked += [item.model_dump(exclude_none=True) for item in answer.output]
        asked += [{"type": "function_call_output", "call_id": call.call_id, "output": "42"} for call in calls]
        answer = client.responses.create(model=model, input=asked, **more)


def asked_of_anthropic(model: str, options: dict[str, Any], stream: bool) -> None:
    import anthropic

    client = anthropic.Anthropic(max_retries=0, timeout=30)
    more: dict[str, Any] = {"max_tokens": options.get("max_tokens", 4_000)}
    if options.get("tools"):
        more["tools"] = [{"name": "calculator", "description": "Sums.", "input_schema": SCHEMA}]
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    if stream:
        list(client.messages.create(model=model, messages=messages, stream=True, **more))
        return
    answer = client.messages.create(model=model, messages=messages, **more)
    while answer.stop_reason == "tool_use":
        messages.append({"role": "assistant", "content": [block.model_dump() for block in answer.content]})
        calls = [block for block in answer.content if block.type == "tool_use"]
        results = [{"type": "tool_result", "tool_use_id": call.id, "content": "42"} for call in calls]
        messages.append({"role": "user", "content": results})
        answer = client.messages.create(model=model, messages=messages, **more)


def asked_of_google(model: str, options: dict[str, Any], stream: bool) -> None:
    from google import genai
    from google.genai import types

    by_hand = types.AutomaticFunctionCallingConfig(disable=True)
    config = types.GenerateContentConfig(
        max_output_tokens=options.get("max_tokens"),
        tools=[calculator] if options.get("tools") else None,
        automatic_function_calling=by_hand,
    )
    client = genai.Client()  # closed once nothing holds it
    models = client.models
    contents: list[Any] = [types.Content(role="user", parts=[types.Part(text=QUESTION)])]
    if stream:
        list(models.generate_content_stream(model=model, contents=contents, config=config))
        return
    answer = models.generate_content(model=model, contents=contents, config=config)
    while calls := answer.function_calls:
        results = [
            types.Part(function_response=types.FunctionResponse(id=call.id, name=call.name, response={"result": "42"}))
            for call in calls
        ]
        contents += [answer.candidates[0].content, types.Content(role="user", parts=results)]
        answer = models.generate_content(model=model, contents=contents, config=config)


def asked_of_langchain(model: str, options: dict[str, Any], stream: bool) -> None:
    from langchain_core.messages import HumanMessage
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI

    kit = [tool(calculator)] if options.pop("tools", False) else []
    chat: Any = ChatOpenAI(model=model, max_retries=0, timeout=30, stream_usage=True, **options)
    if kit:
        chat = chat.bind_tools(kit)
    messages: list[Any] = [HumanMessage(QUESTION)]
    if stream:
        list(chat.stream(messages))
        return
    answer = chat.invoke(messages)
    while answer.tool_calls and answer.response_metadata["finish_reason"] == "tool_calls":
        messages += [answer, *(kit[0].invoke(call) for call in answer.tool_calls)]
        answer = chat.invoke(messages)


def asked_of_agents(model: str, options: dict[str, Any], stream: bool) -> None:  # noqa: ARG001 - it has none
    from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, Runner, function_tool
    from openai import AsyncOpenAI

    client = AsyncOpenAI(max_retries=0, timeout=30)
    agent = Agent(
        name="reader",
        model=OpenAIChatCompletionsModel(model=model, openai_client=client),
        model_settings=ModelSettings(max_tokens=options.get("max_tokens")),
        tools=[function_tool(calculator)] if options.get("tools") else [],
    )
    Runner.run_sync(agent, QUESTION, max_turns=3)


def asked_of_pydantic_ai(model: str, options: dict[str, Any], stream: bool) -> None:
    from openai import AsyncOpenAI
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    chat = OpenAIChatModel(model, provider=OpenAIProvider(openai_client=AsyncOpenAI(max_retries=0, timeout=30)))
    agent = Agent(chat, name="reader", tools=[calculator] if options.pop("tools", False) else [], retries=0)
    if stream:
        with agent.run_stream_sync(QUESTION, model_settings=options) as result:
            list(result.stream_text())
        return
    agent.run_sync(QUESTION, model_settings=options)


def asked_of_litellm(model: str, options: dict[str, Any], stream: bool) -> None:
    import litellm

    if options.pop("tools", False):
        about = {"name": "calculator", "description": "Sums.", "parameters": SCHEMA}
        options["tools"] = [{"type": "function", "function": about}]
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    more = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
    while True:
        answer = litellm.completion(model=f"openai/{model}", messages=messages, max_retries=0, **options, **more)
        if stream:
            list(answer)
            return
        choice = answer.choices[0]
        if choice.finish_reason != "tool_calls":
            return
        messages.append(choice.message.model_dump(exclude_none=True))
        calls = choice.message.tool_calls
        messages += [{"role": "tool", "tool_call_id": call.id, "content": "42"} for call in calls]


def asked_of_haystack(model: str, options: dict[str, Any], stream: bool) -> None:
    from haystack import Pipeline
    from haystack.components.agents import Agent
    from haystack.components.generators.chat import OpenAIChatGenerator
    from haystack.dataclasses import ChatMessage
    from haystack.tools import create_tool_from_function

    kit = [create_tool_from_function(calculator)] if options.pop("tools", False) else None
    listen = (lambda _piece: None) if stream else None
    chat = OpenAIChatGenerator(
        model=model, generation_kwargs=options, max_retries=0, timeout=30, streaming_callback=listen
    )
    asked = [ChatMessage.from_user(QUESTION)]
    if kit and not stream:
        Agent(chat_generator=chat, tools=kit).run(messages=asked)
        return
    pipeline = Pipeline()
    pipeline.add_component("chat", chat)
    pipeline.run({"chat": {"messages": asked, "tools": kit}})


ASKED: Mapping[str, Callable[[str, dict[str, Any], bool], None]] = {
    "openai": asked_of_openai,
    "responses": asked_of_responses,
    "anthropic": asked_of_anthropic,
    "langchain": asked_of_langchain,
    "agents": asked_of_agents,
    "google": asked_of_google,
    "haystack": asked_of_haystack,
    "litellm": asked_of_litellm,
    "pydantic_ai": asked_of_pydantic_ai,
}


def instrumented(name: str) -> Any:
    """The provider of tracers through which the instrumentation sends."""
    if name.startswith("logfire-"):
        import logfire

        logfire.configure(send_to_logfire=False, console=False)
        getattr(logfire, f"instrument_{name.removeprefix('logfire-')}")()
        return None
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    if name.endswith("-agents"):
        from agents import set_trace_processors

        set_trace_processors([])  # its own exporter sends to the provider
    if name == "own-haystack":
        from haystack import tracing
        from haystack_integrations.tracing.opentelemetry import OpenTelemetryTracer

        tracing.enable_tracing(OpenTelemetryTracer(trace.get_tracer("haystack")))
        return provider
    module, class_ = INSTRUMENTORS[name]
    getattr(importlib.import_module(module), class_)().instrument(tracer_provider=provider)
    return provider


def main(name: str) -> None:
    from opentelemetry import trace

    provider = instrumented(name)
    ask = ASKED[name.partition("-")[2]]
    for case in (*CASES, *(f"{case}-stream" for case in STREAMED if name not in UNSTREAMED)):
        model, options = CASES[case.removesuffix("-stream")]
        with trace.get_tracer("whystop").start_as_current_span("work") as work:
            sys.stdout.write(f"traced {case} {work.get_span_context().trace_id:032x}\n")
            try:
                ask(model, {**options}, case.endswith("-stream"))
            except Exception as error:  # which some cases are for
                sys.stderr.write(f"{name} {case}: {type(error).__name__}: {error}\n")
    (provider or trace.get_tracer_provider()).force_flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
