"""Reads the answer to a request for a stream: events, or one JSON document where a server does not stream."""

from collections.abc import Mapping
from typing import Any

import jiter

from agentcore.errors import DecodeError
from agentcore.messages import ChatResponse, Delta
from agentcore.providers.framing import EventReader, Framing, ServerSentEvent, leading, read_json, sniff
from agentcore.providers.openai_answer import Answer
from agentcore.providers.openai_errors import find_error
from agentcore.providers.shapes import mapping, string

_DIALECT_KEYS = frozenset({"choices", "usage", "x_groq"})


def is_dialect(payload: Mapping[str, Any]) -> bool:
    """Whether an object can be a chunk, an answer or an error of this dialect."""
    return (
        not _DIALECT_KEYS.isdisjoint(payload)
        or string(payload.get("object")).startswith("chat.completion")
        or find_error(payload) is not None
    )


def take_body(answer: Answer, payload: object) -> None:
    """Adds one whole body; DecodeError for another vendor's JSON."""
    if isinstance(payload, list):  # Google's compatible endpoint wraps an error in an array
        payload = next(iter(payload), None)
    body = mapping(payload)
    if not is_dialect(body):
        raise DecodeError("The provider answered with JSON that is no chat completion. Check the base URL.")
    answer.take(body, whole=True)


class ChatStreamDecoder:
    """One decoder per answer. Once it has raised, it raises again; `close` may be called more than once."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._framing: Framing | None = None
        self._failure: DecodeError | None = None
        self._response: ChatResponse | None = None
        self._head = b""
        self._document: list[bytes] = []
        self._events = EventReader()
        self._done = False
        self._recognized = False
        self._unread = False

    def feed(self, data: bytes) -> list[Delta]:
        """Takes the next bytes; returns what is new to show. DecodeError as soon as they are no answer at all."""
        if self._failure is not None:
            raise self._failure
        if self._framing is None:
            data = self._settle_framing(data)
        if self._framing is Framing.DOCUMENT:
            self._document.append(data)
        if self._framing is Framing.EVENTS:
            return self._take_events(self._events.feed(data))
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
            self._framing = sniff(self._head)
        except DecodeError as error:
            self._failure = error
            raise
        return self._head

    def _finish(self) -> ChatResponse:
        if self._framing is Framing.DOCUMENT:
            return self._finish_document(b"".join(self._document))
        if self._framing is None:
            begun = f"only {self._head!r}" if self._head else "an empty body"
            raise DecodeError(f"The provider answered with {begun}, which is no chat completion. Check the base URL.")
        self._take_events(self._events.close())
        if self._unread and not self._recognized:
            raise DecodeError("The provider sent events, but none of them is of a chat completion. Check the base URL.")
        return self._answer.response(closed=self._done)

    def _finish_document(self, document: bytes) -> ChatResponse:
        try:
            payload, cut = read_json(document), False
        except ValueError:
            payload, cut = _read_cut(document), True
        take_body(self._answer, payload)
        return self._answer.response(closed=True, cut_body=cut)

    def _take_events(self, events: list[ServerSentEvent]) -> list[Delta]:
        deltas = []
        for event in events:
            for payload in self._payloads(event):
                delta = self._take_payload(event.name, payload)
                if delta is not None:
                    deltas.append(delta)
        return deltas

    def _payloads(self, event: ServerSentEvent) -> list[Any]:
        """The event's JSON; line by line where a server leaves out the empty lines between events."""
        data = event.data.strip()
        if data == b"[DONE]":
            self._done = True
            return []
        try:
            return [read_json(data)]
        except ValueError:
            if b"\n" in data:
                lines = [ServerSentEvent(event.name, line) for line in data.split(b"\n")]
                return [payload for line in lines for payload in self._payloads(line)]
        return [data.decode("utf-8", "replace")]

    def _take_payload(self, name: str, payload: object) -> Delta | None:
        chunk = mapping(payload)
        if name == "error" and find_error(chunk) is None:
            chunk = {"error": chunk or {"message": string(payload) or "The provider sent an error event."}}
        if is_dialect(chunk):
            self._recognized = True
            return self._answer.take(chunk, whole=False)
        self._unread = True
        return None


def _read_cut(document: bytes) -> object:
    """What is there of a document that ends too early; DecodeError where its end is not what is wrong."""
    try:
        jiter.from_json(document)
    except ValueError as error:
        if not str(error).startswith("EOF while parsing"):
            raise DecodeError(f"The provider answered with JSON that cannot be read: {error}.") from error
    try:
        return jiter.from_json(document, partial_mode="trailing-strings")
    except ValueError as error:
        raise DecodeError(f"The provider answered with JSON that cannot be read: {error}.") from error
