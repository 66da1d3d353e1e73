"""A span with its log events → what it is: a call of a model, a loop around calls, a run of a tool; or nothing."""

import re
from collections.abc import Sequence
from typing import Any

from agentcore.messages import Message, Role, TokenUsage
from agentcore.values import replace
from dashboard.ingest.conventions.attributes import (
    as_count,
    count_of,
    first,
    read_json,
    seconds_of,
    text_of,
    usage_of,
    words_of,
)
from dashboard.ingest.conventions.content import (
    event_messages,
    haystack,
    indexed_attributes,
    parts,
    provider_json,
    stream_pieces,
    vercel,
)
from dashboard.ingest.conventions.content.account_merge import merged, unique
from dashboard.ingest.conventions.content.shapes import asked_call, mapping, words
from dashboard.ingest.conventions.convention import Convention, Kind
from dashboard.ingest.conventions.failures import failure_of, last_words_of, loop_failure_of
from dashboard.ingest.conventions.observations import AskedCall, Content, Loop, ModelCall, Seen, ToolCallSpan, ToolRun
from dashboard.ingest.conventions.span_kinds import kind_of, named_in
from dashboard.ingest.conventions.spans import Attributes, LogEvent, Span, SpanEvent
from dashboard.ingest.conventions.tables import (
    GENAI,
    INVENTED,
    NAME_OF_LANGCHAIN,
    OPENINFERENCE,
    REBUILDING,
    VERCEL,
)
from dashboard.ingest.conventions.vendor_tables import (
    HAYSTACK,
    LANGWATCH,
    MASTRA,
    MLFLOW,
    TRACEAI,
    TRACEAI_NAMES,
    VOLTAGENT,
)

_GIVEN = ("gen_ai.tool.call.arguments", "ai.toolCall.args", "input.value")  #: what a tool was called with
_ASKED = ("traceloop.entity.input", "input.value")  #: what an agent was asked, as a text
_WRAPPED = frozenset({"type", "value"})  #: LangWatch's form of any value
_LLAMA_INDEX_DEFAULT = 256
#: How a model's resource begins: Google's, on Vertex AI and elsewhere, and AWS's of a model that has a name.
_PATH = re.compile(
    r"^(?:(?:projects/[^/]+/locations/[^/]+/publishers/[^/]+|projects/[^/]+/locations/[^/]+|publishers/[^/]+)/models/"
    r"|arn:aws[\w-]*:bedrock:[^/]*:(?:foundation-model|inference-profile)/)(?=[^/]+$)"
)
_CAPS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens", "maxTokens", "num_predict")


def seen(span: Span, logs: Sequence[LogEvent] = ()) -> Seen | None:
    """What the span is; None where it is not about a model."""
    found = kind_of(span)
    if found is None:
        return None
    convention, kind = found
    if not span.attributes:
        span = replace(span, attributes=named_in(span))
    span = _with_logs(span, logs)
    if convention is TRACEAI:
        convention, span = OPENINFERENCE, replace(span, attributes=_named_anew(span.attributes))
    if convention is HAYSTACK:
        span = replace(span, attributes={**span.attributes, **haystack.facts(span.attributes)})
    match kind:
        case Kind.CALL:
            return _call(convention, span)
        case Kind.TOOL:
            return _tool(convention, span)
        case Kind.ASKED:
            return ToolCallSpan(span, vercel.asked_in_piece(span.attributes) or _asked(convention, span.attributes))
    return _loop(convention, span, is_agent=(kind is Kind.AGENT and not _is_node(span)) or _is_graph(span))


def _named_anew(attributes: Attributes) -> Attributes:
    """The attributes under OpenInference's names, where traceAI has others."""
    named = dict(attributes)
    for name, value in attributes.items():
        for theirs, ours in TRACEAI_NAMES:
            if name.startswith(theirs):
                named[ours + name.removeprefix(theirs)] = value
    return named


def _is_node(span: Span) -> bool:
    """Whether it is one step of LangGraph's, which OpenInference takes for an agent where its name has that word: the
    agent is the graph, which goes through such a node for each call."""
    return mapping(read_json(span.attributes.get("metadata"))).get("langgraph_node") == span.name


