"""Reads the answer to a request for a stream, for every dialect of JSON in server-sent events.

The bytes are events (on AWS also binary messages), or one JSON document where a server does not stream; what they say
is gathered by the dialect's own `EventAnswer`.

Reads an answer that is a row of JSON objects: one per line, in an array, in events, or one alone.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

from agentcore.argument_validation import required
from agentcore.errors import CHECK_BASE_URL, DecodeError
from agentcore.messages import ChatResponse, Delta
from agentcore.providers.wire.event_stream import EventStreamReader, payload_of
from agentcore.providers.wire.framing import (
    EventReader,
    Framing,
    ObjectReader,
    ServerSentEvent,
    leading,
    quoted,
    sniff,
)
from agentcore.providers.wire.text_events import TextEvents
from agentcore.providers.wire.untrusted_json import (
    is_cut_json,
    mapping,
    read_cut_json,
    read_json,
    read_json_or_cut,
    string,
)


class EventAnswer(Protocol):
    """One answer of a dialect, gathered payload by payload."""

    noun: str  #: what an answer is called, as in "no chat completion"
    ended: bool  #: its closing event was seen

    def is_dialect(self, payload: Mapping[str, Any], /) -> bool:
        """Whether an object can be a piece, an answer or an error of this dialect."""
        ...

    def take(self, payload: Mapping[str, Any], /, *, whole: bool) -> Delta | None:
        """Adds a piece, or (`whole`) a complete body; returns what is new of it to show."""
        ...

    def response(self, *, closed: bool, cut_body: bool = False) -> ChatResponse:
        """The answer so far. `closed`: its end was seen; `cut_body`: it is one JSON body that ends too early."""
        ...


def not_ours(answer: EventAnswer) -> DecodeError:
    """The error for JSON that holds nothing of the answer's dialect."""
    return DecodeError(f"The provider answered with JSON that is no {answer.noun}.", advice=CHECK_BASE_URL)


def take_body(answer: EventAnswer, payload: object) -> None:
    """Adds one whole body, or the pieces of a stream kept in an array; DecodeError for another vendor's JSON."""
    # Google's compatible endpoint wraps a single error in an array, too.
    bodies = [mapping(one) for one in (payload if isinstance(payload, list) else [payload])]
    ours = [body for body in bodies if answer.is_dialect(body)]
    if not ours:
        raise not_ours(answer)
    for body in ours:
        answer.take(body, whole=len(bodies) == 1)


