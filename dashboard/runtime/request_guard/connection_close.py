"""A transport that closes its connection in bounded time, whatever the client does.

A socket that is closed while its client still sends is reset, and the client may never see the answer it was given:
so this end first says that nothing more will come, and drops for a moment what is still received. A socket whose client
does not read is never closed at all: so it is watched until all is taken, or given up.
"""

import asyncio
from typing import Any, Protocol


class Owner(Protocol):
    """The protocol of the connection."""

    def still_sends(self) -> bool:
        """Whether its client may be in the middle of a request."""

    def lingers(self) -> None:
        """It stays for a moment, only for its client to read; it may be aborted."""

    def has_unread(self) -> None:
        """Not all that was written has been taken, and nobody else will look whether it ever is."""


class ClosingTransport:
    """A transport like the one it is made of, but for how it closes."""

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop, owner: Owner, linger_seconds: float) -> None:
        self._transport = transport
        self._loop = loop
        self._owner = owner
        self._linger_seconds = linger_seconds
        self._closing = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send this, unless the end has been said."""
        if not self._closing:
            self._transport.write(data)

    def is_closing(self) -> bool:
        """Whether nothing more is read or written."""
        return self._closing or bool(self._transport.is_closing())

    def close(self) -> None:
        """Send what was written, give a client that still sends a moment to read it, and close."""
        if self.is_closing():
            return
        self._closing = True
        lingers = self._owner.still_sends() and self._transport.can_write_eof()
        if lingers:
            self._transport.resume_reading()
            self._transport.write_eof()
            self._loop.call_later(self._linger_seconds, self._let_go)
            self._owner.lingers()
        else:
            self._transport.close()
        if self._transport.get_write_buffer_size():
            self._owner.has_unread()

    def close_now(self) -> None:
        """Close without waiting for what the client still sends."""
        self._closing = True
        self._transport.close()
        if self._transport.get_write_buffer_size():
            self._owner.has_unread()

    def bare(self) -> Any:
        """The transport itself."""
        return self._transport

    def _let_go(self) -> None:
        if not self._transport.get_write_buffer_size():
            self._transport.abort()
