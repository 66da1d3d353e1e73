"""The assistant message as its server wants it back: with the signed thoughts that a tool loop needs.

Only answers with calls have one, and only where plain text and calls would not do: OpenRouter's `reasoning_details`,
the `reasoning_content` of DeepSeek and Kimi, Google's thought signatures.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agentcore.messages import ToolCall
from agentcore.providers.wire.tool_calls import encode_call
from agentcore.providers.wire.untrusted_json import sequence, string

_MESSAGE_FIELDS = ("extra_content", "thought_signature")
_GROWING = frozenset({"text", "summary", "data"})


class EchoCollector:
    """Gathers the fields of a message, or of its pieces, that have to come back."""

    def __init__(self) -> None:
        self._fields: dict[str, Any] = {}
        self._thoughts: list[str] = []
        self._details: list[dict[str, Any]] = []

    def take(self, message: Mapping[str, Any]) -> None:
        """Adds a message, or a piece of one."""
        self._fields |= {key: message[key] for key in _MESSAGE_FIELDS if message.get(key)}
        thoughts = string(message.get("reasoning_content"))
        if thoughts:
            self._thoughts.append(thoughts)
        for detail in sequence(message.get("reasoning_details")):
            if isinstance(detail, dict):
                self._take_detail(detail)

    def echo(self, text: str, calls: Iterable[tuple[ToolCall, Mapping[str, Any]]]) -> dict[str, Any] | None:
        """The message for these whole calls, each with its own fields to keep; None where text and calls suffice."""
        encoded = [(encode_call(call), kept) for call, kept in calls]
        needed = self._fields or self._thoughts or self._details or any(kept for _, kept in encoded)
        if not encoded or not needed:
            return None
        message: dict[str, Any] = {"role": "assistant", "content": text or None, **self._fields}
        message["tool_calls"] = [{**call, **kept} for call, kept in encoded]
        if self._details:
            message["reasoning_details"] = [_joined(detail) for detail in self._details]
        elif self._thoughts:
            message["reasoning_content"] = "".join(self._thoughts)
        return message

    def _take_detail(self, detail: Mapping[str, Any]) -> None:
        """Joins the pieces of one detail: same index and type, one directly after the other."""
        last = self._details[-1] if self._details else None
        if last is None or detail.get("index") is None or any(last.get(k) != detail.get(k) for k in ("index", "type")):
            self._details.append({key: [value] if _grows(key, value) else value for key, value in detail.items()})
            return
        for key, value in detail.items():
            if _grows(key, value) and isinstance(last.get(key), list):
                last[key].append(value)
            elif value is not None:
                last[key] = [value] if _grows(key, value) else value


def _grows(key: str, value: object) -> bool:
    return key in _GROWING and isinstance(value, str)


def _joined(detail: Mapping[str, Any]) -> dict[str, Any]:
    return {key: "".join(value) if _is_pieces(key, value) else value for key, value in detail.items()}


def _is_pieces(key: str, value: object) -> bool:
    return key in _GROWING and isinstance(value, list) and _all_text(value)


def _all_text(values: Sequence[object]) -> bool:
    return all(isinstance(value, str) for value in values)
