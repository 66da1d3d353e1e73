"""Our request as the body of Ollama's `/api/chat`."""

from collections.abc import Iterator
from typing import Any

from agentcore.messages import NO_CAP, ChatRequest, Message, Role, ToolSpec
from agentcore.providers.ollama.answer import encode_call
from agentcore.providers.wire.request_messages import History, by_hint_message, sent_extra
from agentcore.providers.wire.tool_calls import with_ids
from agentcore.providers.wire.untrusted_json import mapping


def encode_request(request: ChatRequest) -> dict[str, Any]:
    """The body. `extra` may replace what is optional, never the model, the messages, the cap or the framing."""
    extra = sent_extra(request)
    body: dict[str, Any] = {}
    if request.tools:
        body["tools"] = [_tool(spec) for spec in request.tools]
    if request.envelope_schema is not None:
        body["format"] = dict(request.envelope_schema)
    body |= extra
    body["model"] = request.model
    body["messages"] = list(_messages(request))
    cap = {} if request.extra.get("uncapped") == NO_CAP else {"num_predict": request.max_tokens}
    if options := {**mapping(extra.get("options")), **cap}:
        body["options"] = options
    body["stream"] = request.stream  # streaming is what Ollama does unasked
    return body


def _messages(request: ChatRequest) -> Iterator[dict[str, Any]]:
    history = History(request.messages)
    if request.system_prompt:
        yield {"role": "system", "content": request.system_prompt}
    for message in request.messages:
        if message.role is Role.ASSISTANT:
            yield _assistant(message, history)
        elif message.role is not Role.TOOL:
            yield {"role": message.role.value, "content": message.text}
        elif history.has_call(message):
            yield _result(message, history.name_of(message))
    for role, text in by_hint_message(request):
        yield {"role": role, "content": text}


def _result(message: Message, name: str) -> dict[str, Any]:
    return {"role": "tool", "content": message.text, "tool_name": name, "tool_call_id": message.tool_call_id}


def _assistant(message: Message, history: History) -> dict[str, Any]:
    echo = message.echo
    if isinstance(echo, dict) and echo.get("role") == "assistant" and "thinking" in echo and history.may_echo(message):
        return with_ids(echo, message.tool_calls)
    calls = [encode_call(call) for call in history.calls_of(message)]
    said = {"role": "assistant", "content": message.text}
    return {**said, "tool_calls": calls} if calls else said


def _tool(spec: ToolSpec) -> dict[str, Any]:
    function = {"name": spec.name, "description": spec.description, "parameters": dict(spec.schema)}
    return {"type": "function", "function": function}
