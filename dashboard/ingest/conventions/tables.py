"""The conventions that many instrumentations share, each as a table; those of single products are in `vendor_tables`.

Names stand newest first; the first that a span has counts. Read against the recorded exports of each instrumentation.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from dashboard.ingest.conventions.convention import Convention, Kind, Names
from dashboard.ingest.conventions.vendor_tables import (
    AGENTOPS,
    AGENTOPS_ASKED,
    BRAINTRUST,
    LAMINAR,
    LANGFUSE,
    LANGWATCH,
    MLFLOW,
    TRACEAI,
    VOLTAGENT,
)

#: What LangSmith writes on each span of an agent of LangChain's.
NAME_OF_LANGCHAIN = "langsmith.metadata.lc_agent_name"

VERCEL = Convention(
    "Vercel AI SDK",
    ("ai.operationId",),
    {
        "ai.generatetext.dogenerate": Kind.CALL,
        "ai.streamtext.dostream": Kind.CALL,
        "ai.generateobject.dogenerate": Kind.CALL,
        "ai.streamobject.dostream": Kind.CALL,
        "ai.generatetext": Kind.AGENT,
        "ai.streamtext": Kind.AGENT,
        "ai.generateobject": Kind.AGENT,
        "ai.streamobject": Kind.AGENT,
        "ai.workflowagent.stream": Kind.AGENT,
        "ai.toolcall": Kind.TOOL,
    },
    {
        "provider": ("ai.model.provider", "gen_ai.system"),
        "model": ("ai.model.id", "gen_ai.request.model", "ai.response.model"),
        "max_tokens": ("ai.settings.maxOutputTokens", "ai.settings.maxTokens", "gen_ai.request.max_tokens"),
        "response_id": ("ai.response.id", "gen_ai.response.id"),
        "agent": ("ai.telemetry.functionId", "resource.name"),
        "words": ("ai.response.finishReason", "gen_ai.response.finish_reasons"),
        "input_tokens": ("ai.usage.inputTokens", "ai.usage.promptTokens", "gen_ai.usage.input_tokens"),
        "output_tokens": ("ai.usage.outputTokens", "ai.usage.completionTokens", "gen_ai.usage.output_tokens"),
        "reasoning_tokens": ("ai.usage.reasoningTokens", "ai.usage.outputTokenDetails.reasoningTokens"),
        "cached_tokens": ("ai.usage.cachedInputTokens", "ai.usage.inputTokenDetails.cacheReadTokens"),
        "first_token_ms": ("ai.response.msToFirstChunk",),
        "tool": ("ai.toolCall.name",),
        "call_id": ("ai.toolCall.id",),
        "result": ("ai.toolCall.result",),
    },
)

OPENINFERENCE = Convention(
    "OpenInference",
    ("openinference.span.kind",),
    {"llm": Kind.CALL, "agent": Kind.AGENT, "chain": Kind.CHAIN, "tool": Kind.TOOL},
    {
        # Of a span that another instrumentation began, OpenInference for Google's agent kit says “google” of any model.
        "provider": ("gen_ai.provider.name", "llm.provider", "llm.system", "gen_ai.system"),
        "model": ("llm.model_name", "llm.response.model_name", "llm.request.model_name", "gen_ai.request.model"),
        "max_tokens": ("gen_ai.request.max_tokens",),
        "parameters": ("llm.invocation_parameters",),
        "response_id": ("gen_ai.response.id",),
        "agent": ("agent.name", "gen_ai.agent.name"),
        "node": ("graph.node.name", "graph.node.id"),
        "words": ("llm.finish_reason", "llm.response.finish_reason", "gen_ai.response.finish_reasons"),
        "input_tokens": ("llm.token_count.prompt", "gen_ai.usage.input_tokens"),
        "output_tokens": ("llm.token_count.completion", "gen_ai.usage.output_tokens"),
        "reasoning_tokens": ("llm.token_count.completion_details.reasoning",),
        "cached_tokens": (
            "llm.token_count.prompt_details.cache_read",
            "llm.token_count.prompt_details.cache_input",
        ),
        "tool": ("tool.name",),
        "call_id": ("tool_call.id", "tool.id"),
        "result": ("output.value",),
    },
)

GENAI = Convention(
    "OpenTelemetry GenAI",
    ("gen_ai.operation.name", "llm.request.type", "traceloop.span.kind", "gen_ai.request.type"),
    {
        "chat": Kind.CALL,
        "text_completion": Kind.CALL,
        "completion": Kind.CALL,
        "generate_content": Kind.CALL,
        "responses": Kind.CALL,
        "invoke_agent": Kind.AGENT,
        "agent": Kind.AGENT,
        "invoke_workflow": Kind.CHAIN,
        "workflow": Kind.CHAIN,
        "chain": Kind.CHAIN,  # LangSmith
        "execute_tool": Kind.TOOL,
        "tool": Kind.TOOL,
    },
    {
        "provider": ("gen_ai.provider.name", "gen_ai.system"),
        "model": ("gen_ai.request.model", "gen_ai.response.model", "llm.request.model"),
        "max_tokens": (
            "gen_ai.request.max_tokens",
            "gen_ai.request.max_completion_tokens",
            "llm.request.max_tokens",
            "langsmith.metadata.ls_max_tokens",
        ),
        "response_id": ("gen_ai.response.id",),
        "agent": ("gen_ai.agent.name", "agent_name", "traceloop.entity.name", NAME_OF_LANGCHAIN),
        "words": (
            "anthropic.message.stop_reason",
            "gen_ai.response.finish_reasons",
            "gen_ai.response.finish_reason",
            "gen_ai.response.stop_reason",
            "llm.response.finish_reason",
            "llm.response.stop_reason",
        ),
        "input_tokens": ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.usage.prompt_tokens"),
        "output_tokens": (
            "gen_ai.usage.output_tokens",
            "gen_ai.usage.completion_tokens",
            "llm.usage.completion_tokens",
        ),
        "reasoning_tokens": (
            "gen_ai.usage.reasoning.output_tokens",
            "gen_ai.usage.reasoning_tokens",
            "gen_ai.usage.details.reasoning_tokens",
            "gen_ai.usage.completion_tokens_details.reasoning_tokens",
            "llm.usage.reasoning_tokens",
        ),
        "cached_tokens": (
            "gen_ai.usage.cache_read.input_tokens",
            "gen_ai.usage.cache_read_input_tokens",
            "gen_ai.usage.details.cache_read_tokens",
            "gen_ai.usage.prompt_tokens_details.cached_tokens",
            "llm.usage.cache_read_input_tokens",
        ),
        "stream": (
            "gen_ai.request.stream",
            "gen_ai.request.is_stream",
            "gen_ai.request.streaming",
            "gen_ai.is_streaming",
            "llm.is_streaming",
            "langsmith.request.streaming",
        ),
        "first_token": ("gen_ai.response.time_to_first_chunk",),
        "tool": ("gen_ai.tool.name", "traceloop.entity.name"),
        "call_id": ("gen_ai.tool.call.id",),
        "result": (
            "gen_ai.tool.call.result",
            "gen_ai.tool.message",
            "gen_ai.tool.output",
            "gcp.vertex.agent.tool_response",
            "tool_response",
            "gen_ai.completion",
        ),
    },
)

#: A span may carry names of several; the first convention that can tell what it is reads it.
CONVENTIONS = (
    VERCEL, OPENINFERENCE, GENAI, LANGFUSE, MLFLOW, VOLTAGENT, LANGWATCH, AGENTOPS_ASKED, AGENTOPS, LAMINAR, BRAINTRUST,
    TRACEAI,
)  # fmt: skip

#: In the names of OpenInference's instrumentations that write a call's arguments anew of an object, which may have been
#: closed where the answer was cut. The others write the provider's own text.
REBUILDING: Names = ("langchain", "llama_index", "anthropic", "google", "vertexai", "bedrock", "smolagents")

#: Without an operation's name, as older instrumentations write it: a span with one of these is a call.
OLDER_CALL: Names = (
    "gen_ai.response.finish_reasons",
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "gen_ai.completion.0.role",
    "gen_ai.completion.0.content",
    "response_data",
)
OLDER_MODEL: Names = ("gen_ai.request.model", "llm.request.model")
#: Operations on a model that are no turns: what is not here and not above has no operation's name.
NOT_TURNS = frozenset({
    "agent_step", "create_agent", "decide", "embedding", "embeddings", "execute_task", "rerank", "retrieval", "task",
})  # fmt: skip

#: How the names of spans end that only make a request ready. LlamaIndex marks every method of its models as a call.
NO_CALLS: Names = ("prepare_chat_with_tools",)
#: An attribute of the spans that OpenInference for BeeAI writes for each event of a call, an agent or a tool, such as a
#: token of a stream, with the kind of what it happened in.
OF_EVENT = ("openinference.instrumentation.beeai", "metadata.path")


@dataclass(frozen=True, slots=True)
class InventedEnd:
    """A stop reason that an instrumentation writes for every answer of a kind, with counts of its own. `scope`: the
    instrumentation's; `kind`: the attribute that is true for those answers."""

    scope: str
    kind: str
    word: str


