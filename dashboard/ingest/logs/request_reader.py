"""A request of any dialect, read as far as it goes. Nothing in it is refused: it has been sent already."""

from collections.abc import Iterator, Mapping
from typing import Any

from agentcore.messages import Message, Role
from dashboard.ingest.conventions.attributes import as_count, first
from dashboard.ingest.conventions.content.parts import messages_of
from dashboard.ingest.conventions.content.shapes import (
    asked_call,
    kind_of,
    mapping,
    mappings,
    role_of,
    system_apart,
    tools_of,
    whole_calls,
    words,
)
from dashboard.ingest.conventions.observations import Content
from dashboard.ingest.logs.values import Json

_CAPS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens", "num_predict", "maxTokens")
_AROUND_CAPS = ("generationConfig", "generation_config", "config", "options", "inferenceConfig")
_SYSTEM = ("system", "instructions", "systemInstruction", "system_instruction")


def content_of(told: Json) -> Content:
    """What was asked: system prompt, messages and tools."""
    system, messages = system_apart(_messages(told))
    given = first(told, _SYSTEM)
    system = "\n\n".join(filter(None, (text_of(given), system)))
    return Content(system=system or None, input=messages, tools=tools_of(_tools(told)))


def cap_of(told: Json) -> int | None:
    """The limit of output tokens; None where none is named."""
    around = (mapping(told.get(name)) for name in _AROUND_CAPS)
    found = (as_count(first(place, _CAPS)) for place in (told, *around))
    return next(filter(None, found), None)


def _messages(told: Json) -> Iterator[Message]:
    if isinstance(told.get("contents"), list | str):
        yield from _of_contents(told["contents"])
    elif isinstance(told.get("messages"), list):
        yield from messages_of(told["messages"])
    else:
        yield from of_items(told.get("input", told.get("prompt")))


def of_items(told: Any) -> Iterator[Message]:
    """The messages of a Responses input: a text, or items."""
    if isinstance(told, str):
        yield Message(Role.USER, told)
    for item in mappings(told):
        kind = kind_of(item) or "message"
        if kind == "message":
            yield Message(role_of(item.get("role")), text_of(item.get("content")))
        elif kind in {"function_call", "custom_tool_call"}:
            call = asked_call(item.get("call_id"), item.get("name"), item.get("arguments", item.get("input")))
            yield Message(Role.ASSISTANT, "", whole_calls((call,)))
        elif kind.endswith("_output"):
            yield Message(Role.TOOL, text_of(item.get("output")), tool_call_id=words(item.get("call_id")))


def _of_contents(told: Any) -> Iterator[Message]:
    """The messages of Gemini's contents. Its calls often have no ids: then a result is told by its name."""
    if isinstance(told, str):
        yield Message(Role.USER, told)
    for content in mappings(told):
        parts = list(mappings(content.get("parts")))
        for part in parts:
            if isinstance(response := part.get("functionResponse"), dict):
                call_id = words(response.get("id") or response.get("name"))
                yield Message(Role.TOOL, words(response.get("response")), tool_call_id=call_id)
        calls = [mapping(part["functionCall"]) for part in parts if "functionCall" in part]
        asked = [asked_call(call.get("id") or call.get("name"), call.get("name"), call.get("args")) for call in calls]
        text = "".join(words(part.get("text")) for part in parts if not part.get("thought"))
        if text or asked:
            yield Message(role_of(content.get("role")), text, whole_calls(asked))


def text_of(told: Any) -> str:
    """The words of a text, of a list of parts, or of an object that has parts."""
    if isinstance(told, dict):
        return text_of(told.get("parts", told.get("content", told.get("text"))))
    if isinstance(told, list):
        return "\n".join(filter(None, (part if isinstance(part, str) else text_of(part) for part in told)))
    return told if isinstance(told, str) else ""


def _tools(told: Mapping[str, Any]) -> list[Any]:
    """Every tool's entry; Gemini's and Bedrock's stand one level deeper."""
    given = told.get("tools", mapping(told.get("toolConfig")).get("tools"))
    found: list[Any] = []
    for entry in mappings(given):
        deeper = entry.get("functionDeclarations", entry.get("function_declarations"))
        found += deeper if isinstance(deeper, list) else [entry.get("toolSpec", entry)]
    return found
