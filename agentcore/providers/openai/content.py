"""The text, the reasoning and the refusal of a message or a piece of one."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from agentcore.providers.wire.untrusted_json import mapping, sequence, string


class Content(NamedTuple):
    """What a message says, what it thinks, and how it declines; text as it came, with halves of characters in it."""

    text: str
    reasoning: str
    refusal: str


def read_content(message: Mapping[str, Any]) -> Content:
    """`content` as text or as typed parts; `reasoning_content`, `reasoning` or `reasoning_details`; `refusal`."""
    content = message.get("content")
    refusal = string(message.get("refusal"))
    # Some servers send the same thoughts under several names.
    reasoning = _said(message.get("reasoning_content")) or _said(message.get("reasoning"))
    if not reasoning and "reasoning_details" in message:
        reasoning = _details(message)
    if not isinstance(content, list):
        return Content(_said(content), reasoning, refusal)
    parts = [{"type": "text", "text": part} if isinstance(part, str) else mapping(part) for part in content]
    thoughts = "".join(_plain(part.get("thinking")) for part in parts if part.get("type") == "thinking")
    text = "".join(_said(part.get("text")) for part in parts if part.get("type") in ("text", "output_text"))
    declined = "".join(string(part.get("refusal")) for part in parts if part.get("type") == "refusal")
    return Content(text, reasoning or thoughts, refusal or declined)


def _said(value: object) -> str:
    return value if isinstance(value, str) else ""


def _plain(thinking: object) -> str:
    """Mistral's thoughts: text, or a list of text parts."""
    return _said(thinking) or "".join(_said(mapping(part).get("text")) for part in sequence(thinking))


def _details(message: Mapping[str, Any]) -> str:
    return "".join(_detail_texts(sequence(message.get("reasoning_details"))))


def _detail_texts(details: object) -> Iterator[str]:
    for detail in sequence(details):
        yield string(mapping(detail).get("text")) or string(mapping(detail).get("summary"))
