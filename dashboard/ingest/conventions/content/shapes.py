"""Messages, calls and tools of what JSON holds, whatever it holds."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from agentcore.json_values import is_json
from agentcore.messages import Message, Role, ToolCall, ToolSpec
from agentcore.providers.wire.tool_calls import read_arguments
from dashboard.ingest.conventions.attributes import read_json
from dashboard.ingest.conventions.observations import AskedCall

_ROLES = {
    **{role.value: role for role in Role},
    "developer": Role.SYSTEM,
    "model": Role.ASSISTANT,
    "ai": Role.ASSISTANT,
    "human": Role.USER,
    "function": Role.TOOL,
    "tool-call": Role.ASSISTANT,  # smolagents
    "tool-response": Role.TOOL,
}
#: Under which pydantic-ai, OpenLIT and OpenLLMetry put arguments that are no JSON.
INVALID = "INVALID_JSON"
_DECODER = json.JSONDecoder()
_written = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode
_RAW = frozenset({"raw", "_raw"})
NOT_TOLD = "[The tool's result was not recorded.]"


def mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def mappings(value: Any) -> list[Mapping[str, Any]]:
    """The objects of a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def kind_of(told: Mapping[str, Any]) -> str:
    """Its `type`; empty where that is no text."""
    kind = told.get("type")
    return kind if isinstance(kind, str) else ""


def words(value: Any) -> str:
    """A text as it is, anything else as JSON; nothing is an empty text."""
    if isinstance(value, str):
        return value
    return "" if value is None else _written(value)


def result_words(value: Any) -> str:
    """The text of a tool's result. One of blocks that are texts, as Anthropic and Bedrock take it, is those texts."""
    blocks = list(mappings(value))
    texts = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
    is_text = bool(texts) and isinstance(value, list) and len(texts) == len(value)
    return "".join(texts) if is_text else words(value)


def role_of(value: Any) -> Role:
    """Who speaks; what is no role of ours is a user's."""
    return _ROLES.get(str(value or "").casefold(), Role.USER)


def asked_call(call_id: Any, name: Any, arguments: Any) -> AskedCall:
    """A call whose arguments are text or an object."""
    if isinstance(arguments, dict) and len(arguments) == 1:
        arguments = _as_it_came(arguments)
    return AskedCall(words(call_id), words(name), words(arguments), is_object=isinstance(arguments, dict))


def _as_it_came(arguments: Mapping[str, Any]) -> Any:
    """The text that stands in place of arguments; an argument that is merely called `raw` is no cut object."""
    ((name, text),) = arguments.items()
    is_cut = name in _RAW and isinstance(text, str) and text.startswith("{") and not reads_whole(text)
    return text if name == INVALID or is_cut else arguments


def reads_whole(arguments: str) -> bool:
    """Whether the text is a closed object. One that is not closed is as the model wrote it, whoever hands it on."""
    return read_arguments(arguments, cut=False)[1] is None


def taken_apart(asked: AskedCall, tools: Sequence[str]) -> list[AskedCall]:
    """The calls that OpenInference for JavaScript joins into one where they are of a stream: their names stand in one
    text, and so do their arguments. Their ids, which stand so too, are left to the next request.

    `tools`: the names that the model was offered. Where these do not tell the calls apart, the call is as it came."""
    texts = _objects_in(asked.raw) if asked.name not in tools else []
    names = _names_in(asked.name, tools)
    if len(texts) < 2 or len(names) != len(texts):
        return [asked]
    return [AskedCall("", name, text) for name, text in zip(names, texts, strict=True)]


def _objects_in(text: str) -> list[str]:
    """JSON objects that stand one after another, the last of which may have been cut."""
    found, at = list[str](), 0
    while text.startswith("{", at):
        try:
            _, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = len(text)
        found.append(text[at:end])
        at = end
    return found if at == len(text) else []


def _names_in(joined: str, tools: Sequence[str]) -> list[str]:
    """The names of tools that make up this text; none of them where it can be read in two ways, or in none."""
    found, at = list[str](), 0
    while at < len(joined):
        begun = [name for name in tools if name and joined.startswith(name, at)]
        if len(begun) != 1:
            return []
        found.append(begun[0])
        at += len(begun[0])
    return found


def whole_calls(calls: Iterable[AskedCall]) -> tuple[ToolCall, ...]:
    """Calls of an earlier message; there a broken one has been answered as it was."""
    return tuple(_whole(call) for call in calls)


def _whole(call: AskedCall) -> ToolCall:
    arguments, _ = read_arguments(call.raw, cut=False)
    return ToolCall(call.id, call.name, arguments, call.raw)


def tools_of(value: Any) -> tuple[ToolSpec, ...]:
    """Tools in any of the usual forms, each also as JSON text; what has no name is left out."""
    read = read_json(value)
    if not isinstance(read, list):
        return ()
    entries = [read_json(entry) for entry in read]
    found = (_tool(entry) for listed in mappings(entries) for entry in _declared(listed))
    return tuple(tool for tool in found if tool.name)


def _declared(entry: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The functions of a tool in Gemini's form; any other tool itself."""
    functions = entry.get("function_declarations", entry.get("functionDeclarations"))
    yield from mappings(functions) if isinstance(functions, list) else (entry,)


def _tool(entry: Mapping[str, Any]) -> ToolSpec:
    about = mapping(entry.get("function")) or entry
    names = ("parameters", "input_schema", "inputSchema", "parameters_json_schema")
    schema: Mapping[str, Any] = next(
        (about[name] for name in names if isinstance(about.get(name), dict) and is_json(about[name])), {}
    )
    return ToolSpec(words(about.get("name")), words(about.get("description")), schema)


def system_apart(messages: Iterable[Message]) -> tuple[str, tuple[Message, ...]]:
    """The system's words, and the other messages."""
    told = list(messages)
    system = "\n\n".join(message.text for message in told if message.role is Role.SYSTEM and message.text)
    return system, tuple(message for message in told if message.role is not Role.SYSTEM)
