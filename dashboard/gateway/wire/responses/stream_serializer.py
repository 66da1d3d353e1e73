"""A streamed answer in the Responses API's form: its events, in its order. Pure.

created → in_progress → items, each added, filled and done → completed or incomplete (or failed, at any moment).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dashboard.gateway.wire.answer_values import AnswerIdentity, EndedTurn
from dashboard.gateway.wire.faults import Fault
from dashboard.gateway.wire.parsed_request import ParsedRequest
from dashboard.gateway.wire.responses import output
from dashboard.gateway.wire.responses.events import EventLog
from dashboard.gateway.wire.responses.output import Json
from dashboard.gateway.wire.responses.serializers import ended_response, response_of
from dashboard.gateway.wire.responses.status_words import FAILED, IN_PROGRESS, status_of


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
