"""Our request as the body of the Messages API."""

from collections.abc import Iterator, Sequence
from typing import Any

from agentcore.messages import ChatRequest, Message, Role, ToolCall, ToolSpec
from agentcore.providers.anthropic.content import calls_in, is_blocks, is_content
from agentcore.providers.wire.request_messages import Going, History, by_user_turn_trimmed, sent_extra


def encode_request(request: ChatRequest) -> dict[str, Any]:
    """The body. `extra` may replace what is optional, never the model, the messages, the cap or the framing."""
    going = by_user_turn_trimmed(request)
    extra = sent_extra(request)
    body: dict[str, Any] = dict(_optional(request, going)) | extra
    if request.envelope_schema is not None:
        settings = extra.get("output_config")
        answer_format = {"type": "json_schema", "schema": dict(request.envelope_schema)}
        body["output_config"] = {"format": answer_format, **(settings if isinstance(settings, dict) else {})}
    body["model"] = request.model
    body["messages"] = list(_messages(request, going))
    body["max_tokens"] = request.max_tokens
    body.pop("stream", None)
    if request.stream:
        body["stream"] = True
    return body


def plain_content(text: str, calls: Sequence[ToolCall]) -> list[Any]:
    """An assistant's text and calls as content blocks. The API refuses blank text."""
    said = [{"type": "text", "text": text}] if text.strip() else []
    asked = [{"type": "tool_use", "id": call.id, "name": call.name, "input": dict(call.arguments)} for call in calls]
    return [*said, *asked]


def _optional(request: ChatRequest, going: Going) -> Iterator[tuple[str, Any]]:
    system = _system(request, going)
    if system:
        yield "system", system
    if request.tools:
        yield "tools", [_tool(spec) for spec in request.tools]


def _system(request: ChatRequest, going: Going) -> str | list[Any]:
    """One text, unless one of its parts is blocks that say more than their text, such as what is to be cached."""
    told = [message for message in request.messages if message.role is Role.SYSTEM and not _stands_within(message)]
    if not any(is_blocks(message.echo) for message in told):
        return "\n\n".join(
            part for part in (request.system_prompt, *(each.text for each in told), going.system) if part
        )
    parts = [_text_block(request.system_prompt)]
    parts += [message.echo if is_blocks(message.echo) else _text_block(message.text) for message in told]
    return [block for part in (*parts, _text_block(going.system)) for block in part]


def _text_block(text: str) -> list[Any]:
    return [{"type": "text", "text": text}] if text else []


def _stands_within(message: Message) -> bool:
    """Whether it is a message of the system's at its own place in the conversation."""
    return isinstance(message.echo, dict) and message.echo.get("role") == "system" and "content" in message.echo


def _tool(spec: ToolSpec) -> dict[str, Any]:
    return {"name": spec.name, "description": spec.description, "input_schema": dict(spec.schema)}


def _messages(request: ChatRequest, going: Going) -> Iterator[dict[str, Any]]:
    history = History(request.messages)
    results: list[dict[str, Any]] = []  # of one round of calls, which go back in one message
    for message in request.messages:
        if message.role is Role.TOOL:
            results += _result(history, message)
            continue
        if message.role is Role.USER and is_blocks(message.echo):
            yield {"role": "user", "content": [*results, *message.echo]}
            results = []
            continue
        if results:
            yield {"role": "user", "content": results}
            results = []
        if message.role is Role.USER:
            yield {"role": "user", "content": message.text}
        elif message.role is Role.SYSTEM and _stands_within(message):
            yield message.echo
        elif message.role is Role.ASSISTANT:
            content = _assistant(history, message)
            if content:
                yield {"role": "assistant", "content": content}
    if results:
        yield {"role": "user", "content": results}
    if going.assistant:
        yield {"role": "assistant", "content": going.assistant}
    if going.user:
        yield {"role": "user", "content": going.user}


def _result(history: History, message: Message) -> list[dict[str, Any]]:
    """A result; nothing where its call is not sent either."""
    if not history.has_call(message):
        return []
    if isinstance(message.echo, dict) and message.echo.get("type") == "tool_result":
        return [message.echo | {"tool_use_id": message.tool_call_id}]
    return [{"type": "tool_result", "tool_use_id": message.tool_call_id or "", "content": message.text}]


def _assistant(history: History, message: Message) -> str | list[Any]:
    """The content of an assistant's message; empty where nothing of it can be sent."""
    calls = history.calls_of(message)
    echo = message.echo
    if is_content(echo) and history.may_echo(message) and calls_in(echo) <= {call.id for call in calls}:
        verbatim: list[Any] = echo
        return verbatim
    content = plain_content(message.text, calls)
    return content if calls or not content else message.text
