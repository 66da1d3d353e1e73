"""Our request as the body that OpenAI-compatible servers take."""

from collections.abc import Iterator, Mapping
from typing import Any

from agentcore.messages import ChatRequest, Message, Role, ToolSpec
from agentcore.providers.wire.calls import encode_call
from agentcore.providers.wire.continuing import by_hint_message, sent_extra


def encode_request(request: ChatRequest) -> dict[str, Any]:
    """The body. `extra` may replace what is optional, never the model, the messages, the cap or the framing."""
    extra = request.extra
    body: dict[str, Any] = dict(_optional(request))
    body |= sent_extra(request)
    body["model"] = request.model
    body["messages"] = list(_messages(request))
    body[_setting(extra, "max_tokens_field", "max_tokens")] = request.max_tokens
    body.pop("stream", None)
    if request.stream:
        body["stream"] = True
    return body


def _optional(request: ChatRequest) -> Iterator[tuple[str, Any]]:
    if request.stream:
        yield "stream_options", {"include_usage": True}
    if request.tools:
        yield "tools", [_tool(spec) for spec in request.tools]
    if request.envelope_schema is not None:
        envelope = {"name": "envelope", "schema": dict(request.envelope_schema)}
        yield "response_format", {"type": "json_schema", "json_schema": envelope}


def _setting(extra: Mapping[str, Any], name: str, default: str) -> str:
    value = extra.get(name)
    return value if isinstance(value, str) and value else default


def _messages(request: ChatRequest) -> Iterator[dict[str, Any]]:
    if request.system_prompt:
        yield {"role": "system", "content": request.system_prompt}
    for message in request.messages:
        yield _message(message)
    for role, text in by_hint_message(request):
        yield {"role": role, "content": text}


def _message(message: Message) -> dict[str, Any]:
    match message.role:
        case Role.ASSISTANT:
            return _assistant(message)
        case Role.TOOL:
            return {"role": "tool", "tool_call_id": message.tool_call_id or "", "content": message.text}
        case role:
            return {"role": role.value, "content": message.text}


def _assistant(message: Message) -> dict[str, Any]:
    if isinstance(message.echo, dict) and message.echo.get("role") == "assistant":
        return message.echo
    calls = [encode_call(call) for call in message.tool_calls if call.issue is None]
    if not calls:
        return {"role": "assistant", "content": message.text}
    return {"role": "assistant", "content": message.text or None, "tool_calls": calls}


def _tool(spec: ToolSpec) -> dict[str, Any]:
    function = {"name": spec.name, "description": spec.description, "parameters": dict(spec.schema)}
    return {"type": "function", "function": function}
