"""A websocket: its client has shown credentials before it is accepted, and pings say whether it is still there."""

import time
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from dashboard.runtime.request_guard.connection_census import ConnectionCensus, counted_address
from dashboard.runtime.request_guard.connection_close import ClosingTransport
from dashboard.runtime.request_guard.frame_budget import MESSAGE_SECONDS, OVERHEAD, RECEIVED_SECONDS, Frames
from dashboard.runtime.request_guard.refusals import plainly
from dashboard.runtime.request_guard.transfer_rate import Reader

ODD_HANDSHAKE = "This is no websocket handshake that can be answered. Send fewer or shorter header fields."
TOO_MUCH = "The server holds too much of what is sent to it. Connect again later."
TRY_LATER = 1013  #: the close code that says so
_HEAD = 14  #: bytes that a frame has at most before what it carries


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
        self._frames = Frames()  #: not yet parsed
        self._kept = 0  #: bytes that were parsed and have not been taken by the application
        self._took = 0.0  #: seconds, since the last rest
        self._rests = False

    def connection_made(self, transport: Any) -> None:
        bare = transport.bare() if isinstance(transport, ClosingTransport) else transport
        closing: Any = ClosingTransport(bare, self.loop, self, self._census.bounds.linger_seconds)
        super().connection_made(closing)
        self.address = counted_address(self.client[0] if self.client else None, self._census.bounds.proxies)
        self._census.join(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._census.leave(self)
        self._budget.hold(self, 0)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """The first data is the whole handshake; what follows is frames."""
        if self._asked:
            begun = time.perf_counter()
            self._frames.add(data)
            self._spend(time.perf_counter() - begun + RECEIVED_SECONDS * len(data))
            self._read_on()
        else:
            self._asked = True
            self._census.handshakes.answer(self.address or "", lambda: self._shake_hands(data))

    async def send(self, message: Any) -> None:
        """ASGI. Once the socket is accepted its frames are read."""
        await super().send(message)
        self._read_on()

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

    def _shake_hands(self, data: bytes) -> None:
        """A handshake that the library refuses it would leave without an answer."""
        if self.transport.is_closing():
            return
        try:
            super().data_received(data)
        except ValueError:  # an address that is not ASCII
            self._refuse()
        else:
            if not self.handshake_initiated:
                self._refuse()

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
            self._census.reads(self)
            self._read_on()

    def still_sends(self) -> bool:
        """It needs no answer of ours any more once it is closed."""
        return False

    def lingers(self) -> None:
        """It never does."""

    def has_unread(self) -> None:
        """Watch that the client takes what was written."""
        self._reader.begin(self.loop.time(), self.transport.get_write_buffer_size())
        self._census.stalls(self)

    def make_room(self) -> None:
        """A websocket never waits, as the census has it."""

    def look(self, now: float) -> None:
        """End it where its client does not read."""
        if self._reader.is_deaf(now, self.transport.get_write_buffer_size()):
            self.transport.abort()

    def _refuse(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(plainly(400, ODD_HANDSHAKE))
            self.transport.close()
