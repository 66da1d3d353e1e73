"""uvicorn's HTTP protocol with buffered writes: what is sent in one turn of the loop leaves in one system call."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

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
