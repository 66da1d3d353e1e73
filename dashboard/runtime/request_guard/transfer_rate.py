"""Detects clients that send a body or read a response too slowly."""

import fcntl
import sys
import termios
from contextlib import suppress
from typing import Any

from dashboard.runtime.request_guard.resource_limits import ResourceLimits


def left_to_take(transport: Any) -> int:
    """Bytes that a client has not taken, what the system's buffer holds for it included; 0: the system has them all.

    The system takes more only when a third of its buffer is free, so a slow reader is seen there alone.
    """
    buffered = int(transport.get_write_buffer_size())
    return buffered and buffered + _queued(transport)


def _queued(transport: Any) -> int:
    """Bytes in the system's buffer; 0 where it does not say."""
    connection = transport.get_extra_info("socket")
    if connection is not None and sys.platform == "linux":
        with suppress(OSError, ValueError):  # it is closed
            return int.from_bytes(fcntl.ioctl(connection.fileno(), termios.TIOCOUTQ, bytes(4)), sys.byteorder)
    return 0


class Reader:
    """Watches that a client takes what is sent to it, from the first look at which something was left unread."""

    def __init__(self, bounds: ResourceLimits) -> None:
        self._bounds = bounds
        self._since: float | None = None  #: when it last took enough; None: it has taken everything
        self._size = 0  #: bytes that were unread then

    def begin(self, now: float, size: int) -> None:
        self._since, self._size = now, size

    def end(self) -> None:
        """It has taken what there was."""
        self._since = None

    def is_deaf(self, now: float, size: int) -> bool:
        """Whether too little was taken for too long, where `size` bytes are unread now."""
        if not size:
            self.end()
        elif self._since is None or self._size - size >= self._bounds.stalled_bytes:
            self.begin(now, size)
        return self._since is not None and now - self._since > self._bounds.stalled_seconds


class Sender:
    """Watches that a client sends the body it has announced."""

    def __init__(self, bounds: ResourceLimits, now: float) -> None:
        self._bounds = bounds
        self._left = bounds.body_seconds
        self._looked = now
        self.received = 0  #: bytes since the last look

    def is_late(self, now: float, *, reading: bool) -> bool:
        """Whether it has used up its seconds; those in which the server did not read are not counted."""
        earned = self.received / self._bounds.body_rate
        spent = now - self._looked if reading else 0.0
        self._left = min(self._bounds.body_seconds, self._left - spent + earned)
        self._looked, self.received = now, 0
        return self._left <= 0