class EventDecoder:
    """One decoder per answer. Once it has raised, it raises again; `close` may be called more than once."""

    def __init__(self, answer: EventAnswer, *, messages: bool = False, texts: TextEvents | None = None) -> None:
        """`messages`: the answer may come in AWS's binary messages too; `texts`: reads the events that say a text."""
        self._answer = answer
        self._texts = texts
        self._may_be_messages = messages
        self._messages: EventStreamReader | None = None
        self._framing: Framing | None = None
        self._failure: DecodeError | None = None
        self._response: ChatResponse | None = None
        self._head = b""
        self._document: list[bytes] = []
        self._events = EventReader()
        self._done = False
        self._recognized = False
        self._unread = False

    @property
    def ended(self) -> bool:
        """Whether the closing event of a stream was seen; nothing of the answer follows but what counts it."""
        return self._done or self._answer.ended

    def feed(self, data: bytes) -> list[Delta]:
        """Takes the next bytes; returns what is new to show. DecodeError as soon as they are no answer at all."""
        if not isinstance(data, bytes | bytearray | memoryview):
            required(data, bytes, "data")
        if self._failure is not None:
            raise self._failure
        if self._framing is None:
            data = self._settle_framing(data)
        match self._framing:
            case Framing.EVENTS:
                return self._take_stream(data)
            case Framing.MESSAGES:
                return self._take_messages(data)
            case Framing.DOCUMENT:
                return self._take_document(data)
            case None:
                return []

    def close(self) -> ChatResponse:
        """The answer as far as it came. DecodeError where nothing of it was of this dialect."""
        if self._failure is not None:
            raise self._failure
        if self._response is None:
            try:
                self._response = self._finish()
            except DecodeError as error:
                self._failure = error
                raise
        return self._response

    def _settle_framing(self, data: bytes) -> bytes:
        self._head = leading(self._head + data)
        try:
            self._framing = sniff(self._head, messages=self._may_be_messages)
        except DecodeError as error:
            self._failure = error
            raise
        return self._head

    def _finish(self) -> ChatResponse:
        noun = self._answer.noun
        if self._framing is Framing.DOCUMENT:
            document, self._document = b"".join(self._document), []
            return self._finish_document(document)
        if self._framing is None:
            begun = f"only {quoted(self._head)}" if self._head else "an empty body"
            raise DecodeError(f"The provider answered with {begun}, which is no {noun}.", advice=CHECK_BASE_URL)
        self._take_events(self._events.close())
        if self._unread and not self._recognized:
            raise DecodeError(f"The provider sent events, but no {noun} is among them.", advice=CHECK_BASE_URL)
        return self._answer.response(closed=self._done)

    def _finish_document(self, document: bytes) -> ChatResponse:
        if document.startswith(b"{"):
            # Nearly every document is one object, whole or cut short, in which no others are to be found.
            with suppress(ValueError):
                payload, cut = read_json_or_cut(document)
                take_body(self._answer, payload)
                return self._answer.response(closed=True, cut_body=cut)
        reader = ObjectReader()
        objects = reader.feed(document)
        more_was_to_come = reader.rest or (document.startswith(b"[") and not reader.closed)
        if len(objects) > 1 or (objects and more_was_to_come):
            return self._finish_objects(objects, closed=reader.closed)
        try:
            payload, cut = read_json(document), False
        except ValueError:
            payload, cut = read_cut_json(document), True
        take_body(self._answer, payload)
        return self._answer.response(closed=True, cut_body=cut)

    def _finish_objects(self, objects: list[bytes], *, closed: bool) -> ChatResponse:
        """A stream without the framing of events: one object per line, or all of them in an array."""
        for one in objects:
            with suppress(ValueError):
                self._take_payload("", read_json(one))
        if not self._recognized:
            raise not_ours(self._answer)
        return self._answer.response(closed=closed)

    def _take_document(self, data: bytes) -> list[Delta]:
        """A document is read when it is whole."""
        self._document.append(data)
        return []

    def _take_stream(self, data: bytes) -> list[Delta]:
        """What comes of an event stream: of texts that are alike in one go, of the rest event by event."""
        texts = self._texts
        if texts is None or not texts.wanted:
            return self._take_events(self._events.feed(data))
        deltas, at = list[Delta](), 0
        while at < len(data):
            if begins := self._events.is_between:
                said, at = texts.take(data, at)
                deltas += said
                if at == len(data):
                    break
            end = data.find(b"\n\n", at) + 2
            event = data[at:end] if end > 1 else data[at:]
            deltas += self._take_events(self._events.feed(event))
            at += len(event)
            if begins and self._recognized and texts.wanted:
                texts.learn(event)
        return deltas

    def _take_events(self, events: list[ServerSentEvent]) -> list[Delta]:
        deltas = []
        for event in events:
            for payload in self._payloads(event):
                delta = self._take_payload(event.name, payload)
                if delta is not None:
                    deltas.append(delta)
        return deltas

    def _take_messages(self, data: bytes) -> list[Delta]:
        self._messages = self._messages or EventStreamReader()
        try:
            messages = self._messages.feed(data)
        except DecodeError as error:
            self._failure = error
            raise
        payloads = [payload_of(message) for message in messages]
        return [delta for payload in payloads if (delta := self._take_payload("", payload)) is not None]

    def _payloads(self, event: ServerSentEvent) -> Sequence[Any]:
        """The event's JSON; line by line where a server leaves out the empty lines between events."""
        data = event.data
        if data.strip() == b"[DONE]":
            self._done = True
            return ()
        with suppress(ValueError):
            return (read_json(data),)
        if b"\n" in data:
            lines = [ServerSentEvent(event.name, line) for line in data.split(b"\n")]
            return [payload for line in lines for payload in self._payloads(line)]
        return (data.decode("utf-8", "replace"),)

    def _take_payload(self, name: str, payload: object) -> Delta | None:
        piece = mapping(payload)
        if name == "error" and not piece.get("error"):
            piece = {"error": piece or {"message": string(payload) or "The provider sent an error event."}}
        if self._answer.is_dialect(piece):
            self._recognized = True
            return self._answer.take(piece, whole=False)
        cut = isinstance(payload, str) and is_cut_json(payload.encode("utf-8", "replace"))
        self._unread |= not cut  # an object that is cut short may well be one of ours
        return None


class ObjectDecoder(EventDecoder):
    """As `EventDecoder`, but each object outside events is a piece of the answer, taken as soon as it is whole."""

    def __init__(self, answer: EventAnswer) -> None:
        super().__init__(answer)
        self._objects = ObjectReader()
        self._seen = 0

    def _finish(self) -> ChatResponse:
        if self._framing is not Framing.DOCUMENT:
            return super()._finish()
        rest = self._objects.rest
        if rest and not self._seen:
            take_body(self._answer, read_cut_json(rest))
            return self._answer.response(closed=False, cut_body=True)
        if not self._recognized:
            raise not_ours(self._answer)
        alone = self._seen == 1 and self._head.startswith(b"{") and not rest
        return self._answer.response(closed=self._objects.closed or alone)

    def _take_document(self, data: bytes) -> list[Delta]:
        objects = self._objects.feed(data)
        self._seen += len(objects)
        deltas = []
        for one in objects:
            try:
                delta = self._take_payload("", read_json(one))
            except ValueError:
                continue
            if delta is not None:
                deltas.append(delta)
        return deltas
