"""Detects clients that send a body or read a response too slowly."""

from dashboard.runtime.request_guard.resource_limits import ResourceLimits


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
