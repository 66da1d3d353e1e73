"""How imports wait for each other: which requests are imports, how long they wait, and what an import is told that
waited in vain."""

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil

from agentcore.number_format import duration, seconds

WAITING_SECONDS = 60.0  #: for a place among this server's imports; and then for those of other processes
TOO_MANY = "Too many of your imports wait already. Nothing of this one was imported. Send it again when one ends."
_BUSY = "Other imports are running or waiting. Nothing of this one was imported. Send it again in about {wait}."
_FIRST_GUESS = 30.0  #: seconds that an import takes, before one has ended here
_NEWEST = 0.25  #: the share of the latest import in what is usual
_LEAST, _MOST = 1, 900  #: seconds that anybody is told to wait
_IMPORT = re.compile(r"/import/?|/api/v1/(?:turns|logs)/import/?")


class ImportBusyError(Exception):
    """Another import is under way, or what an import needs is busy. `wait`: whole seconds after which to try again."""

    def __init__(self, wait: int, why: str = "") -> None:
        super().__init__(why or busy_words(wait))
        self.wait = wait


class ImportPace:
    """How long imports take in this process, to estimate when the ones that wait will have ended. Safe for threads.

    Times are seconds of `time.monotonic`. What is usual follows the latest imports. One that has taken longer than
    usual is expected to take as long again as it has taken.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._usual: float | None = None
        self._began: float | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """One import, for the length of the block. Only one runs at a time."""
        began = self._began = time.monotonic()
        try:
            yield
        finally:
            self._began = None
            self.took(time.monotonic() - began)

    def took(self, length: float) -> None:
        """An import has ended that took so many seconds."""
        with self._lock:
            self._usual = length if self._usual is None else self._usual + (length - self._usual) * _NEWEST

    def left(self, ahead: int, *, now: float) -> int:
        """Whole seconds until so many imports, with the one that runs, will have ended."""
        with self._lock:
            usual, began = self._usual, self._began
        usual = _FIRST_GUESS if usual is None else usual
        gone = 0.0 if began is None else now - began
        first = usual - gone if gone <= usual else gone
        return max(_LEAST, min(_MOST, ceil(first + max(0, ahead - 1) * usual)))


PACE = ImportPace()  #: of this process


def seconds_left(ahead: int) -> int:
    """Whole seconds until so many imports, with the one that runs, will have ended, by what they take here."""
    return PACE.left(ahead, now=time.monotonic())


def busy_words(wait: int) -> str:
    """What an import is told that is to be sent again after so many seconds."""
    return _BUSY.format(wait=duration(wait) if wait >= 60 else seconds(wait))


def is_import(method: str, path: str) -> bool:
    """Whether such a request brings a file to import."""
    return method == "POST" and _IMPORT.fullmatch(path) is not None