def _is_graph(span: Span) -> bool:
    """Whether it is the graph of an agent, and not one of its nodes, in LangSmith's words: it has the agent's name."""
    return bool(span.name) and span.attributes.get(NAME_OF_LANGCHAIN) == span.name


def _with_logs(span: Span, logs: Sequence[LogEvent]) -> Span:
    """The details of a log event are the span's where it lacks them; other log events are as its own, by when they were
    told: each is a message, and their names say nothing of their order."""
    if not (logs or span.events):
        return span
    attributes: dict[str, Any] = dict(span.attributes)
    events = list(span.events)
    for log in sorted(logs, key=lambda log: (log.at, log.name, repr(sorted(log.attributes)))):
        if log.name == event_messages.DETAILS:
            attributes = {**log.attributes, **attributes}
        else:
            events.append(SpanEvent(log.name, log.attributes))
    for event in events:
        if event.name == event_messages.DETAILS:
            attributes = {**event.attributes, **attributes}
    return replace(span, attributes=attributes, events=tuple(events))


def _call(convention: Convention, span: Span) -> ModelCall:
    attributes, content = span.attributes, _content(convention, span)
    provider = text_of(convention, attributes, "provider")
    stream = first(attributes, convention.facts.get("stream", ()))
    parameters = mapping(read_json(first(attributes, convention.facts.get("parameters", ()))))
    told = unique((*words_of(convention, attributes), *content.words))
    invented = _invented(span, [word.raw for word in told])
    return ModelCall(
        span=span,
        provider=provider,
        model=model_named(text_of(convention, attributes, "model") or words(parameters.get("model"))),
        max_tokens=count_of(convention, attributes, "max_tokens")
        or _cap_in(parameters)
        or _cap_of_llama_index(span, parameters),
        stream=stream is True or parameters.get("stream") is True or ".doStream" in span.name,
        response_id=text_of(convention, attributes, "response_id") or content.response_id,
        agent=text_of(convention, attributes, "agent"),
        usage=None if invented else _usage(convention, attributes, span.events, content),
        words=() if invented else told,
        content=content,
        error=failure_of(span, provider),
        first_token=seconds_of(convention, attributes),
        spans=(span.id,),
        scopes=(scope_of(span),),
        invented=invented,
        holds_steps=convention is VOLTAGENT,
    )


def model_named(told: str) -> str:
    """The model's own name, where a cloud's path to it is told."""
    return _PATH.sub("", told)


def _invented(span: Span, told: Sequence[str]) -> str:
    """The stop reason that the instrumentation made up; empty where it is the provider's."""
    found = (one for one in INVENTED if one.scope == span.scope and span.attributes.get(one.kind) is True)
    return next((one.word for one in found if set(told) == {one.word}), "")


def _cap_in(parameters: Attributes) -> int | None:
    """Ollama's clients send it among the options."""
    options = mapping(parameters.get("options"))
    return as_count(first(parameters, _CAPS)) or as_count(first(options, _CAPS)) or None


def _cap_of_llama_index(span: Span, parameters: Attributes) -> int | None:
    """LlamaIndex tells the cap as what its models may put out; its default stands there where none is sent."""
    told = as_count(parameters.get("num_output")) if "llama_index" in span.scope else None
    return told if told != _LLAMA_INDEX_DEFAULT else None


def _usage(
    convention: Convention, attributes: Attributes, events: Sequence[SpanEvent], content: Content
) -> TokenUsage | None:
    """What was used. Some write zeros for a stream of which they were told no counts; an answer takes tokens."""
    usage = usage_of(convention, attributes)
    if usage is None and convention is MLFLOW:
        usage = stream_pieces.usage(events)
    is_told = usage is None or usage.input_tokens or usage.output_tokens or not (content.text or content.calls)
    return usage if is_told else None


def scope_of(span: Span) -> str:
    """The instrumentation, with its version where it tells one."""
    return f"{span.scope} {span.version}".strip()


