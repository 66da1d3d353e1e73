"""OpenTelemetry GenAI: messages of parts. They stand as values, as JSON texts, or in a log event."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentcore.messages import Message, Role
from dashboard.ingest.conventions.attributes import read_json
from dashboard.ingest.conventions.content.shapes import (
    NOT_TOLD,
    asked_call,
    kind_of,
    mapping,
    mappings,
    result_words,
    role_of,
    system_apart,
    tools_of,
    whole_calls,
    words,
)
from dashboard.ingest.conventions.observations import AskedCall, Content, StopReasonSighting
from dashboard.ingest.conventions.spans import Attributes

INPUT = (
    "gen_ai.input.messages",
    "gen_ai.prompt",
    "langfuse.observation.input",
    "mlflow.spanInputs",
    "braintrust.input_json",
)
OUTPUT = ("gen_ai.output.messages",)
_AS_TEXT = "gen_ai.prompt"  #: which OpenLIT writes as one text, with the roles in it
SYSTEM = "gen_ai.system_instructions"
_ADK = "gcp.vertex.agent."
TOOLS = ("gen_ai.tool.definitions", "gen_ai.request.tools", "mlflow.chat.tools")
_THOUGHTS = frozenset({"reasoning", "thinking"})
_TEXTS = frozenset({"text", "input_text", "output_text", ""})
_RESULTS = ("response", "result", "content")
_CALL_ID = "fc_"  #: how the id of a tool call's item begins in the Responses API
_BLOCKS = '[{"type":'  #: how the JSON of a list of blocks begins


@dataclass(slots=True)
class _Parts:
    """What the parts of one message hold, by what they are."""

    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    calls: list[AskedCall] = field(default_factory=list)
    results: list[tuple[str, str]] = field(default_factory=list)


def read(attributes: Attributes) -> Content:
    """Read the messages from these attributes."""
    name = next((name for name in INPUT if name in attributes), "")
    request = read_json(attributes.get(name))
    told = _input(name, request, attributes)
    system, messages = system_apart(told) if told is not None else ("", None)
    instructions = read_json(attributes.get(SYSTEM))
    if instructions is None and isinstance(attributes.get(SYSTEM), str):
        instructions = attributes[SYSTEM]
    whole = mapping(request)  # where the messages stand in one, as LangSmith and MLflow write it
    system = system or _system(instructions) or _system(whole.get("instructions", whole.get("system")))
    tools = next((found for name in TOOLS if (found := tools_of(attributes.get(name)))), ())
    tools = (
        tools or tools_of(_definitions(attributes.get("langfuse.observation.input"))) or tools_of(whole.get("tools"))
    )
    content = Content(system=system or None, input=messages if told else None, tools=tools)
    output = next((read_json(attributes[name]) for name in OUTPUT if name in attributes), None)
    if not isinstance(output, list) or output == told == []:
        return content  # OpenLIT writes both without any message where it records no contents
    is_in_pieces = any(name.startswith(_ADK) for name in attributes)
    return _answered(content, _joined(list(mappings(output))) if is_in_pieces else output)


def of_langwatch(attributes: Attributes) -> Content:
    """Read the messages of a call that LangWatch's SDK tracks. It writes no stop reason."""
    sent, given = (mapping(read_json(attributes.get(f"langwatch.{side}"))).get("value") for side in ("input", "output"))
    tools = mapping(read_json(attributes.get("langwatch.params"))).get("tools")
    told = {INPUT[0]: sent, OUTPUT[0]: given, TOOLS[0]: tools}
    return read({name: value for name, value in told.items() if isinstance(value, list)})


