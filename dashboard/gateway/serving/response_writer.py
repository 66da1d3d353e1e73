"""Writes the response to the client: status, headers, body. The only place of the gateway that speaks ASGI to it."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dashboard.gateway.wire.answer_values import ItemStream
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
