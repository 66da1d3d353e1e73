"""An answer of a provider that stands whole in an attribute, read by its own codec; and LangChain's form of one."""

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from agentcore.errors import CoreError
from agentcore.messages import ChatResponse, TokenUsage, ToolCall
from agentcore.providers import get_provider
from agentcore.providers.wire.tool_calls import read_arguments
from dashboard.ingest.conventions.attributes import read_json
from dashboard.ingest.conventions.content import parts
from dashboard.ingest.conventions.content.shapes import asked_call, mapping, mappings, words
from dashboard.ingest.conventions.observations import NOTHING, AskedCall, Content, StopReasonSighting
from dashboard.ingest.conventions.spans import Attributes

NAMES = (
    "output.value",
    "response_data",
    "gen_ai.completion",
    "mlflow.spanOutputs",
    "langfuse.observation.output",
    "gcp.vertex.agent.llm_response",
    "mastra.metadata.body",
    "braintrust.output_json",
    "traceloop.entity.output",
)
#: Which hold a text as it is, where it is no JSON: Langfuse for a stream, OpenLIT always.
_PLAIN = frozenset({"langfuse.observation.output", "gen_ai.completion"})
#: How the client's object begins that smolagents writes as Python shows it: nothing that the model said stands before.
_SHOWN = re.compile(
    r"\w+\((?:\w+=(?:'[^'()]*'|None|\d+), )*choices=\[\w+\((?:\w+=(?:'[^'()]*'|None|\d+), )*?finish_reason='(\w+)'"
)
#: How Haystack's message ends, likewise: the last of its fields is what its client told beside the answer.
_META = re.compile(
    r".*, _name=(?:None|'[^']*'), _meta=\{(?:'\w+': (?:'[^']*'|\d+|None), )*?'finish_reason': '(\w+)'", re.DOTALL
)
#: A tool call of LiteLLM's or OpenAI's client, likewise.
_SHOWN_CALL = re.compile(
    r"Function\(arguments=(?P<arguments>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"), name='(?P<name>[^']*)'\)"
    r"(?:, id='(?P<id>[^']*)')?"
)
_CAMEL = {"function_call": "functionCall", "thought_signature": "thoughtSignature"}
#: By the value of `object` or `type`, which each of these answers has.
_DIALECTS = {"response": "openai_responses", "chat.completion": "openai", "message": "anthropic"}


def read(attributes: Attributes) -> Content:
    """The answer, where there is one that can be read."""
    for name in NAMES:
        if name not in attributes:  # as most are not
            continue
        read_value = read_json(attributes[name])
        if name in _PLAIN and isinstance(attributes[name], str) and not isinstance(read_value, dict | list):
            return Content(text=attributes[name])
        content = read_answer(mapping(_only(read_value)), name)
        if content.answered or content.words:
            return content
    return NOTHING


def _only(told: Any) -> Any:
    """OpenAI's agents kit writes a list of the answer's one message."""
    return told[0] if isinstance(told, list) and len(told) == 1 else told


def read_answer(told: Mapping[str, Any], source: str) -> Content:
    """The answer of a provider or a client. `source`: where it stands."""
    dialect = _DIALECTS.get(str(told.get("object") or told.get("type")))
    return _decoded(dialect, told, source) if dialect else _otherwise(told, source)


def usage_in(told: Mapping[str, Any]) -> TokenUsage | None:
    """The counts of a whole answer; None where it has none."""
    dialect = _DIALECTS.get(str(told.get("object") or told.get("type")))
    if dialect is None or not told.get("usage"):
        return None
    try:
        return get_provider(dialect).decode_response(dict(told)).usage
    except CoreError:
        return None


def _decoded(dialect: str, told: Mapping[str, Any], source: str) -> Content:
    try:
        answer: ChatResponse = get_provider(dialect).decode_response(dict(told))
    except CoreError:
        return Content()
    raw = answer.raw_stop_reason
    asked = (*answer.tool_calls, *answer.broken_tool_calls)
    return Content(
        text=answer.text,
        calls=tuple(AskedCall(call.id, call.name, call.raw, is_object=_is_object(call)) for call in asked),
        reasoning=answer.reasoning_content,
        refusal=answer.refusal,
        words=() if raw is None else (StopReasonSighting(source, raw),),
        response_id=answer.response_id or "",
    )


def _is_object(call: ToolCall) -> bool:
    """Whether a call not shown to be whole reads as whole all the same: an object that was closed where it was cut."""
    return not call.shown_whole and read_arguments(call.raw, cut=False)[1] is None


