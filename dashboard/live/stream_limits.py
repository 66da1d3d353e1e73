"""The streams to programs that this process holds open: so many of one caller and of one user at most, and none after
the server's."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

MOST = 100  #: of one caller in one process
MOST_OF_USER = 300  #: of all tokens and sessions of one user


class Caller(NamedTuple):
    """The caller whose streams are counted together."""

    user: int
    token: int | None = None  #: None: all sessions of the user


class TooManyStreamsError(Exception):
    """This caller has as many streams open as it may have."""

    def __init__(self) -> None:
        super().__init__(
            f"{MOST} streams of this caller, or {MOST_OF_USER} of its user, are open already; close one first."
        )


class StreamLimits:
    """Who has how many open. A stream is known by the event that wakes it."""

    def __init__(self) -> None:
        self._open: set[asyncio.Event] = set()
        self._of: Counter[Caller] = Counter()
        self.ending = False  #: whether the server stops; every stream then ends by itself

    def __len__(self) -> int:
        return len(self._open)

    def require_room(self, caller: Caller) -> None:
        """Raises `TooManyStreamsError`."""
        of_user = sum(many for other, many in self._of.items() if other.user == caller.user)
        if self._of[caller] >= MOST or of_user >= MOST_OF_USER:
            raise TooManyStreamsError

    @contextmanager
    def opened(self, caller: Caller) -> Iterator[asyncio.Event]:
        """The event that wakes a new stream. Raises `TooManyStreamsError`."""
        self.require_room(caller)
        wake = asyncio.Event()
        self._open.add(wake)
        self._of[caller] += 1
        try:
            yield wake
        finally:
            self._open.discard(wake)
            self._of[caller] -= 1
            self._of += Counter()  # callers without streams are forgotten

    def end_all(self) -> None:
        """The server stops: wake them, so that nobody waits for those that wait."""
        self.ending = True
        for wake in self._open:
            wake.set()


streams = StreamLimits()
