"""The Vercel AI SDK's prompt, text and tool calls; VoltAgent, which is built on it, writes its messages likewise."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from agentcore.messages import Message, Role, ToolSpec
from dashboard.ingest.conventions.attributes import first, read_json
from dashboard.ingest.conventions.content.shapes import (
    asked_call,
    mapping,
    mappings,
    role_of,
    system_apart,
    tools_of,
    whole_calls,
    words,
)
from dashboard.ingest.conventions.observations import AskedCall, Content
from dashboard.ingest.conventions.spans import Attributes

_ANSWER = ("ai.response.text", "ai.response.toolCalls", "ai.response.object")


def read(attributes: Attributes) -> Content:
    """Read the messages from these attributes."""
    sent = read_json(attributes.get("ai.prompt.messages"))
    messages = list(_messages(sent)) if isinstance(sent, list) else None
    system, others = system_apart(messages) if messages is not None else (None, None)
    tools = tools_of(attributes.get("ai.prompt.tools"))
    if not any(name in attributes for name in _ANSWER):
        return Content(system=system or None, input=others, tools=tools)
    text = attributes.get("ai.response.text", attributes.get("ai.response.object"))
    return Content(
        system=system or None,
        input=others,
        tools=tools,
        text=words(text),
        calls=tuple(_calls(read_json(attributes.get("ai.response.toolCalls")))),
        reasoning=words(attributes.get("ai.response.reasoning")),
    )


def of_voltagent(attributes: Attributes) -> Content:
    """Read a call's messages and the names of its tools, or an agent's messages. Of the answer neither has anything but
    the agent's text, which is its output."""
    sent = read_json(first(attributes, ("llm.messages", "agent.messages")))
    told = read({} if sent is None else {"ai.prompt.messages": sent})
    names = attributes.get("llm.tools")
    tools = tuple(ToolSpec(name, "", {}) for name in names.split(",") if name) if isinstance(names, str) else ()
    return replace(told, tools=tools)


def of_mastra(attributes: Attributes) -> Content:
    """Read a step's messages and its answer. In earlier messages, words in brackets stand for calls and results."""
    sent, given = (read_json(attributes.get(f"mastra.model_step.{side}")) for side in ("input", "output"))
    told: dict[str, Any] = {"ai.prompt.messages": sent} if isinstance(sent, list) else {}
    if isinstance(given, dict):
        told |= {"ai.response.text": given.get("text"), "ai.response.toolCalls": given.get("toolCalls")}
    return read(told)


def asked_in_piece(attributes: Attributes) -> AskedCall | None:
    """Read the tool call of a piece of Mastra's stream, with its arguments as they came; None where it is none."""
    piece = mapping(read_json(attributes.get("mastra.model_chunk.output")))
    if "toolInput" not in piece:
        return None
    return asked_call(piece.get("toolCallId"), piece.get("toolName"), piece["toolInput"])


def _calls(told: Any) -> Iterator[AskedCall]:
    for call in mappings(told):
        yield asked_call(call.get("toolCallId"), call.get("toolName"), call.get("input", call.get("args")))


def _messages(told: list[Any]) -> Iterator[Message]:
    for entry in mappings(told):
        content = entry.get("content")
        if isinstance(content, str):
            yield Message(role_of(entry.get("role")), content)
            continue
        results = [part for part in mappings(content) if part.get("type") == "tool-result"]
        for part in results:
            yield Message(Role.TOOL, _result(part), tool_call_id=words(part.get("toolCallId")))
        if not results:
            text = "".join(words(part.get("text")) for part in mappings(content) if part.get("type") == "text")
            asked = [part for part in mappings(content) if part.get("type") == "tool-call"]
            yield Message(role_of(entry.get("role")), text, whole_calls(_calls(asked)))


def _result(part: Any) -> str:
    output = part.get("output", part.get("result"))
    is_wrapped = isinstance(output, dict) and "value" in output
    return words(output["value"] if is_wrapped else output)
