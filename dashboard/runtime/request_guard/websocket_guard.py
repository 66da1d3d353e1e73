"""A websocket: its client has shown credentials before it is accepted, and pings say whether it is still there."""

from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from dashboard.runtime.request_guard.connection_census import ConnectionCensus, counted_address
from dashboard.runtime.request_guard.connection_close import ClosingTransport
from dashboard.runtime.request_guard.refusals import plainly
from dashboard.runtime.request_guard.transfer_rate import Reader

ODD_HANDSHAKE = "This is no websocket handshake that can be answered. Send fewer or shorter header fields."


class GuardedSocket(WebSocketsSansIOProtocol):
    """uvicorn's own, counted in the census, and dropped where its client does not read."""

    def __init__(self, config: Any, *args: Any, **named: Any) -> None:
        super().__init__(config, *args, **named)
        self._census: ConnectionCensus = config.census
        self.address: str | None = None
        self.elsewhere = 0
        self._reader = Reader(self._census.bounds)

    def connection_made(self, transport: Any) -> None:
        bare = transport.bare() if isinstance(transport, ClosingTransport) else transport
        closing: Any = ClosingTransport(bare, self.loop, self, self._census.bounds.linger_seconds)
        super().connection_made(closing)
        self.address = counted_address(self.client[0] if self.client else None, self._census.bounds.proxies)
        self._census.join(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._census.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """The first data is the whole handshake; one that the library refuses it would leave without an answer."""
        try:
            super().data_received(data)
        except ValueError:  # an address that is not ASCII
            self._refuse()
        else:
            if not self.handshake_initiated:
                self._refuse()

    def pause_writing(self) -> None:
        super().pause_writing()
        self.has_unread()

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self.transport.is_closing():
            self._reader.end()
            self._census.reads(self)

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