#: OpenLIT 1.34 has this scope, and writes Anthropic's own words into it; later releases have another.
INVENTED = (InventedEnd("openlit.otel.tracing", "gen_ai.request.is_stream", "stop"),)
#: Words that an instrumentation also writes for reasons that it has no word for, by how its scope's name begins.
LUMPED: Mapping[str, tuple[str, str]] = {
    "strands": ("end_turn", "Strands writes “end_turn” also for other stop reasons, such as a content filter."),
}

#: What the trace calls a provider, by words in its name, and the dialect it speaks. The first that fits counts.
DIALECTS: tuple[tuple[str, str], ...] = (
    ("bedrock", "bedrock"),
    ("anthropic", "anthropic"),
    ("claude", "anthropic"),
    ("aws", "bedrock"),
    ("amazon", "bedrock"),
    ("gemini", "gemini"),
    ("vertex", "gemini"),
    ("google", "gemini"),
    ("gcp.", "gemini"),
    ("cohere", "cohere"),
    ("ollama", "ollama"),
    ("responses", "openai_responses"),
)
DEFAULT_DIALECT = "openai"


def dialect_of(provider: str) -> str:
    """The dialect of a provider; most of them speak OpenAI's."""
    folded = provider.casefold()
    return next((dialect for word, dialect in DIALECTS if word in folded), DEFAULT_DIALECT)
