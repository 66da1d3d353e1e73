"""The events of a stream of the Responses API as bytes, each with the number after the one before it. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from json.encoder import encode_basestring_ascii as quoted
from typing import Any

from dashboard.gateway.wire.responses.output import Json, summary, text_part
from dashboard.gateway.wire.responses.serializers import to_json

#: Of a call, by its type: the field that is written piece by piece, and the events that say so.
_ARGUMENTS: Mapping[str, tuple[str, str]] = {
    "function_call": ("arguments", "response.function_call_arguments"),
    "custom_tool_call": ("input", "response.custom_tool_call_input"),
}
#: Of a part of a message, by its type: the field of its text, and what its last event says beside.
_PARTS: Mapping[str, tuple[str, Json]] = {"output_text": ("text", {"logprobs": []}), "refusal": ("refusal", {})}


@dataclass(slots=True)
class EventLog:
    """What has been written of a stream. An item that is open has the place after those that are done."""

    number: int = 0  #: of the next event
    items: list[Json] = field(default_factory=list)  #: those that are done

    def event(self, kind: str, **fields: Any) -> bytes:
        self.number += 1
        told = to_json({"type": kind, "sequence_number": self.number - 1, **fields})
        return f"event: {kind}\ndata: {told}\n\n".encode()

    def about(self, kind: str, item: Json, **fields: Any) -> bytes:
        """An event about the item that is open."""
        return self.event(kind, item_id=item.get("id"), output_index=len(self.items), **fields)

    def texts(self, item_id: str, texts: Sequence[str]) -> bytes:
        """More of the text of the message that is open. Pieced together: a stream is thousands of them."""
        head = 'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":'
        about = f',"item_id":{quoted(item_id)},"output_index":{len(self.items)},"content_index":0,"delta":'
        first, self.number = self.number, self.number + len(texts)
        told = [f'{head}{n}{about}{quoted(text)},"logprobs":[]}}\n\n' for n, text in enumerate(texts, start=first)]
        return "".join(told).encode()

    def added(self, item: Json) -> bytes:
        return self.event("response.output_item.added", output_index=len(self.items), item=item)

    def done(self, item: Json) -> bytes:
        told = self.event("response.output_item.done", output_index=len(self.items), item=item)
        self.items.append(item)
        return told

    def begun_message(self, item: Json) -> bytes:
        return self.added({**item, "content": []}) + self._part_added(item, 0, text_part(""))

    def text_done(self, item: Json, part: Json) -> bytes:
        """The text of the message that is open, which has been told."""
        return self._part_done(item, 0, part)

    def begun_thoughts(self, item: Json) -> bytes:
        return self.added({**item, "summary": []}) + self._summary("added", item, 0, summary(""))

    def thoughts_done(self, item: Json) -> bytes:
        """An item of one summary, whose text has been told."""
        return self._summary_done(item, 0, item["summary"][0]) + self.done(item)

    def part(self, item: Json, at: int, part: Json) -> bytes:
        """A whole part of a message."""
        name, beside = _PARTS.get(part.get("type", ""), ("", {}))
        told = self._part_added(item, at, {**part, name: ""} if name else part)
        if name and part.get(name):
            told += self.about(f"response.{part['type']}.delta", item, content_index=at, delta=part[name], **beside)
        return told + self._part_done(item, at, part)

    def whole(self, item: Json) -> bytes:
        """A whole item at once."""
        begun = {**item, "status": "in_progress"} if "status" in item else item
        match item["type"]:
            case "message":
                parts = item.get("content") or []
                filled = [self._in(begun, "content"), *(self.part(item, n, part) for n, part in enumerate(parts))]
            case "reasoning":
                filled = [self._in(begun, "summary", "content"), *self._thoughts(item)]
            case kind if kind in _ARGUMENTS:
                name, events = _ARGUMENTS[kind]
                told = item.get(name) or ""
                filled = [self.added({**begun, name: ""}), self.about(f"{events}.delta", item, delta=told)]
                filled.append(self.about(f"{events}.done", item, **{name: told}))
            case _:
                filled = [self.added(begun)]
        return b"".join(filled) + self.done(item)

    def _in(self, item: Json, *lists: str) -> bytes:
        """An item added, whose lists follow."""
        return self.added(item | {name: [] for name in lists if name in item})

    def _thoughts(self, item: Json) -> list[bytes]:
        told = []
        for n, part in enumerate(item.get("summary") or []):
            told.append(self._summary("added", item, n, summary("")))
            text = part.get("text", "")
            told.append(self.about("response.reasoning_summary_text.delta", item, summary_index=n, delta=text))
            told.append(self._summary_done(item, n, part))
        for n, part in enumerate(item.get("content") or []):
            text = part.get("text", "")
            told.append(self.about("response.reasoning_text.delta", item, content_index=n, delta=text))
            told.append(self.about("response.reasoning_text.done", item, content_index=n, text=text))
        return told

    def _summary(self, phase: str, item: Json, at: int, part: Json) -> bytes:
        return self.about(f"response.reasoning_summary_part.{phase}", item, summary_index=at, part=part)

    def _summary_done(self, item: Json, at: int, part: Json) -> bytes:
        text = part.get("text", "")
        told = self.about("response.reasoning_summary_text.done", item, summary_index=at, text=text)
        return told + self._summary("done", item, at, part)

    def _part_added(self, item: Json, at: int, part: Json) -> bytes:
        return self.about("response.content_part.added", item, content_index=at, part=part)

    def _part_done(self, item: Json, at: int, part: Json) -> bytes:
        name, beside = _PARTS.get(part.get("type", ""), ("", {}))
        said = {name: part.get(name, ""), **beside}
        told = self.about(f"response.{part['type']}.done", item, content_index=at, **said) if name else b""
        return told + self.about("response.content_part.done", item, content_index=at, part=part)