def _joined(pieces: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Of a stream, Google's Agent Development Kit writes a message for each piece; only the last has a stop reason.

    With LiteLLM the last one is the whole answer, and a call that is not whole yet stands in each piece by its name."""
    if any(piece.get("finish_reason") or not isinstance(piece.get("parts"), list) for piece in pieces[:-1]):
        return pieces
    listed = [list(mappings(piece.get("parts"))) for piece in pieces]
    texts = ["".join(words(part.get("content")) for part in parts if kind_of(part) == "text") for parts in listed]
    if texts and texts[-1] and "".join(texts[:-1]) == texts[-1]:
        listed = [[part for part in parts if kind_of(part) != "text"] for parts in listed[:-1]] + listed[-1:]
    return [{**piece, "parts": _each_once([part for parts in listed for part in parts])} for piece in pieces[-1:]]


def _each_once(parts: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The parts without repeated calls; of one call, the part that has its arguments."""
    best: dict[Any, Mapping[str, Any]] = {}
    for place, part in enumerate(parts):
        key = words(part.get("id")) or place
        if key not in best or part.get("arguments") is not None:
            best[key] = part
    return list(best.values())


def _input(name: str, told: Any, attributes: Attributes) -> list[Message] | None:
    """The messages of the attribute `name`, which was read as JSON."""
    if told is None and name == _AS_TEXT and isinstance(attributes[name], str):
        return [Message(Role.USER, attributes[name])]
    told = told.get("messages", told.get("input")) if isinstance(told, dict) else told
    if isinstance(told, str):  # the Responses API takes a text for its one message
        return [Message(Role.USER, told)]
    if isinstance(told, list) and told and isinstance(told[0], list):  # LangChain's: one list for each prompt
        told = [mapping(entry.get("kwargs")) or entry for entry in mappings(told[0])]
    return list(messages_of(told)) if isinstance(told, list) else None


def _definitions(told: Any) -> list[Any]:
    """The tools that Langfuse writes for LangChain among the messages, as if they were results."""
    read = read_json(told)
    return [entry["content"] for entry in mappings(read) if _is_definition(entry)]


def _is_definition(entry: Mapping[str, Any]) -> bool:
    about = mapping(entry.get("content"))
    return entry.get("role") == "tool" and about.get("type") == "function" and isinstance(about.get("function"), dict)


def _system(told: Any) -> str:
    if isinstance(told, str):
        return told
    return "\n\n".join(words(part.get("content") or part.get("text")) for part in mappings(told))


def messages_of(told: Any) -> Iterator[Message]:
    """The messages of a list; each tool's result is one of its own."""
    has_lost_items = False
    for listed in mappings(told):
        is_lost = _is_lost_item(listed, has_lost_items)
        if is_lost and not listed.get("id"):
            yield Message(Role.TOOL, NOT_TOLD)
        has_lost_items |= is_lost
        if is_lost or _is_definition(listed):
            continue
        entry = _of_item(listed)
        parts = _parts(entry)
        for call_id, result in parts.results:
            yield Message(Role.TOOL, result, tool_call_id=call_id)
        text = "".join(parts.texts)
        if text or parts.calls or not parts.results:
            role = role_of(entry.get("role") or entry.get("type"))
            if role is Role.TOOL:
                yield Message(role, text, tool_call_id=words(entry.get("tool_call_id") or entry.get("id")))
            else:
                yield Message(role, text, whole_calls(parts.calls))


def _is_lost_item(entry: Mapping[str, Any], has_lost_items: bool) -> bool:
    """Whether it stands in place of a tool call of the Responses API, or, after these, of a result: LiteLLM writes such
    an item as a user's empty message, of which only a call keeps its id."""
    name = entry.get("id")
    is_call = isinstance(name, str) and name.startswith(_CALL_ID)
    if entry.get("role") != "user" or not (is_call or (has_lost_items and name is None)):
        return False
    return all(kind_of(part) == "text" and part.get("content") == "" for part in mappings(entry.get("parts")))


def _of_item(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """An item of the Responses API as the message that it is; any other message as it is."""
    kind = kind_of(entry)
    if kind == "function_call":
        called = {"id": entry.get("call_id"), "name": entry.get("name"), "arguments": entry.get("arguments")}
        return {"role": "assistant", "tool_calls": [called]}
    if kind == "function_call_output":
        return {"role": "tool", "tool_call_id": entry.get("call_id"), "content": words(entry.get("output"))}
    return entry


def _answered(content: Content, output: list[Any]) -> Content:
    """With the first answer; a list without any is an answer that holds nothing."""
    entry = next(iter(mappings(output)), {})
    parts = _parts(entry)
    reason = entry.get("finish_reason")
    found = (StopReasonSighting("gen_ai.output.messages", reason),) if isinstance(reason, str) and reason else ()
    return Content(
        system=content.system,
        input=content.input,
        tools=content.tools,
        text="".join(parts.texts),
        calls=tuple(parts.calls),
        reasoning="".join(parts.thoughts),
        refusal="".join(parts.refusals) or None,
        words=found,
    )


def _parts(entry: Mapping[str, Any]) -> _Parts:
    parts = _Parts()
    listed = entry.get("parts", entry.get("content"))
    if isinstance(listed, str):
        parts.texts.append(listed)
    for part in mappings(listed):
        _take(parts, part)
    if isinstance(entry.get("refusal"), str):
        parts.refusals.append(entry["refusal"])
    for call in mappings(read_json(entry.get("tool_calls"))):
        about = mapping(call.get("function")) or call
        asked = asked_call(call.get("id"), about.get("name"), about.get("arguments", about.get("args")))
        if not asked.id or asked.id not in {one.id for one in parts.calls}:  # botocore's stand among the blocks too
            parts.calls.append(asked)
    return parts


def _take(parts: _Parts, part: Mapping[str, Any]) -> None:
    part = _of_block(part)
    kind = kind_of(part)
    said = part.get("content", part.get("text", part.get("thinking")))
    if kind in {"tool_call", "tool_use"}:
        arguments = part.get("arguments", part.get("input"))
        parts.calls.append(asked_call(part.get("id"), part.get("name"), arguments))
    elif kind in {"tool_call_response", "tool_result"}:
        result = next((part[name] for name in _RESULTS if part.get(name) is not None), None)
        parts.results.append((words(part.get("id") or part.get("tool_use_id")), result_words(result)))
    elif kind == "refusal":
        parts.refusals.append(words(part.get("refusal") or said))
    elif kind in _THOUGHTS:
        parts.thoughts.append(words(said))
    elif kind in _TEXTS:
        parts.texts.append(_of_blocks(words(said)))


def _of_blocks(said: str) -> str:
    """The text of a part, also where OpenLLMetry for LangChain.js writes its blocks as JSON in place of it."""
    blocks = read_json(said) if said[:12].replace(" ", "").startswith(_BLOCKS) else None
    texts = [block["text"] for block in mappings(blocks) if isinstance(block.get("text"), str)]
    is_told = bool(texts) and isinstance(blocks, list) and all(kind_of(block) for block in mappings(blocks))
    return "".join(texts) if is_told else said


def _of_block(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """A block in Bedrock's form, or a tool call in OpenAI's, as the part that it is; any other part as it is."""
    if called := mapping(part.get("function")):  # Langtrace writes the calls of an answer in place of its text
        about = {"name": called.get("name"), "arguments": called.get("arguments")}
        return {"type": "tool_call", "id": part.get("id"), **about}
    if used := mapping(part.get("toolUse")):
        return {"type": "tool_use", "id": used.get("toolUseId"), "name": used.get("name"), "input": used.get("input")}
    if result := mapping(part.get("toolResult")):
        return {"type": "tool_result", "tool_use_id": result.get("toolUseId"), "content": result.get("content")}
    if thought := mapping(mapping(part.get("reasoningContent")).get("reasoningText")):
        return {"type": "thinking", "thinking": thought.get("text")}
    return part
