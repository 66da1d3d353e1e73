"""Our request as the body of Bedrock's Converse. The model and the framing are in its path."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentcore.messages import NO_CAP, ChatRequest, Message, Role, ToolCall, ToolSpec
from agentcore.providers.bedrock.content import calls_in, is_content
from agentcore.providers.wire.request_messages import Going, History, by_user_turn_trimmed, sent_extra
from agentcore.providers.wire.untrusted_json import mapping


def encode_request(request: ChatRequest) -> dict[str, Any]:
    """The body. `extra` may replace what is optional, never the messages or the cap; its groups of settings are added
    to ours (`inferenceConfig`, `toolConfig`, `outputConfig`).
    """
    going = by_user_turn_trimmed(request)
    extra = sent_extra(request)
    body: dict[str, Any] = {"system": _system(request, going)} if _system(request, going) else {}
    body |= extra
    for name, settings in _groups(request):
        body[name] = {**settings, **mapping(extra.get(name))}
    cap = {} if request.extra.get("uncapped") == NO_CAP else {"maxTokens": request.max_tokens}
    if settings := {**mapping(extra.get("inferenceConfig")), **cap}:
        body["inferenceConfig"] = settings
    body["messages"] = _alternating(_turns(request, going))
    return body


def plain_content(text: str, calls: Sequence[ToolCall]) -> list[Any]:
    """An assistant's text and calls as content blocks. Converse refuses blank text."""
    said = [{"text": text}] if text.strip() else []
    asked = [{"toolUse": {"toolUseId": call.id, "name": call.name, "input": dict(call.arguments)}} for call in calls]
    return [*said, *asked]


def _groups(request: ChatRequest) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if tools := request.tools or _called(request):
        yield "toolConfig", {"tools": [_tool(spec) for spec in tools]}
    if request.envelope_schema is not None:
        schema = json.dumps(dict(request.envelope_schema), ensure_ascii=False)
        structure = {"jsonSchema": {"name": "envelope", "schema": schema}}
        yield "outputConfig", {"textFormat": {"type": "json_schema", "structure": structure}}


def _called(request: ChatRequest) -> list[ToolSpec]:
    """The tools that were called before, by name: Converse refuses a conversation with calls where none is declared."""
    history = History(request.messages)
    names = dict.fromkeys(call.name for message in request.messages for call in history.calls_of(message))
    return [ToolSpec(name, "", {"type": "object"}) for name in names]


def _system(request: ChatRequest, going: Going) -> list[Any]:
    told = (message.text for message in request.messages if message.role is Role.SYSTEM)
    return [{"text": part} for part in (request.system_prompt, *told, going.system) if part.strip()]


def _tool(spec: ToolSpec) -> dict[str, Any]:
    described = {"description": spec.description} if spec.description else {}
    return {"toolSpec": {"name": spec.name, **described, "inputSchema": {"json": dict(spec.schema)}}}


def _turns(request: ChatRequest, going: Going) -> Iterator[tuple[str, list[Any]]]:
    history = History(request.messages)
    for message in request.messages:
        match message.role:
            case Role.ASSISTANT:
                yield "assistant", _assistant(history, message)
            case Role.TOOL:
                yield "user", _result(message) if history.has_call(message) else []
            case Role.USER:
                yield "user", [{"text": message.text}]
    yield "assistant", [{"text": going.assistant}] if going.assistant else []
    yield "user", [{"text": going.user}] if going.user else []


def _alternating(turns: Iterator[tuple[str, list[Any]]]) -> list[dict[str, Any]]:
    """Converse wants user and assistant in turn: what follows the same role joins its message."""
    messages: list[dict[str, Any]] = []
    for role, content in turns:
        if not content:
            continue
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] = [*messages[-1]["content"], *content]
        else:
            messages.append({"role": role, "content": content})
    return messages


def _result(message: Message) -> list[Any]:
    content = [{"text": message.text}] if message.text.strip() else []
    return [{"toolResult": {"toolUseId": message.tool_call_id or "", "content": content}}]


def _assistant(history: History, message: Message) -> list[Any]:
    """The content of an assistant's message; empty where nothing of it can be sent."""
    calls, echo = history.calls_of(message), message.echo
    if is_content(echo) and history.may_echo(message) and calls_in(echo) <= {call.id for call in calls}:
        verbatim: list[Any] = echo
        return verbatim
    return plain_content(message.text, calls)
