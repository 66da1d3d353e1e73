"""A websocket: its client shows credentials before it is accepted, and pings say whether it is still there.

One that shows none at all is refused before it is a websocket (`protocol`). Others wait for their turn, for as long as
the head of a request may take, and make room for other connections meanwhile.
"""

import asyncio
import sys
import time
from collections.abc import Iterator
from typing import Any

import structlog
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from dashboard.platform.trusted_proxies import client_of, customer_of
from dashboard.platform.unread_responses import SCOPE_KEY, KeptAnswer
from dashboard.runtime.request_guard.connection_census import ConnectionCensus, counted_address
from dashboard.runtime.request_guard.connection_close import ClosingTransport
from dashboard.runtime.request_guard.frame_budget import MESSAGE_SECONDS, OVERHEAD, RECEIVED_SECONDS, Frames
from dashboard.runtime.request_guard.refusals import plainly
from dashboard.runtime.request_guard.transfer_rate import Reader, left_to_take

ODD_HANDSHAKE = "This WebSocket handshake cannot be answered. Send fewer or shorter header fields."
NO_TURN = "Too many websockets are being opened. Try again in a moment."
TOO_MUCH = "The server has buffered too much incoming data. Connect again later."
UNREAD = "You read too slowly, and the server keeps too much for its clients. Connect again."
TRY_LATER = 1013  #: the close code that says so
PIECE = 64 * 1024  #: characters of a message in one frame; the next is written once its client has taken this one
_AGAIN = (b"retry-after", b"1")
_HEAD = 14  #: bytes that a frame has at most before what it carries

log = structlog.get_logger(__name__)


