"""Writes the response to the client: status, headers, body. The only place of the gateway that speaks ASGI to it."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dashboard.gateway.wire.answer_values import EMPTY_LINE, KEEP_ALIVE, ItemStream
from dashboard.gateway.wire.caller_dialect import CallerDialect
from dashboard.gateway.wire.chat.dialect import CHAT
from dashboard.gateway.wire.faults import Fault
from dashboard.platform.ids import new_id

Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Headers = Iterable[tuple[str, str]]

JSON, EVENTS = "application/json", "text/event-stream; charset=utf-8"
MOST_AT_ONCE = 256 * 1024  #: bytes; a server copies what it is given, and waits for its client in between
UNRECORDED = (b"x-whystop-recorded", b"no")
_LONGEST = 500  #: characters of a header of ours
_CONTROLS = dict.fromkeys([*range(32), 127], "?")
_PLAIN = str.maketrans({"“": '"', "”": '"', "’": "'", "…": "...", "≥": ">=", "→": "->", "\u202f": " ", "\u00a0": " "})
SILENCE_SECONDS = 10.0  #: of a stream, after which a comment is sent
_KIND, _EVENTS = b"content-type", b"text/event-stream"
_JSON = b"application/json; charset=utf-8"


def header_words(words: str) -> str:
    """A sentence as a header may hold it: printable ASCII, on one line, not too long."""
    line = " ".join(words.translate(_PLAIN).split())
    is_plain = line.isascii() and line.isprintable()
    plain = line if is_plain else "".join(letter if " " <= letter <= "~" else "?" for letter in line)
    return plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 3]}..."


@dataclass(slots=True)
class ResponseWriter:
    """One answer. Not begun until something is said, so that an error can still have its own status.

    `door`: in whose form errors are told. `call`: 32 hex digits by which a request is known; those of its turn, if any.
    """

    send: Send
    door: CallerDialect = CHAT
    call: str = ""
    named: tuple[tuple[bytes, bytes], ...] = ()  #: headers that every answer of this call has
    recorded: bool = True  #: as far as is known when it begins; what is not says so in a header
    begun: bool = False
    ended: bool = False  #: or about to
    within: bool = False  #: a large piece, of which a part has been said: nothing else may stand there
    status: int = 0
    stream: ItemStream | None = None  #: the answer's own events, where they know how to end with an error
    last: float = field(default_factory=lambda: asyncio.get_running_loop().time())  #: when something was said

    async def whole(self, status: int, body: bytes, headers: Headers = (), *, content_type: str = JSON) -> None:
        """All of it at once."""
        told = [(b"content-type", _encoded(content_type)), (b"content-length", b"%d" % len(body))]
        self.ended = True
        await self._start(status, [*told, *((name.encode("latin-1"), _encoded(value)) for name, value in headers)])
        await self._say(body, more=False)

    async def fault(self, fault: Fault) -> None:
        """An error in place of an answer."""
        await self.whole(fault.status, self.fault_body(fault), fault.headers)

    def fault_body(self, fault: Fault) -> bytes:
        return self.door.fault(fault, self._request_id)

    def fault_event(self, fault: Fault) -> bytes:
        """An error in the middle of a stream; nothing follows it."""
        told = self.door.fault_event if self.stream is None else self.stream.fails
        return told(fault, self._request_id)

    @property
    def _request_id(self) -> str:
        self.call = self.call or new_id().hex
        return f"req_{self.call}"

    async def begin(self, status: int, headers: Headers, *, content_type: str) -> None:
        """The head of an answer whose body follows in pieces."""
        told = [(name.encode("latin-1"), _encoded(value)) for name, value in headers]
        await self._start(status, [(b"content-type", _encoded(content_type)), *told])

    async def more(self, data: bytes, *, content_type: str = EVENTS) -> None:
        """More of a stream, which begins with this if it has not; then the first of it is on its way."""
        begins = not self.begun
        if begins:
            told = [(b"content-type", _encoded(content_type)), (b"cache-control", b"no-cache")]
            await self._start(200, [*told, (b"x-accel-buffering", b"no")])
        self.last = asyncio.get_running_loop().time()
        await self._say(data, more=True)
        if begins:
            await asyncio.sleep(0)  # servers send once the loop goes on, and more may be at hand

    async def close(self) -> None:
        """The end of a stream."""
        self.ended = True
        await self.send({"type": "http.response.body", "body": b""})

    async def _say(self, data: bytes, *, more: bool) -> None:
        if len(data) > MOST_AT_ONCE:
            self.within = True
            rest = (len(data) - 1) // MOST_AT_ONCE * MOST_AT_ONCE
            for at in range(0, rest, MOST_AT_ONCE):
                piece = data[at : at + MOST_AT_ONCE]
                await self.send({"type": "http.response.body", "body": piece, "more_body": True})
            self.within, data = False, data[rest:]
        await self.send({"type": "http.response.body", "body": data, "more_body": more})

    async def _start(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        self.begun, self.status = True, status
        told = [*headers, *self.named] if self.recorded else [*headers, *self.named, UNRECORDED]
        if self.door.headers.request_id:
            told.append((self.door.headers.request_id.encode(), self._request_id.encode()))
        await self.send({"type": "http.response.start", "status": status, "headers": told})


def _encoded(value: str) -> bytes:
    """A header's value. An upstream's may hold what may not be sent on: servers refuse the whole answer then."""
    return value.translate(_CONTROLS).encode("latin-1", "replace")


class KeepAlive:
    """Sends comments on one stream while it is silent, until it is stopped, so that no proxy closes it.

    By a timer: a task for each stream would cost more than most say.
    """

    def __init__(self, outgoing: ResponseWriter) -> None:
        self._outgoing = outgoing
        self._loop = asyncio.get_running_loop()
        self._saying: asyncio.Task[None] | None = None
        self._timer = self._loop.call_later(SILENCE_SECONDS, self._look)

    def _look(self) -> None:
        silent = self._loop.time() - self._outgoing.last
        if silent >= SILENCE_SECONDS:
            self._saying = self._loop.create_task(self._say())
            silent = 0.0
        self._timer = self._loop.call_later(max(0.01, SILENCE_SECONDS - silent), self._look)

    async def _say(self) -> None:
        if not (self._outgoing.ended or self._outgoing.within):
            with contextlib.suppress(OSError):
                await self._outgoing.more(KEEP_ALIVE if self._outgoing.door.comments else EMPTY_LINE)

    def stop(self) -> None:
        """The stream is at its end."""
        self._timer.cancel()
        if self._saying is not None:
            self._saying.cancel()


class JsonArrayStream:
    """`send` for a stream of the Gemini API without `alt=sse`: one JSON array, element by element.

    All of the gateway speaks in events; they become elements at the very last, each the same bytes. An answer that is
    no stream goes as it is.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._streams = False
        self._line: list[bytes] = []  #: that has not ended yet, as it came: put together each time, it would be copied
        self._opened = False

    async def __call__(self, message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            await self._send({**message, "headers": self._headers(message["headers"])})
        elif self._streams:
            await self._tell(message.get("body", b""), more=message.get("more_body", False))
        else:
            await self._send(message)

    def _headers(self, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        self._streams = any(name == _KIND and value.startswith(_EVENTS) for name, value in headers)
        return [(name, _JSON if self._streams and name == _KIND else value) for name, value in headers]

    async def _tell(self, data: bytes, *, more: bool) -> None:
        told = b"".join(self._element(line) for line in self._lines(data) if line.startswith(b"data:"))
        if not more:
            told += b"]" if self._opened else b"[]"
        elif not told and data.isspace():
            told = b"\n"  # said so that nothing between us takes the answer for dead
        if told or not more:
            await self._send({"type": "http.response.body", "body": told, "more_body": more})

    def _lines(self, data: bytes) -> list[bytes]:
        """Those that end in it."""
        whole, ends, rest = data.rpartition(b"\n")
        if not ends:
            self._line.append(rest)
            return []
        lines = b"".join((*self._line, whole)).split(b"\n")
        self._line = [rest]
        return lines

    def _element(self, line: bytes) -> bytes:
        before, self._opened = b",\r\n" if self._opened else b"[", True
        return before + line.removeprefix(b"data:").strip()
