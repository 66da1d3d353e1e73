"""The output items of a streamed answer, put together from its events."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agentcore.messages import Delta
from agentcore.providers.openai_responses.items import Item, content_of, read_parts
from agentcore.providers.wire.untrusted_json import count, mapping, sequence, string

# What the pieces of an event are pieces of, and the field of the whole text in its closing event.
_PIECES: Mapping[str, tuple[str, str]] = {
    "response.output_text": ("output_text", "text"),
    "response.refusal": ("refusal", "refusal"),
    "response.reasoning_text": ("reasoning_text", "text"),
    "response.reasoning_summary_text": ("summary_text", "text"),
    "response.function_call_arguments": ("arguments", "arguments"),
    "response.custom_tool_call_input": ("input", "input"),
}
_ITEM_OF_PIECES: Mapping[str, str] = {
    "output_text": "message",
    "refusal": "message",
    "reasoning_text": "reasoning",
    "summary_text": "reasoning",
    "arguments": "function_call",
    "input": "custom_tool_call",
}
_THOUGHTS = frozenset({"reasoning_text", "summary_text"})
_ARGUMENTS = frozenset({"arguments", "input"})


class _OpenItem:
    """One item as far as it has come."""

    def __init__(self) -> None:
        self.fields: Item = {}
        self.done = False
        self.named = False
        self.kinds: set[str] = set()
        self.pieces: dict[tuple[str, int], list[str]] = {}

    def add(self, kind: str, index: int, text: str) -> Delta:
        """Adds a piece; returns it as it is shown."""
        opens = (kind, index) not in self.pieces
        between = "\n\n" if opens and kind in self.kinds else ""
        self.kinds.add(kind)
        self.pieces.setdefault((kind, index), []).append(text)
        if kind in _THOUGHTS:
            return Delta(reasoning=between + text)
        if kind in _ARGUMENTS:
            return Delta(tool_arguments=text)
        return Delta(text=text if kind == "output_text" else "")

    def built(self) -> Item:
        """The item: as its last event has it, unless its pieces say more."""
        if not self.pieces or (self.done and _size(self.fields) >= _length(self.pieces)):
            return self.fields
        texts = {where: "".join(pieces) for where, pieces in sorted(self.pieces.items(), key=lambda entry: entry[0][1])}
        kind = string(self.fields.get("type")) or _ITEM_OF_PIECES[next(iter(texts))[0]]
        item: dict[str, Any] = {**self.fields, "type": kind}
        if kind == "reasoning":
            item["summary"] = [_part(k, text) for (k, _), text in texts.items() if k == "summary_text"]
            item["content"] = [_part(k, text) for (k, _), text in texts.items() if k == "reasoning_text"]
        elif kind == "message":
            item["content"] = [_part(k, text) for (k, _), text in texts.items() if k in ("output_text", "refusal")]
        else:
            item |= {k: text for (k, _), text in texts.items() if k in _ARGUMENTS}
        return item


class OutputCollector:
    """Gathers the items of one answer from its events, or takes them whole."""

    def __init__(self) -> None:
        self._open: dict[int | str, _OpenItem] = {}
        self._final: list[Item] = []

    def take(self, event: Mapping[str, Any]) -> Delta | None:
        """Adds an event about an item; returns what is new of it to show."""
        kind, _, phase = string(event.get("type")).rpartition(".")
        if kind == "response.output_item" and phase in ("added", "done"):
            given = mapping(event.get("item"))
            return _told(given, self._take_item(self._item(event), given, done=phase == "done"), done=phase == "done")
        if kind not in _PIECES or phase not in ("delta", "done"):
            return None
        piece, field = _PIECES[kind]
        index = count(event.get("content_index" if piece != "summary_text" else "summary_index")) or 0
        item = self._item(event)
        if phase == "delta":
            text = string(event.get("delta"))
            return item.add(piece, index, text) if text else None
        text = string(event.get(field))
        return item.add(piece, index, text) if text and (piece, index) not in item.pieces else None

    def finish(self, output: object) -> Delta | None:
        """Takes the items of a whole answer or of a stream's last event; returns them to show if none was yet."""
        self._final = [item for item in map(mapping, sequence(output)) if item]
        return _shown(self._final) if not self._open else None

    def items(self) -> list[Item]:
        """All items in order: the final ones, unless the stream has shown more."""
        if not self._open:
            return self._final
        streamed = [item for entry in self._open.values() if (item := entry.built())]
        return self._final if _total(self._final) >= _total(streamed) else streamed

    def _item(self, event: Mapping[str, Any]) -> _OpenItem:
        """By its place, which some gateways keep where they change its id."""
        index = count(event.get("output_index"))
        key = (
            index if index is not None else string(event.get("item_id")) or string(mapping(event.get("item")).get("id"))
        )
        return self._open.setdefault(key, _OpenItem())

    @staticmethod
    def _take_item(entry: _OpenItem, item: Item, *, done: bool) -> Delta | None:
        if not item:
            return None
        unseen = done and not entry.pieces
        entry.fields, entry.done = item, entry.done or done
        shown = _shown([item])
        if shown is None:
            return None
        name = "" if entry.named else shown.tool_name
        entry.named = entry.named or bool(name)
        if unseen:
            return Delta(shown.text, shown.reasoning, name, shown.tool_arguments)
        return Delta(tool_name=name) if name else None


def _told(item: Item, new: Delta | None, *, done: bool) -> Delta | None:
    """What is new, with the item itself where whoever shows the answer as items needs more than its text."""
    kind = item.get("type")
    if done and kind == "reasoning":
        return replace(new or Delta(), thought=item)
    if not done and kind in ("reasoning", "message"):
        return replace(new or Delta(), begins=item)
    return new


def _part(kind: str, text: str) -> dict[str, str]:
    return {"type": kind, "refusal" if kind == "refusal" else "text": text}


def _shown(items: list[Item]) -> Delta | None:
    parts = read_parts(items, cut=False)
    name = "".join(call.name for call in parts.calls)
    arguments = "".join(call.raw for call in parts.calls)
    found = Delta(parts.text, parts.reasoning, name, arguments)
    return found if found != Delta() else None


def _length(pieces: Mapping[tuple[str, int], list[str]]) -> int:
    return sum(len(piece) for texts in pieces.values() for piece in texts)


def _size(item: Item) -> int:
    """How much an item says, in characters."""
    parts = [*content_of(item), *map(mapping, sequence(item.get("summary")))]
    texts = [text for part in parts for text in (part.get("text"), part.get("refusal"))]
    return sum(len(string(text)) for text in (*texts, item.get("arguments"), item.get("input")))


def _total(items: list[Item]) -> tuple[int, int]:
    return len(items), sum(map(_size, items))
