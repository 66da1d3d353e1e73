"""The JSON text of a request body. Each message is written once: a call of a turn mostly repeats the one before it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dashboard.turns.history import compact_json
from dashboard.turns.request_frames import MESSAGE_KEYS


@dataclass(slots=True)
class BodyTexts:
    """Writes the bodies of one turn, one after another, as `body_text` does."""

    _before: Sequence[Any] = ()  #: the messages of the last body,
    messages: list[str] = field(default_factory=list)  #: and their texts

    def written(self, body: Mapping[str, Any]) -> str:
        """The body's text; that of each of its messages is in `messages`."""
        key = messages_key(body)
        self._take([] if key is None else body[key])
        parts = (f"[{','.join(self.messages)}]" if name == key else compact_json(value) for name, value in body.items())
        return f"{{{','.join(f'{compact_json(name)}:{part}' for name, part in zip(body, parts, strict=True))}}}"

    def _take(self, messages: Sequence[Any]) -> None:
        pairs = zip(self._before, messages, strict=False)
        kept = next((n for n, (one, other) in enumerate(pairs) if not _is_same(one, other)), None)
        kept = min(len(self._before), len(messages)) if kept is None else kept
        self.messages = [*self.messages[:kept], *map(compact_json, messages[kept:])]
        self._before = messages


def messages_key(body: Mapping[str, Any]) -> str | None:
    """The name of the body's list of messages; None where it has none."""
    return next((key for key in MESSAGE_KEYS if isinstance(body.get(key), list)), None)


def _is_same(one: Any, other: Any) -> bool:
    """Whether both have the same JSON text. 1, 1.0 and True are equal and have three."""
    if one is other:
        return True
    if one.__class__ is not other.__class__:
        return False
    if isinstance(one, dict):
        return len(one) == len(other) and all(
            name == also and _is_same(value, too)
            for (name, value), (also, too) in zip(one.items(), other.items(), strict=True)
        )
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_is_same, one, other))
    return isinstance(one, str) and one == other
