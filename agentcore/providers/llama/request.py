"""Our request in the JSON protocol: a plain conversation, carried by the OpenAI chat API."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from agentcore.messages import ChatRequest, Continuation, Message, Role
from agentcore.prefill import prefills
from agentcore.providers.llama.protocol import instruction
from agentcore.providers.openai import request as openai_request
from agentcore.providers.wire.request_messages import History
from agentcore.providers.wire.tool_calls import write_json

_CALL_SCHEMA = {
    "type": "object",
    "properties": {
        "tool_call": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}},
            "required": ["name", "arguments"],
        }
    },
    "required": ["tool_call"],
}
_DEFINITIONS = ("$defs", "definitions")


def encode_request(request: ChatRequest) -> dict[str, Any]:
    """The body. No `tools` are sent: the system prompt describes them, and messages carry calls and results."""
    prompt = "\n\n".join(part for part in (request.system_prompt, instruction(request.tools)) if part)
    schema = request.envelope_schema
    return openai_request.encode_request(
        replace(
            request,
            system_prompt=prompt,
            tools=(),
            messages=tuple(_messages(request)),
            continuation=_continuation(request),
            envelope_schema=None if schema is None else _envelope(schema, with_calls=bool(request.tools)),
        )
    )


def _continuation(request: ChatRequest) -> Continuation | None:
    """The answer so far as the protocol has it; as plain text where the model goes on writing it."""
    asked = request.continuation
    if asked is None or not asked.text or (prefills(request.extra) and not asked.repairs):
        return asked
    return replace(asked, text=write_json({"response": asked.text}))


def _messages(request: ChatRequest) -> Iterator[Message]:
    history = History(request.messages)
    for message in request.messages:
        if message.role is Role.ASSISTANT:
            yield Message(Role.ASSISTANT, _said(message, history))
        elif message.role is not Role.TOOL:
            yield message
        elif history.has_call(message):
            result = {"name": history.name_of(message), "result": message.text}
            yield Message(Role.USER, write_json({"tool_result": result}))


def _said(message: Message, history: History) -> str:
    calls = [
        {"name": call.name, "arguments": call.raw if call.custom else dict(call.arguments)}
        for call in history.calls_of(message)
    ]
    said: dict[str, Any] = {"response": message.text} if message.text or not calls else {}
    if calls:
        said["tool_call"] = calls[0] if len(calls) == 1 else calls
    return write_json(said)


def _envelope(schema: Mapping[str, Any], *, with_calls: bool) -> dict[str, Any]:
    """The envelope as the protocol's response. Its definitions stay at the root, where its references look."""
    inner = {key: value for key, value in schema.items() if key not in _DEFINITIONS}
    answer = {"type": "object", "properties": {"response": inner}, "required": ["response"]}
    definitions = {key: schema[key] for key in _DEFINITIONS if key in schema}
    return {**({"anyOf": [_CALL_SCHEMA, answer]} if with_calls else answer), **definitions}
