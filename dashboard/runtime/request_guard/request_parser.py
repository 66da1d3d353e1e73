"""What comes at one connection, as uvicorn's parser tells of it: heads and bodies, counted before they are kept.

A head has so many bytes and fields, and a connection so many requests that wait. What is beyond that is refused while
it is parsed; how long a head or a body may take is the protocol's (`protocol.py`).

Also holds uvicorn's HTTP protocol with buffered writes: what is sent in one turn of the loop leaves in one system call.
"""

import asyncio
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from dashboard.runtime.request_guard import refusals
from dashboard.runtime.request_guard.connection_census import ConnectionCensus
from dashboard.runtime.request_guard.refusals import RefusedError, plainly, refusal
from dashboard.runtime.request_guard.resource_limits import HEAD_BYTES, HEAD_FIELDS, PIPELINED, WIRE_RATIO
from dashboard.runtime.request_guard.transfer_rate import Sender

MOST_BYTES = 64 * 1024  #: that wait; with more the kernel is asked at once, and says when it has enough


class BufferedProtocol(HttpToolsProtocol):
    """One connection. Each send is a call of the kernel, and wakes who waits at the other end."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(BufferedTransport(transport, self.loop))  # type: ignore[arg-type]

    def handle_websocket_upgrade(self) -> None:
        """A websocket gathers for itself."""
        assert isinstance(self.transport, BufferedTransport)
        self.transport = self.transport.bare()
        super().handle_websocket_upgrade()


class BufferedTransport:
    """A transport like the one it is made of, but for when it sends."""

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._pieces: list[bytes] = []
        self._size = 0  #: of them, in bytes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send this with what else is written before the loop goes on."""
        if not self._pieces:
            self._loop.call_soon(self._send)
        self._pieces.append(data)
        self._size += len(data)
        if self._size > MOST_BYTES:
            self._send()

    def close(self) -> None:
        """Send what was written, and close."""
        self._send()
        self._transport.close()

    def get_write_buffer_size(self) -> int:
        """Bytes that are not yet the kernel's."""
        return self._size + int(self._transport.get_write_buffer_size())

    def bare(self) -> Any:
        """The transport itself, with nothing left to send."""
        self._send()
        return self._transport

    def _send(self) -> None:
        """What waits for a client that has gone is dropped; its transport would raise an error."""
        pieces, self._pieces, self._size = self._pieces, [], 0
        if pieces and not self._transport.is_closing():
            self._transport.write(b"".join(pieces))


class HeadSize:
    """Counts the bytes and fields of a request head as they come, and the bytes between the chunks of its body."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Nothing of the next head has come."""
        self._size = self._fields = 0  #: of what the parser has told of it
        self._fed = 0  #: bytes that the parser was given, less those that what it told of them accounts for

    def end(self) -> None:
        """It is whole."""
        self._fed = 0

    def add(self, size: int) -> str:
        """So many bytes of it. Why it is too large; empty: it is not."""
        self._size += size
        return refusals.LONG_HEAD if self._size > HEAD_BYTES else ""

    def add_field(self, name: bytes, value: bytes) -> str:
        """The same, of a field."""
        self._fields += 1
        too_long = self.add(len(name) + len(value) + 4)  # a colon, a space, and the line's end
        return too_long or (refusals.MANY_FIELDS if self._fields > HEAD_FIELDS else "")

    def feed(self, size: int) -> None:
        """The parser is given so many bytes."""
        self._fed += size

    def tell(self, size: int) -> None:
        """It has told so many bytes of a body."""
        self._fed -= WIRE_RATIO * size

    @property
    def is_endless(self) -> bool:
        """Whether the parser makes too little of what it is given: a head without an end, or chunks of a body that have
        little but extensions."""
        return self._fed > HEAD_BYTES


class RequestParser(BufferedProtocol):
    """The requests of one connection."""

    def __init__(self, config: Any, *args: Any, **named: Any) -> None:
        super().__init__(config, *args, **named)
        self._census: ConnectionCensus = config.census
        self._head_since: float | None = None  #: when the server began to wait for a head
        self._in_head = True  #: the parser expects more of one
        self._size = HeadSize()
        self._sender: Sender | None = None  #: of a body that is not here yet
        self._announced = 0  #: bytes of the body, where its length is
        self._refusal: bytes | None = None  #: what is answered in place of the parser's complaint
        self._parsing = False
        self._keeps = True  #: whether the connection stays after an answer that begins when the request is whole

    def still_sends(self) -> bool:
        """Whether the client is in the middle of a request."""
        return self._in_head or self._sender is not None

    def feed(self, data: bytes) -> None:
        """Give the parser no more at once than a head may have, so that one without an end is noticed."""
        while data and not self.transport.is_closing():
            room = HEAD_BYTES + 1 if self._sender is None else len(data)
            piece, data = data[:room], data[room:]
            if self.still_sends():
                self._size.feed(len(piece))
            self._parse(piece)
            self.parsed()
            if self.still_sends() and self._size.is_endless and not self.transport.is_closing():
                self._refusal = self._refused(431, refusals.LONG_HEAD) if self._in_head else None
                self.send_400_response(refusals.NO_REQUEST)

    def parsed(self) -> None:
        """A piece was parsed: what came with it may be worked on."""

    def _parse(self, piece: bytes) -> None:
        """uvicorn's `data_received`, without a line in the log for each piece that is no request, and with no work
        begun for a connection that the same piece ends: who floods is refused at the least cost."""
        self._unset_keepalive_if_required()
        self._parsing = True
        try:
            self.parser.feed_data(piece)
        except httptools.HttpParserUpgrade:
            if self._should_upgrade():
                self.handle_websocket_upgrade()
        except httptools.HttpParserError:
            self.send_400_response(refusals.NO_REQUEST)
        self._parsing = False

    def on_message_begin(self) -> None:
        if len(self.pipeline) >= PIPELINED:
            self._refusal = plainly(429, refusals.PIPELINED_TOO_MANY)
            raise RefusedError
        super().on_message_begin()
        self._in_head = True
        self._size.begin()  # the piece that a head begins in may hold the end of a body too

    def on_url(self, url: bytes) -> None:
        self._refuse_if(self._size.add(len(url)))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._refuse_if(self._size.add_field(name, value))
        if self._in_head:  # a field behind a chunked body is none of the request's
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        if self.cycle is not None:  # an answer that begins before the body is whole says that the connection ends
            self._keeps, self.cycle.keep_alive = self.cycle.keep_alive, False
        self._in_head, self._head_since = False, None
        self._size.end()
        self._sender = Sender(self._census.bounds, self.loop.time())
        self._announced = int(dict(self.headers).get(b"content-length", b"0"))

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        self._size.tell(len(body))
        if self._sender is not None:
            self._sender.received += len(body)

    def on_message_complete(self) -> None:
        self._sender = None
        if self.cycle is not None and not self.cycle.response_started:
            self.cycle.keep_alive = self._keeps
        super().on_message_complete()

    def _refuse_if(self, detail: str) -> None:
        """With why the head is too large; empty: it is not."""
        if detail:
            self._refusal = self._refused(431, detail)
            raise RefusedError

    def _refused(self, status: int, detail: str) -> bytes:
        """In the form that the request's address speaks."""
        url: bytes = getattr(self, "url", b"")
        return refusal(url.partition(b"?")[0].decode("latin-1"), status, detail).on_the_wire()
