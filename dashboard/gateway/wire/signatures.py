"""Signatures of thoughts, which have to come back with the calls they led to, on their way through a client. Pure.

Google refuses a call of a newer model that comes back without its own. In its OpenAI-style API it stands beside the
call, at `extra_content.google.thought_signature`; so it does here, whichever of its two APIs was asked.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentcore.messages import ChatResponse, Message, ToolCall
from agentcore.providers.wire.untrusted_json import mapping, sequence
from agentcore.values import replace

_KEPT_FIELDS = ("extra_content", "thought_signature")  # beside a call, in OpenAI's form

Json = Mapping[str, Any]


def beside_calls(calls: Sequence[ToolCall], response: ChatResponse | None) -> Mapping[str, Json]:
    """What the client is told beside the calls of an answer, by the ids that they have now; whole calls come first."""
    echo = mapping(response.echo if response else None)
    if response is None or not echo:
        return {}
    entries = [mapping(entry) for entry in sequence(echo.get("tool_calls"))]
    kept: list[Json] = [{name: entry[name] for name in _KEPT_FIELDS if entry.get(name)} for entry in entries]
    kept += [_told(part.get("thoughtSignature")) for part in _calls_in(echo)]
    return {call.id: beside for call, beside in zip(calls, kept, strict=False) if beside}


def signed(messages: Sequence[Message]) -> tuple[Message, ...]:
    """A client's messages, their calls with the signatures that came back, as the Gemini API wants them."""
    return tuple(_signed(message) for message in messages)


def _signed(message: Message) -> Message:
    entries = sequence(mapping(message.echo).get("tool_calls"))
    signatures = [signature_of(mapping(entry)) for entry in entries]
    if not any(signatures) or len(signatures) != len(message.tool_calls):
        return message
    parts: list[Json] = [{"text": message.text}] if message.text else []
    for call, signature in zip(message.tool_calls, signatures, strict=True):
        part = {"functionCall": {"name": call.name, "args": dict(call.arguments)}}
        parts.append({**part, "thoughtSignature": signature} if signature else part)
    return replace(message, echo={"role": "model", "parts": parts})


def signature_of(entry: Json) -> str:
    """What signs the thoughts that led to a call, given what stands beside it; empty: nothing does."""
    signature = mapping(mapping(entry.get("extra_content")).get("google")).get("thought_signature")
    return signature if isinstance(signature, str) else ""


def _told(signature: object) -> Json:
    return {"extra_content": {"google": {"thought_signature": signature}}} if signature else {}


def _calls_in(echo: Json) -> Iterator[Json]:
    return (mapping(part) for part in sequence(echo.get("parts")) if "functionCall" in mapping(part))