class GuardedSocket(WebSocketsSansIOProtocol):
    """uvicorn's own, counted in the census, read at a bounded pace, and dropped where its client does not read."""

    def __init__(self, config: Any, *args: Any, **named: Any) -> None:
        super().__init__(config, *args, **named)
        self._census: ConnectionCensus = config.census
        self.address: str | None = None
        self.elsewhere = 0
        self._reader = Reader(self._census.bounds)
        self._budget = self._census.frames
        self._asked = False  #: its handshake is here
        self._handshake = b""  #: that waits for its turn
        self._waits_since: float | None = None  #: by the loop's clock, while it does
        self._who = ""  #: whose turn it is
        self._frames = Frames()  #: not yet parsed
        self._kept = 0  #: bytes that were parsed and have not been taken by the application
        self._took = 0.0  #: seconds, since the last rest
        self._rests = False
        self._sending = asyncio.Lock()  #: of one message after another
        self._kept_for_it = KeptAnswer(self.weigh)  #: by its application, the message that is being sent included

    def connection_made(self, transport: Any) -> None:
        bare = transport.bare() if isinstance(transport, ClosingTransport) else transport
        closing: Any = ClosingTransport(bare, self.loop, self, self._census.bounds.linger_seconds)
        super().connection_made(closing)
        self.address = counted_address(self.client[0] if self.client else None, self._census.bounds.proxies)
        self._census.join(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._census.leave(self)
        self._census.handshakes.leave(self._who, self)
        self._budget.hold(self, 0)
        self._kept_for_it.end()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """The first data is the whole handshake; what follows is frames."""
        if self._asked:
            begun = time.perf_counter()
            self._frames.add(data)
            self._spend(time.perf_counter() - begun + RECEIVED_SECONDS * len(data))
            self._read_on()
        else:
            self._asked, self._handshake = True, data
            self._waits_since = self.loop.time()
            self._who = self._client_in(data)
            self._census.queues(self)
            self._census.handshakes.join(self._who, self)

    async def send(self, message: Any) -> None:
        """ASGI. Once the socket is accepted its frames are read."""
        text = message.get("text") or ""
        async with self._sending:
            if len(text) > PIECE and message["type"] == "websocket.send":
                await self._send_long(text)
            else:
                await super().send(message)
        self._read_on()

    async def _send_long(self, text: str) -> None:
        """In frames, at its client's pace. The application keeps it whole meanwhile."""
        self._kept_for_it.keep(text, sys.getsizeof(text))
        try:
            for at in range(0, len(text), PIECE):
                await self.writable.wait()
                if self.disconnected or self.close_sent or self.transport.is_closing():
                    raise ClientDisconnected
                send = self.conn.send_continuation if at else self.conn.send_text
                send(text[at : at + PIECE].encode(), fin=at + PIECE >= len(text))
                self.transport.write(b"".join(self.conn.data_to_send()))
        finally:
            self._kept_for_it.let_go(text)

    async def receive(self) -> Any:
        """ASGI. Once a message is taken the next one is read."""
        message = await super().receive()
        self._kept = 0
        self._read_on()
        return message

    def drop(self) -> None:
        """It holds more than any other socket, and all hold too much."""
        self._frames, self.frames = Frames(), []
        if not self.handshake_complete:
            self.transport.abort()
            return
        self.conn.fail(TRY_LATER, TOO_MUCH)
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        self.transport.close()

    def shake_hands(self) -> None:
        """It is its turn. A handshake that the library refuses it would leave without an answer."""
        handshake = self._waited()
        if self.transport.is_closing():
            return
        try:
            super().data_received(handshake)
        except ValueError:  # an address that is not ASCII
            self._refuse(400, ODD_HANDSHAKE)
        else:
            if not self.handshake_initiated:
                self._refuse(400, ODD_HANDSHAKE)
            elif not self.close_sent:
                self.scope[SCOPE_KEY] = self._kept_for_it  # type: ignore[literal-required] # an extension of ours

    def turn_away(self) -> None:
        """It does not get a turn."""
        self._waited()
        self._refuse(503, NO_TURN, _AGAIN)

    def _waited(self) -> bytes:
        """The handshake, which waits no more."""
        self._waits_since = None
        self._census.works(self)
        self._census.handshakes.leave(self._who, self)
        handshake, self._handshake = self._handshake, b""
        return handshake

    def _client_in(self, head: bytes) -> str:
        """Who has a turn of their own: the client behind a trusted proxy, as for requests."""
        peer = self.client[0] if self.client else ""
        return customer_of(client_of(peer, _fields(head), self._census.bounds.proxies).address) or ""

    def _read_on(self) -> None:
        """Parse what is here, a frame at a time, as far as it is this socket's turn; only then is more received."""
        most = self.config.ws_max_size + _HEAD
        while self._may_read() and (frame := self._frames.next(most)):
            self._parse(frame)
        if self.transport.is_closing():
            return
        self._budget.hold(self, len(self._frames) + self._kept)
        if self._may_read():
            self.transport.resume_reading()
        else:
            self.transport.pause_reading()

    def _may_read(self) -> bool:
        busy = self._rests or self.read_paused or not self.writable.is_set()
        return self.handshake_complete and not busy and not self.transport.is_closing()

    def _parse(self, frame: bytes) -> None:
        begun = time.perf_counter()
        super().data_received(frame)
        self._kept = self._kept + len(frame) + OVERHEAD if self.frames or self.read_paused else 0
        self._spend(time.perf_counter() - begun + MESSAGE_SECONDS * self.read_paused)

    def _spend(self, seconds: float) -> None:
        """Count what this socket has taken of the loop, and let it rest once that is enough."""
        self._took += seconds
        if not self._rests and self._took > self._budget.burst:
            self._rests = True
            self.loop.call_later(self._budget.begin_rest(self._took), self._rested)

    def _rested(self) -> None:
        self._budget.end_rest()
        self._rests, self._took = False, 0.0
        self._read_on()

    def pause_writing(self) -> None:
        super().pause_writing()
        self.has_unread()

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self.transport.is_closing():
            self._reader.end()
            self._census.reads(self, self._unread())
            self._read_on()

    def still_sends(self) -> bool:
        """It needs no answer of ours any more once it is closed."""
        return False

    def lingers(self) -> None:
        """It never does."""

    def has_unread(self) -> None:
        """Watch that the client takes what was written."""
        self._reader.begin(self.loop.time(), left_to_take(self.transport))
        self._census.stalls(self, self._unread())

    def make_room(self) -> None:
        """Another connection takes the place of one that waits for its turn."""
        self.turn_away()

    def abandon(self) -> bool:
        """It has more to read than any other, and all have too much. It is told so after what it has still to read,
        unless it was told before."""
        log.warning("client_reads_too_little", unread=self._unread(), kept=self._kept_for_it.size)
        if self.transport.is_closing() or not self.handshake_complete:
            self.transport.abort()
            return True
        if not self.close_sent:
            self._say_close(TRY_LATER, UNREAD)
        self._kept_for_it.end()
        self.transport.close()
        return False

    def _say_close(self, code: int, why: str) -> None:
        self.conn.send_close(code, why)
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = self.disconnected = True
        self.queue.put_nowait({"type": "websocket.disconnect", "code": code, "reason": why})
        self.writable.set()  # whoever waits to send ends

    def _unread(self) -> int:
        """Bytes in memory that the client has still to take."""
        return self._kept_for_it.size + int(self.transport.get_write_buffer_size())

    def weigh(self) -> None:
        """Count what it has to read now."""
        self._census.has(self, self._unread())

    def look(self, now: float) -> None:
        """End it where its client does not read, or its turn does not come."""
        self.weigh()
        if self._reader.is_deaf(now, left_to_take(self.transport)):
            self.transport.abort()
        elif self._waits_since is not None and now - self._waits_since > self._census.bounds.head_seconds:
            self.turn_away()

    def _refuse(self, status: int, why: str, *more: tuple[bytes, bytes]) -> None:
        if not self.transport.is_closing():
            self.transport.write(plainly(status, why, *more))
            self.transport.close()


def _fields(head: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The header fields of a request, as uvicorn has written them for the library: a line each."""
    for line in head.split(b"\r\n")[1:]:
        name, colon, value = line.partition(b": ")
        if colon:
            yield name, value