def _content(convention: Convention, span: Span) -> Content:
    attributes = span.attributes
    accounts: tuple[Content, ...] = (stream_pieces.read(span.events),) if convention is MLFLOW else ()
    if convention is VERCEL:
        accounts = (vercel.read(attributes),)
    elif convention is VOLTAGENT:
        accounts = (vercel.of_voltagent(attributes),)
    elif convention is LANGWATCH:
        accounts = (parts.of_langwatch(attributes),)
    elif convention is MASTRA:
        accounts = (vercel.of_mastra(attributes),)
    elif convention is HAYSTACK:
        accounts = (haystack.read(attributes),)
    elif convention is OPENINFERENCE:
        are_objects = any(word in span.scope for word in REBUILDING)
        own = indexed_attributes.openinference(attributes, are_objects=are_objects)
        accounts = own, provider_json.read(attributes)
    older = (
        indexed_attributes.openllmetry(attributes),
        event_messages.read(span.events, in_blocks=_is_of_strands(span)),
    )
    also = () if convention is OPENINFERENCE else (provider_json.read(attributes),)
    return merged((*accounts, parts.read(attributes), *older, *also))


def _is_of_strands(span: Span) -> bool:
    """For JavaScript, Strands names its scope and the model's system after the service alike."""
    system = text_of(GENAI, span.attributes, "provider")
    return "strands" in f"{span.scope} {system}".casefold() or system == span.scope != ""


def _loop(convention: Convention, span: Span, *, is_agent: bool) -> Loop:
    named = (text_of(convention, span.attributes, fact) for fact in ("agent", "node"))
    name = next(filter(None, named), "")
    word = next((word.raw for word in words_of(convention, span.attributes)), None)
    failure, said = loop_failure_of(span), last_words_of(span)
    if convention is HAYSTACK:
        failure, said = failure or haystack.loop_failure(span.attributes), haystack.last_words(span.attributes)
    gives_text = convention is VOLTAGENT
    return Loop(span, name or span.name, is_agent, word, failure, said, is_named=bool(name), gives_text=gives_text)


def run_as_call(loop: Loop) -> ModelCall | None:
    """What an agent's span tells of its run as one call; None where it names neither a model nor token counts nor an
    agent, so that nothing shows that a model was called. Its stop reason is the loop's own, and no model's."""
    found = kind_of(loop.span)
    call = _call(found[0], loop.span) if found is not None and loop.is_agent else None
    if call is None or not (call.model or call.usage or loop.is_named):
        return None
    content = replace(call.content, words=())
    if not content.answered and loop.output:
        content = replace(content, text=loop.output)
    task = mapping(read_json(loop.span.attributes.get("output.value"))).get("description")  # CrewAI's, which was asked
    if content.input is None and (asked := words(task or first(loop.span.attributes, _ASKED))):
        content = replace(content, input=(Message(Role.USER, asked),))
    spent = call.usage if call.usage and (call.usage.input_tokens or call.usage.output_tokens) else None
    return replace(call, agent=loop.name, usage=spent, words=(), content=content, is_run=True)


def _tool(convention: Convention, span: Span) -> ToolRun:
    attributes = span.attributes
    result = first(attributes, convention.facts["result"])
    return ToolRun(
        span,
        text_of(convention, attributes, "tool") or span.name,
        text_of(convention, attributes, "call_id"),
        None if result is None else _result(result),
        span.failed,
        _given(read_json(first(attributes, _GIVEN))),
    )


def _given(told: Any) -> dict[str, Any] | None:
    """The arguments of a tool. smolagents writes those of its own method around them."""
    within = mapping(told).get("kwargs") if "sanitize_inputs_outputs" in mapping(told) else told
    return within if isinstance(within, dict) else None


def _asked(convention: Convention, attributes: Attributes) -> AskedCall:
    told = (first(attributes, convention.facts.get(fact, ())) for fact in ("call_id", "tool", "arguments"))
    return asked_call(*told)


def _result(told: Any) -> str:
    """The text of a result, also where LangChain wraps it."""
    read = read_json(told)
    if isinstance(read, str):
        return read
    if "value" in mapping(read) and mapping(read).keys() <= _WRAPPED:
        return words(read["value"])
    output = mapping(mapping(read).get("output")) or mapping(read)
    message = mapping(output.get("kwargs")) or mapping(output.get("data")) or output
    if isinstance(message.get("content"), str):
        return str(message["content"])
    return told if isinstance(told, str) else words(told)
