"""Older GenAI convention: one event per message, on the span or in the log, such as `gen_ai.choice`."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from agentcore.messages import Message, Role, ToolSpec
from agentcore.values import replace
from dashboard.ingest.conventions.attributes import as_count, read_json
from dashboard.ingest.conventions.content import parts
from dashboard.ingest.conventions.content.shapes import NOT_TOLD, mapping, system_apart, tools_of
from dashboard.ingest.conventions.observations import NOTHING, Content, StopReasonSighting
from dashboard.ingest.conventions.spans import SpanEvent
from dashboard.ingest.conventions.tables import dialect_of

DETAILS = "gen_ai.client.inference.operation.details"  #: whose attributes are the span's, messages among them
CHOICE = "gen_ai.choice"
#: What a message says anything in. Where contents are not recorded, it has a role alone, and that is no empty answer.
_SAYS = frozenset({"content", "parts", "tool_calls", "refusal", "audio", "function_call"})
_CONTENT = "gen_ai.event.content"
_ROLES = {
    "gen_ai.system.message": Role.SYSTEM,
    "gen_ai.user.message": Role.USER,
    "gen_ai.assistant.message": Role.ASSISTANT,
    "gen_ai.tool.message": Role.TOOL,
}


def read(events: Iterable[SpanEvent], *, in_blocks: bool) -> Content:
    """What these events tell; one that has come twice is told once. `in_blocks`: each text is a list of blocks in
    Bedrock's form, written as JSON."""
    sent: list[Message] = []
    answer, blocks, tools = NOTHING, dict[int, Content](), tuple[ToolSpec, ...]()
    for event in events:
        told = _with_blocks(_told(event)) if in_blocks else _told(event)
        if event.name in _ROLES and (offered := tools_of(mapping(told.get("content")).get("tools"))):
            tools = offered  # OpenLLMetry for Anthropic writes them as a user's message
        elif event.name in _ROLES:
            entry = _with_result({"role": _ROLES[event.name].value, **told})
            if not _SAYS.isdisjoint(entry):
                sent += [message for message in parts.messages_of([entry]) if message not in sent]
        elif event.name == CHOICE and _is_of_anthropic(told):
            blocks[as_count(told.get("index")) or 0] = _choice(told)
        elif event.name == CHOICE and told.get("index", 0) in (0, "0"):
            answer = _choice(told)
        elif event.name == "gen_ai.content.prompt":
            sent += list(parts.messages_of(read_json(event.attributes.get("gen_ai.prompt"))))
        elif event.name == "gen_ai.content.completion":
            completion = event.attributes.get("gen_ai.completion")
            answer = parts.read({"gen_ai.output.messages": completion})
    answer = _joined([blocks[place] for place in sorted(blocks)]) if blocks else answer
    if not sent:
        return replace(answer, tools=tools) if tools else answer
    system, messages = system_apart(sent)
    return replace(answer, system=system or None, input=messages, tools=tools)


def _is_of_anthropic(told: Mapping[str, Any]) -> bool:
    """Whether several choices are the blocks of one answer: of Anthropic's, there is no other choice."""
    provider = told.get("gen_ai.provider.name", told.get("gen_ai.system"))
    return isinstance(provider, str) and dialect_of(provider) == "anthropic"


def _joined(blocks: Sequence[Content]) -> Content:
    texts = [block.text for block in blocks if block.text is not None]
    calls = [block.calls for block in blocks if block.calls is not None]
    return Content(
        text="".join(texts) if texts else None,
        calls=tuple(chain.from_iterable(calls)) if calls else None,
        reasoning="".join(block.reasoning for block in blocks),
        words=tuple(dict.fromkeys(word for block in blocks for word in block.words)),
    )


def _told(event: SpanEvent) -> dict[str, Any]:
    """Its attributes, over those of its body, or of the JSON in which Azure's clients and Semantic Kernel write it."""
    whole = mapping(read_json(event.attributes.get("body"))) or mapping(read_json(event.attributes.get(_CONTENT)))
    return {**whole, **{name: value for name, value in event.attributes.items() if name not in {"body", _CONTENT}}}


def _with_result(entry: dict[str, Any]) -> dict[str, Any]:
    """A tool's message without its content still says that the tool ran."""
    return {"content": NOT_TOLD, **entry} if entry["role"] == Role.TOOL.value and "content" not in entry else entry


def _with_blocks(told: dict[str, Any]) -> dict[str, Any]:
    blocks = read_json(told.get("content"))
    return {**told, "content": blocks} if isinstance(blocks, list) else told


def _choice(told: Mapping[str, Any]) -> Content:
    message = read_json(told.get("message"))
    message = {"parts": message} if isinstance(message, list) else mapping(message) or told
    if "tool_calls" not in message and told.get("tool_calls"):  # OpenLLMetry writes them beside the message
        message = {**message, "tool_calls": told["tool_calls"]}
    if isinstance(message.get("content"), dict):  # which it writes so for a stream
        message = {"parts": [message["content"]]}
    is_told = not _SAYS.isdisjoint(message)
    answer = parts.read({"gen_ai.output.messages": [dict(message)]}) if is_told else NOTHING
    reason = told.get("finish_reason")
    found = (StopReasonSighting(CHOICE, reason),) if isinstance(reason, str) and reason else ()
    return replace(answer, words=found)