def _otherwise(told: Mapping[str, Any], source: str) -> Content:
    """Pieces of a stream put together, Logfire's record of an answer, or LangChain's generations."""
    choice = next(iter(mappings(told.get("choices"))), None)
    if choice is not None:
        return _decoded("openai", {**told, "object": "chat.completion", "choices": [choice]}, source)
    if isinstance(told.get("content"), dict):
        return _decoded("gemini", _candidate(told), source)
    if isinstance(told.get("prompt_feedback"), dict):
        return _decoded(
            "gemini", {"promptFeedback": {"blockReason": told["prompt_feedback"].get("block_reason")}}, source
        )
    if told.get("role") == "assistant":
        return _assistant(told, source)
    if told.keys() >= {"text", "tool_calls"} and isinstance(told["tool_calls"], list):
        return Content(text=words(told["text"]), calls=tuple(_shown_calls(told["tool_calls"])))
    if isinstance(told.get("replies"), list):
        return _replied(told["replies"], source)
    if isinstance(told.get("message"), dict) and isinstance(told.get("raw"), dict):
        return read_answer(told["raw"], source)  # LlamaIndex's, with the answer of the client
    if isinstance(told.get("message"), dict):
        return _openai_message(told["message"], told.get("finish_reason"), source)
    if isinstance(told.get("combined_chunk_content"), str):
        return Content(text=told["combined_chunk_content"], calls=None)
    if told.get("text") and isinstance(told["text"], str) and isinstance(told.get("warnings"), list):
        return Content(text=told["text"], calls=None)  # Mastra's, which says nothing of the calls of its steps
    rows = told.get("generations")
    generation = next(iter(mappings(rows[0] if isinstance(rows, list) and rows else None)), None)
    return _langchain(generation, source) if generation is not None else Content()


def _candidate(told: Mapping[str, Any]) -> Mapping[str, Any]:
    """Gemini's answer as Google's agent kit writes it: one candidate, its names in Python's style."""
    parts = [
        {_CAMEL.get(name, name): value for name, value in part.items()}
        for part in mappings(mapping(told["content"]).get("parts"))
    ]
    reason = told.get("finish_reason")
    return {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": reason}]}


def _assistant(told: Mapping[str, Any], source: str) -> Content:
    """A message of OpenAI's, or one of blocks, as Bedrock's. Beside it, smolagents writes the client's own object."""
    if isinstance(told.get("content"), list):
        return parts.read({"gen_ai.output.messages": [{**told}]})
    shown = _SHOWN.match(told["raw"]) if isinstance(told.get("raw"), str) else None
    return _openai_message(told, shown and shown[1], source)


def _shown_calls(shown: list[Any]) -> Iterator[AskedCall]:
    """Tool calls as Python shows the client's objects, which DSPy writes."""
    for text in shown:
        found = _SHOWN_CALL.search(text) if isinstance(text, str) else None
        if found is not None:
            yield asked_call(found["id"], found["name"], _literal(found["arguments"]))


def _literal(shown: str) -> str:
    try:
        return str(ast.literal_eval(shown))
    except (ValueError, SyntaxError):
        return shown


def _replied(replies: list[Any], source: str) -> Content:
    shown = _META.match(replies[0]) if replies and isinstance(replies[0], str) else None
    return Content() if shown is None else Content(words=(StopReasonSighting(source, shown[1]),))


def _openai_message(message: Mapping[str, Any], reason: Any, source: str) -> Content:
    calls = []
    for call in mappings(message.get("tool_calls")):
        function = mapping(call.get("function")) or call  # LangChain's own form has no function
        calls.append(asked_call(call.get("id"), function.get("name"), function.get("arguments", function.get("args"))))
    found = (StopReasonSighting(source, reason),) if isinstance(reason, str) and reason else ()
    refusal = words(message.get("refusal")) or None
    return Content(text=words(message.get("content")), calls=tuple(calls), words=found, refusal=refusal)


def _langchain(generation: Mapping[str, Any], source: str) -> Content:
    """A call that LangChain could not read stands among `invalid_tool_calls`, with the text it came as; the calls of a
    stream among `tool_call_chunks`, also where it was cut."""
    message = mapping(mapping(generation.get("message")).get("kwargs"))
    asked = [*mappings(message.get("tool_call_chunks"))]
    asked = asked or [*mappings(message.get("tool_calls")), *mappings(message.get("invalid_tool_calls"))]
    calls = tuple(asked_call(call.get("id"), call.get("name"), call.get("args")) for call in asked)
    about = mapping(generation.get("generation_info")) or mapping(message.get("response_metadata"))
    reason = about.get("finish_reason") or about.get("stop_reason")
    found = (StopReasonSighting(source, reason),) if isinstance(reason, str) and reason else ()
    text = generation.get("text")
    return Content(
        text=text if isinstance(text, str) else words(message.get("content")),
        calls=calls,
        words=found,
        refusal=words(mapping(message.get("additional_kwargs")).get("refusal")) or None,
    )
