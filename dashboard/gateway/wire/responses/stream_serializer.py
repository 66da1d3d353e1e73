"""A streamed answer in the Responses API's form: its events, in its order. Pure.

created → in_progress → items, each added, filled and done → completed or incomplete (or failed, at any moment).

Also holds the events of a stream of the Responses API as bytes, each with the number after the one before it. Pure.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from json.encoder import encode_basestring_ascii as quoted
from typing import Any

from dashboard.gateway.wire.answer_values import AnswerIdentity, EndedTurn
from dashboard.gateway.wire.faults import Fault
from dashboard.gateway.wire.parsed_request import ParsedRequest
from dashboard.gateway.wire.responses import output
from dashboard.gateway.wire.responses.output import FAILED, IN_PROGRESS, Json, status_of, summary, text_part
from dashboard.gateway.wire.responses.serializers import ended_response, response_of, to_json

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


class EventStream:
    """The events of one stream. Thoughts are told up to the first word of the answer."""

    def __init__(self, named: AnswerIdentity, asked: ParsedRequest) -> None:
        self._named, self._asked = named, asked
        self._written = EventLog()
        self._thoughts: list[str] = []  #: of the item of thoughts that is open
        self._pieces: list[str] = []  #: of the message's text
        self._message: Json | None = None  #: while it is open
        self._announced: Json = {}  #: the message that an upstream of this dialect is about to write
        self._awaits = False  #: whether such an upstream thinks: its thoughts are told once they are whole, and signed

    def texts(self, texts: Sequence[str]) -> bytes:
        """More of the answer, each text in an event of its own."""
        if not texts:
            return b""
        opened = self._open_message() if self._message is None else b""
        assert self._message is not None, "it is open"
        self._pieces += texts
        return opened + self._written.texts(self._message["id"], texts)

    def reasoning(self, text: str, signature: str) -> bytes:
        """What the model thinks aloud before it answers. This dialect has no place for another's signature."""
        del signature
        if self._message is not None or self._awaits or not text:
            return b""
        item = output.thought_item(self._named, "")
        told = b"" if self._thoughts else self._start() + self._written.begun_thoughts(item)
        self._thoughts.append(text)
        return told + self._written.about("response.reasoning_summary_text.delta", item, summary_index=0, delta=text)

    def begins(self, item: Mapping[str, Any]) -> bytes:
        """An upstream of this dialect begins an item, which is told as soon as there is more of it."""
        if item.get("type") == "reasoning":
            self._awaits = True
        elif self._message is None and isinstance(item.get("id"), str):
            self._announced = {name: value for name, value in item.items() if name not in ("content", "status")}
        return b""

    def thought(self, item: Mapping[str, Any]) -> bytes:
        """A whole item of thoughts of an upstream of this dialect: as it came, with what signs it."""
        if self._message is not None or self._thoughts or not isinstance(item.get("id"), str):
            return b""
        self._awaits = False
        return self._start() + self._written.whole({**item})

    def end(self, ended: EndedTurn) -> bytes:
        """All that is not told yet, and the last event, which repeats it all; the text has been told before."""
        told = self._start() + self._end_thoughts()
        stand = output.items_that_stand(ended)
        told += self._made(ended) if stand is None else self._standing(stand, ended)
        whole = ended_response(self._named, self._asked, ended, self._written.items)
        return told + self._written.event(f"response.{status_of(ended)}", response=whole)

    def fails(self, fault: Fault, _request_id: str) -> bytes:
        """The last event of a stream that ends with an error. It repeats no item: of those that were to be told, some
        may not be given out."""
        started, error = self._start(), {"code": fault.code or "server_error", "message": fault.message}
        failed = response_of(self._named, self._asked, FAILED, error=error)
        return started + self._written.event("response.failed", response=failed)

    def _made(self, ended: EndedTurn) -> bytes:
        """What is said, as items of ours."""
        said, told = ended.said, b""
        if self._message is None and not self._written.items:
            told += self._all(output.thoughts_of(self._named, ended))
        if self._message is not None:
            told += self._end_message(ended)
        elif said.text is not None or said.refusal is not None:
            told += self._written.whole(output.message_item(self._named, said.text, said.refusal, status_of(ended)))
        return told + self._all(output.calls_of(self._named, ended))

    def _standing(self, items: Sequence[Json], ended: EndedTurn) -> bytes:
        """The items of an upstream of this dialect, but for those that are told already; what several messages say has
        been told as one."""
        told, done = b"", {item.get("id") for item in self._written.items}
        is_one = sum(item["type"] == "message" for item in items) == 1
        for item in items:
            if item["type"] == "message" and self._pieces:
                told += self._end_message(ended, item if is_one else None) if self._message is not None else b""
            elif item.get("id") is None or item["id"] not in done:
                told += self._written.whole(item)
        return told

    def _all(self, items: Iterable[Json]) -> bytes:
        return b"".join([self._written.whole(item) for item in items])

    def _start(self) -> bytes:
        if self._written.number:
            return b""
        response = response_of(self._named, self._asked, IN_PROGRESS)
        events = (self._written.event(f"response.{kind}", response=response) for kind in ("created", IN_PROGRESS))
        return b"".join(events)

    def _end_thoughts(self) -> bytes:
        if not self._thoughts:
            return b""
        item = output.thought_item(self._named, "".join(self._thoughts))
        self._thoughts.clear()
        return self._written.thoughts_done(item)

    def _open_message(self) -> bytes:
        told = self._start() + self._end_thoughts()
        self._message = {**output.begun_message(self._named), **self._announced}
        return told + self._written.begun_message(self._message)

    def _end_message(self, ended: EndedTurn, as_it_came: Json | None = None) -> bytes:
        """The message that is open; `as_it_came`: the upstream's own."""
        item, refusal, self._message = self._message, ended.said.refusal, None
        assert item is not None, "it is open"
        parts = [output.text_part("".join(self._pieces))]
        told = self._written.text_done(item, parts[0])
        if refusal is not None:
            parts.append(output.refusal_part(refusal))
            told += self._written.part(item, 1, parts[1])
        made = {**item, "status": status_of(ended), "content": parts}
        return told + self._written.done(made if as_it_came is None else {**as_it_came, "id": item["id"]})
