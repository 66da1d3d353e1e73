"""Messages spread over attributes with the message's index in the name (OpenInference, OpenLLMetry)."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from agentcore.messages import Message, Role
from agentcore.values import replace
from dashboard.ingest.conventions.attributes import read_json
from dashboard.ingest.conventions.content.shapes import (
    asked_call,
    mapping,
    mappings,
    reads_whole,
    role_of,
    system_apart,
    taken_apart,
    tools_of,
    whole_calls,
    words,
)
from dashboard.ingest.conventions.observations import NOTHING, AskedCall, Content, StopReasonSighting
from dashboard.ingest.conventions.spans import Attributes

MOST_NUMBERED = 10_000  #: beyond which a number is no place in a list
_TEXT, _THOUGHT, _REFUSAL = "text", "reasoning", "refusal"
_TOOLS = ("llm.request.functions", "gen_ai.request.functions")
_OLDER = ("gen_ai.prompt.", *(f"{name}." for name in _TOOLS), "gen_ai.completion.")
_FILTERED = "FILTERED"  #: OpenLLMetry's word in place of a text that a content filter kept back
_IN_BLOCKS = "Cohere"  #: the system of OpenLLMetry's spans that have every content as Cohere's blocks, written as JSON
_NUMBER = re.compile(r"[0-9]{1,5}")


def openinference(attributes: Attributes, *, are_objects: bool = False) -> Content:
    """OpenInference's messages, tools and answer. `are_objects`: the calls' arguments were written anew of objects."""
    sent = list(_openinference_messages(_tree(attributes, "llm.input_messages")))
    system, messages = system_apart(sent) if sent else (None, None)
    tools = tools_of(
        [mapping(mapping(entry).get("tool")).get("json_schema") for entry in _tree(attributes, "llm.tools")]
    )
    answers = _tree(attributes, "llm.output_messages")
    if not answers:
        return Content(system=system or None, input=messages, tools=tools)
    answer = mapping(mapping(answers[0]).get("message"))
    return Content(
        system=system or None,
        input=messages,
        tools=tools,
        text=_said(answer),
        calls=tuple(
            replace(call, is_object=call.is_object or (are_objects and reads_whole(call.raw)))
            for joined in _openinference_calls(answer)
            for call in taken_apart(joined, [tool.name for tool in tools])
        ),
        reasoning=_said(answer, _THOUGHT),
        refusal=words(answer.get(_REFUSAL)) or _said(answer, _REFUSAL) or None,
        words=tuple(_word_of_autogen(attributes)),
    )


def _word_of_autogen(attributes: Attributes) -> Iterator[StopReasonSighting]:
    """Its whole answer, as JSON, begins with the stop reason, which stands nowhere else."""
    whole = attributes.get("output.value")
    if isinstance(whole, str) and whole.startswith('{"finish_reason"'):
        reason = mapping(read_json(whole)).get("finish_reason")
        if isinstance(reason, str) and reason:
            yield StopReasonSighting("output.value", reason)


def _openinference_messages(entries: list[Any]) -> Iterator[Message]:
    for entry in entries:
        told = mapping(mapping(entry).get("message"))
        role = role_of(told.get("role"))
        if results := _list(mapping(entry).get("function")):  # AutoGen writes those of one message beside it
            given = [mapping(read_json(result)) for result in results]
            yield from (
                Message(Role.TOOL, words(one.get("content")), tool_call_id=words(one.get("call_id"))) for one in given
            )
        elif role is Role.TOOL or told.get("tool_call_id"):  # for JavaScript, Anthropic's results are a user's
            yield Message(Role.TOOL, _said(told), tool_call_id=words(told.get("tool_call_id")))
        else:
            yield Message(role, _said(told), whole_calls(_openinference_calls(told)))


def _openinference_calls(message: Mapping[str, Any]) -> Iterator[AskedCall]:
    for entry in _list(message.get("tool_calls")):
        call = mapping(mapping(entry).get("tool_call"))
        function = mapping(call.get("function"))
        yield asked_call(call.get("id"), function.get("name"), function.get("arguments"))


def _said(message: Mapping[str, Any], kind: str = _TEXT) -> str:
    """What a message says, or its thoughts, where it has parts of several kinds."""
    if message.get("content") is not None:
        return words(message["content"]) if kind == _TEXT else ""
    parts = (mapping(mapping(entry).get("message_content")) for entry in _list(message.get("contents")))
    return "".join(words(part.get("text") or part.get(kind)) for part in parts if part.get("type", _TEXT) == kind)


def openllmetry(attributes: Attributes) -> Content:
    """`gen_ai.prompt.0.role`, as OpenLLMetry and older GenAI instrumentations write."""
    if not any(name.startswith(_OLDER) for name in attributes):
        return NOTHING
    in_blocks = attributes.get("gen_ai.system") == _IN_BLOCKS
    sent = [_older_message(_unpacked(entry, in_blocks)) for entry in _tree(attributes, "gen_ai.prompt")]
    system, messages = system_apart(sent) if sent else (None, None)
    tools = tools_of([_older_tool(mapping(entry)) for name in _TOOLS for entry in _tree(attributes, name)])
    answers = _tree(attributes, "gen_ai.completion")
    if not answers:
        return Content(system=system or None, input=messages, tools=tools)
    answer = _unpacked(answers[0], in_blocks)
    reason = answer.get("finish_reason")
    is_filtered = reason == "content_filter" and answer.get("content") == _FILTERED
    found = (
        (StopReasonSighting("gen_ai.completion.0.finish_reason", reason),) if isinstance(reason, str) and reason else ()
    )
    return Content(
        system=system or None,
        input=messages,
        tools=tools,
        text=None if is_filtered else words(answer.get("content")),
        calls=None if is_filtered else tuple(_older_calls(answer)) or tuple(_functions_called(answers)),
        reasoning=words(answer.get(_THOUGHT)),
        refusal=words(answer.get("refusal")) or None,
        words=found,
    )


def _unpacked(entry: Any, in_blocks: bool) -> Mapping[str, Any]:
    """A message whose content, where it is a list of blocks as JSON, is the text of these; its thoughts stand apart."""
    told = mapping(entry)
    blocks = read_json(told.get("content")) if in_blocks else None
    if not isinstance(blocks, list) or len(mappings(blocks)) < len(blocks):
        return told
    text, thought = ("".join(words(block.get(kind)) for block in mappings(blocks)) for kind in (_TEXT, "thinking"))
    return {**told, "content": text, _THOUGHT: thought}


def _older_message(told: Mapping[str, Any]) -> Message:
    role, text = role_of(told.get("role")), words(told.get("content"))
    if role is Role.TOOL:
        return Message(role, text, tool_call_id=words(told.get("tool_call_id")))
    return Message(role, text, whole_calls(_older_calls(told)))


def _older_calls(message: Mapping[str, Any]) -> Iterator[Any]:
    for entry in _list(message.get("tool_calls")):
        call = mapping(entry)
        yield asked_call(call.get("id"), call.get("name"), call.get("arguments"))


def _functions_called(answers: list[Any]) -> Iterator[AskedCall]:
    """LiteLLM writes each call of the one answer as a function call of a further one, without its id."""
    for entry in answers:
        if function := mapping(mapping(entry).get("function_call")):
            yield asked_call(None, function.get("name"), function.get("arguments"))


def _older_tool(told: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**told, "parameters": read_json(told.get("parameters") or told.get("input_schema"))}


def _tree(attributes: Attributes, prefix: str) -> list[Any]:
    """The attributes below a prefix as nested objects and lists."""
    root: dict[str, Any] = {}
    start = f"{prefix}."
    for name, value in attributes.items():
        if name.startswith(start):
            _put(root, name[len(start) :].split("."), value)
    return _list(root)


def _put(node: dict[str, Any], path: list[str], value: Any) -> None:
    for step in path[:-1]:
        below = node.get(step)
        if not isinstance(below, dict):
            below = node[step] = {}
        node = below
    node[path[-1]] = value


def _list(value: Any) -> list[Any]:
    """What has numbers for names, in their order."""
    if isinstance(value, list):
        return value
    numbered = ((int(name), held) for name, held in mapping(value).items() if _NUMBER.fullmatch(name))
    return [held for number, held in sorted(numbered, key=lambda pair: pair[0]) if number < MOST_NUMBERED]
