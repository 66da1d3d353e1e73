"""Our request as the body that OpenAI-compatible servers take (providers.md §1.1, §1.11, §1.13)."""

from collections.abc import Iterator, Mapping
from typing import Any

from agentcore.messages import ChatRequest, Message, Role, ToolSpec
from agentcore.providers.wire.request_messages import History, by_hint_message, sent_extra
from agentcore.providers.wire.tool_calls import encode_call, with_ids

_CAPS = ("max_tokens", "max_completion_tokens")  # a body with both is a 400
_NEED_TOOLS = ("tool_choice", "parallel_tool_calls")  # a body with these and without tools is one, too

_TOLD = frozenset({"user", "system", "developer", "function"})
_RESULTS = frozenset({"tool"})


def encode_request(request: ChatRequest) -> dict[str, Any]:
    """The body. `extra` may replace what is optional, never the model, the messages, the cap or the framing."""
    body: dict[str, Any] = dict(_optional(request))
    body |= sent_extra(request)
    refused = (*_CAPS, "stream", *(() if body.get("tools") else _NEED_TOOLS))
    body = {key: value for key, value in body.items() if key not in refused}
    body["model"] = request.model
    body["messages"] = list(_messages(request))
    if not request.extra.get("uncapped"):
        body[_setting(request.extra, "max_tokens_field", "max_tokens")] = request.max_tokens
    if request.stream:
        body["stream"] = True
    else:
        body.pop("stream_options", None)  # a 400 where nothing streams
    return body


def _optional(request: ChatRequest) -> Iterator[tuple[str, Any]]:
    if request.stream:
        yield "stream_options", {"include_usage": True}
    if request.tools:
        yield "tools", [_tool(spec) for spec in request.tools]
    if request.envelope_schema is not None:
        envelope = {"name": "envelope", "schema": dict(request.envelope_schema)}
        yield "response_format", {"type": "json_schema", "json_schema": envelope}
    if _is_gone_on_with(request, "continue_final_message"):  # vLLM's way
        yield "continue_final_message", True
        yield "add_generation_prompt", False


def _is_gone_on_with(request: ChatRequest, way: str) -> bool:
    """Whether the model is to go on writing the last message, and this server wants to be told in this way."""
    added = by_hint_message(request) if request.extra.get(way) else []
    return bool(added and added[-1][0] == "assistant")


def _setting(extra: Mapping[str, Any], name: str, default: str) -> str:
    value = extra.get(name)
    return value if isinstance(value, str) and value else default


def _messages(request: ChatRequest) -> Iterator[dict[str, Any]]:
    history = History(request.messages)
    if request.system_prompt:
        yield {"role": "system", "content": request.system_prompt}
    for message in request.messages:
        if message.role is Role.ASSISTANT:
            yield _assistant(message, history)
        elif message.role is not Role.TOOL:
            yield _verbatim(message, _TOLD) or {"role": message.role.value, "content": message.text}
        elif history.has_call(message):
            result = {"role": "tool", "tool_call_id": message.tool_call_id, "content": message.text}
            yield _verbatim(message, _RESULTS) or result
    prefix = {"prefix": True} if _is_gone_on_with(request, "prefix") else {}  # Mistral's and DeepSeek's way
    for role, text in by_hint_message(request):
        yield {"role": role, "content": text, **prefix}


def _verbatim(message: Message, roles: frozenset[str]) -> dict[str, Any] | None:
    """A message as a client of this API wrote it: with images, names, parts that text does not say."""
    echo = message.echo
    return echo if isinstance(echo, dict) and echo.get("role") in roles else None


def _assistant(message: Message, history: History) -> dict[str, Any]:
    echo = message.echo
    if isinstance(echo, dict) and echo.get("role") == "assistant" and history.may_echo(message):
        return with_ids(echo, message.tool_calls)
    calls = [encode_call(call) for call in history.calls_of(message)]
    if not calls:
        return {"role": "assistant", "content": message.text}
    return {"role": "assistant", "content": message.text or None, "tool_calls": calls}


def _tool(spec: ToolSpec) -> dict[str, Any]:
    function = {"name": spec.name, "description": spec.description, "parameters": dict(spec.schema)}
    return {"type": "function", "function": function}
