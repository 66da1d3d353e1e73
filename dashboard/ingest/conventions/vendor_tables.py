"""The conventions of single products, each as a table."""

from dashboard.ingest.conventions.convention import Convention, Kind

LANGFUSE = Convention(
    "Langfuse",
    ("langfuse.observation.type",),
    {"generation": Kind.CALL, "agent": Kind.AGENT, "chain": Kind.CHAIN, "tool": Kind.TOOL},
    {
        "model": ("langfuse.observation.model.name",),
        "parameters": ("langfuse.observation.model.parameters",),
        "words": ("langfuse.observation.metadata.finish_reason",),
        "usage": ("langfuse.observation.usage_details",),
        "result": ("langfuse.observation.output",),
    },
)

MLFLOW = Convention(
    "MLflow",
    ("mlflow.spanType",),
    {"chat_model": Kind.CALL, "llm": Kind.CALL, "agent": Kind.AGENT, "chain": Kind.CHAIN, "tool": Kind.TOOL},
    {
        "provider": ("mlflow.llm.provider", "mlflow.message.format"),
        "model": ("mlflow.llm.model",),
        "parameters": ("invocation_params", "mlflow.spanInputs"),
        "words": (),
        "usage": ("mlflow.chat.tokenUsage",),
        "result": ("mlflow.spanOutputs",),
    },
)

#: Its facts stand in JSON, from which `content.haystack` takes them under these names.
HAYSTACK = Convention(
    "Haystack",
    (),
    {
        "haystack.component.run": Kind.CALL,  # if it is a generator
        "haystack.chat_generator.run": Kind.CALL,
        "haystack.agent.step.llm": Kind.CALL,
        "haystack.agent.step.tool": Kind.TOOL,
        "haystack.agent.run": Kind.AGENT,
        "haystack.pipeline.run": Kind.CHAIN,
    },
    {
        "provider": ("haystack.provider",),
        "model": ("haystack.model",),
        "parameters": ("haystack.generation_kwargs",),
        "stream": ("haystack.stream",),
        "words": ("haystack.exit_reason",),
        "usage": ("haystack.usage",),
        "tool": ("haystack.tool.name",),
        "result": ("haystack.agent.step.tool.output",),
    },
)

#: The span of a call holds every request of a loop. Its answer's text stands on the agent's span.
VOLTAGENT = Convention(
    "VoltAgent",
    ("span.type", "entity.type"),
    {"llm": Kind.CALL, "agent": Kind.AGENT, "workflow": Kind.CHAIN, "tool": Kind.TOOL},
    {
        "provider": ("llm.provider", "ai.model.provider"),
        "model": ("llm.model", "ai.model.name"),
        "max_tokens": ("llm.max_output_tokens", "ai.model.max_tokens"),
        "stream": ("llm.stream",),
        "agent": ("entity.name",),
        "words": ("llm.finish_reason", "ai.response.finish_reason"),
        "input_tokens": ("llm.usage.prompt_tokens", "usage.prompt_tokens"),
        "output_tokens": ("llm.usage.completion_tokens", "usage.completion_tokens"),
        "reasoning_tokens": ("llm.usage.reasoning_tokens", "usage.reasoning_tokens"),
        "cached_tokens": ("llm.usage.cached_tokens", "usage.cached_tokens"),
        "tool": ("tool.name",),
        "call_id": ("tool.call.id",),
        "result": ("output",),
    },
    scope="@voltagent/",
)

#: A step of a loop, around the span of its one call, which has neither the messages nor the tool calls. Releases of the
#: exporter before 1.0 have no such attributes, and one span for all calls of a loop.
MASTRA = Convention(
    "Mastra",
    (),
    {
        "mastra.model_step.input": Kind.CALL,
        "mastra.model_step.output": Kind.CALL,
        "mastra.model_chunk.output": Kind.ASKED,  # if it has a tool's input
    },
    {"words": ()},
)

#: What Braintrust's SDKs for Go, Java, Ruby and .NET write; those for Python and JavaScript write no spans.
BRAINTRUST = Convention(
    "Braintrust",
    ("braintrust.span_attributes",),
    {'{"type":"llm"}': Kind.CALL, '{"type":"tool"}': Kind.TOOL},
    {
        "parameters": ("braintrust.metadata",),
        "words": (),
        "usage": ("braintrust.metrics",),
        "result": ("braintrust.output_json",),
    },
)

#: What AgentOps writes for what is marked as an agent or a tool. Calls are in older GenAI conventions.
AGENTOPS = Convention(
    "AgentOps",
    ("agentops.span.kind",),
    {"agent": Kind.AGENT, "session": Kind.CHAIN, "workflow": Kind.CHAIN, "tool": Kind.TOOL},
    {"agent": ("operation.name",), "words": (), "tool": ("operation.name",), "result": ("agentops.tool.output",)},
)

#: What AgentOps writes for each tool call of OpenAI's answer, within the span of the call, which has none of them.
AGENTOPS_ASKED = Convention(
    "AgentOps",
    ("tool.call.type",),
    {"function": Kind.ASKED},
    {"tool": ("tool.name",), "call_id": ("tool.call.id",), "arguments": ("tool.parameters",)},
    scope="agentops.",
)

#: What Laminar writes for functions that are marked as tools. Calls are OpenLLMetry's.
LAMINAR = Convention(
    "Laminar", ("lmnr.span.type",), {"tool": Kind.TOOL}, {"words": (), "result": ("lmnr.span.output",)}
)

#: OpenInference under other names, of which `TRACEAI_NAMES` has the beginnings.
TRACEAI = Convention(
    "traceAI",
    ("gen_ai.span.kind",),
    {"llm": Kind.CALL, "agent": Kind.AGENT, "chain": Kind.CHAIN, "tool": Kind.TOOL},
    {},
    scope="traceai_",
)
TRACEAI_NAMES: tuple[tuple[str, str], ...] = (
    ("gen_ai.span.kind", "openinference.span.kind"),
    ("gen_ai.request.parameters", "llm.invocation_parameters"),
    ("gen_ai.input.messages.", "llm.input_messages."),
    ("gen_ai.output.messages.", "llm.output_messages."),
    ("gen_ai.tool.definitions.", "llm.tools."),
)

#: What LangWatch's SDK writes for what is marked as an agent or a tool, and for calls of the clients that it tracks.
LANGWATCH = Convention(
    "LangWatch",
    ("langwatch.span.type",),
    {"llm": Kind.CALL, "agent": Kind.AGENT, "workflow": Kind.CHAIN, "chain": Kind.CHAIN, "tool": Kind.TOOL},
    {
        "model": ("gen_ai.request.model",),
        "parameters": ("langwatch.params",),
        "words": (),
        "usage": ("langwatch.metrics",),
        "result": ("langwatch.output",),
    },
)
