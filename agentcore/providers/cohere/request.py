"""Our request as the body of Cohere's chat API, version 2."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from agentcore.messages import NO_CAP, ChatRequest, Message, Role, ToolCall, ToolSpec
from agentcore.providers.wire.request_messages import History, by_user_turn, sent_extra
from agentcore.providers.wire.tool_calls import encode_call


def encode_request(request: ChatRequest) -> dict[str, Any]:
    """The body. `extra` may replace what is optional, never the model, the messages, the cap or the framing."""
    body: dict[str, Any] = {}
    if request.tools:
        body["tools"] = [_tool(spec) for spec in request.tools]
    if request.envelope_schema is not None:
        body["response_format"] = {"type": "json_object", "json_schema": dict(request.envelope_schema)}
    body |= sent_extra(request)
    body["model"] = request.model
    body["messages"] = list(_messages(request))
    if request.extra.get("uncapped") != NO_CAP:
        body["max_tokens"] = request.max_tokens
    body["stream"] = request.stream
    return body


def _messages(request: ChatRequest) -> Iterator[Any]:
    # A last message of the assistant is not gone on with here, whatever the connection's settings say.
    going, history = by_user_turn(request, can_prefill=False), History(request.messages)
    system = "\n\n".join(part for part in (request.system_prompt, going.system) if part)
    if system:
        yield {"role": "system", "content": system}
    for message in request.messages:
        if message.role is not Role.TOOL or history.has_call(message):
            yield _message(message, history)
    if going.assistant:
        yield {"role": "assistant", "content": going.assistant}
    if going.user:
        yield {"role": "user", "content": going.user}


def _message(message: Message, history: History) -> Any:
    match message.role:
        case Role.ASSISTANT:
            return _assistant(message, history)
        case Role.TOOL:
            return {"role": "tool", "tool_call_id": message.tool_call_id or "", "content": message.text}
        case role:
            return {"role": role.value, "content": message.text}


def _assistant(message: Message, history: History) -> Any:
    echo = message.echo
    if isinstance(echo, dict) and echo.get("role") == "assistant" and _is_ours(echo) and history.may_echo(message):
        return echo
    calls = [_call(call) for call in history.calls_of(message)]
    if not calls:
        return {"role": "assistant", "content": message.text}
    said = {"content": message.text} if message.text else {}
    return {"role": "assistant", **said, "tool_calls": calls}


def _is_ours(echo: dict[str, Any]) -> bool:
    """Whether an echo carries what only this dialect has; OpenAI's is an assistant message too."""
    return "tool_plan" in echo or isinstance(echo.get("content"), list)


def _call(call: ToolCall) -> dict[str, Any]:
    # This dialect has no calls of free text.
    return encode_call(replace(call, custom=False, raw="", arguments={"input": call.raw}) if call.custom else call)


def _tool(spec: ToolSpec) -> dict[str, Any]:
    function = {"name": spec.name, "description": spec.description, "parameters": dict(spec.schema)}
    return {"type": "function", "function": function}
