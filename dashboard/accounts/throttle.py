"""How often one address may fail. Kept in memory: a stranger's attempts cost the database nothing."""

from collections import deque
from threading import Lock

LIMIT = 10
SECONDS = 60.0
ADDRESSES = 10_000  #: more at once than this and the longest silent are forgotten


class Failures:
    """Failed attempts by address over the last minute; `now` is in seconds of any monotonic clock."""

    def __init__(self, *, limit: int = LIMIT, seconds: float = SECONDS, addresses: int = ADDRESSES) -> None:
        self._limit, self._seconds, self._addresses = limit, seconds, addresses
        self._failed: dict[str, deque[float]] = {}
        self._lock = Lock()

    def wait(self, address: str, *, now: float) -> float:
        """Seconds until this address may try again; 0 when it may now."""
        with self._lock:
            times = self._failed.get(address)
            if times is None or len(times) < self._limit:
                return 0.0
            return max(0.0, times[0] + self._seconds - now)

    def add(self, address: str, *, now: float) -> None:
        """One attempt of this address failed."""
        with self._lock:
            times = self._failed.pop(address, None) or deque(maxlen=self._limit)
            times.append(now)
            self._failed[address] = times  # at the end again: the order is that of the last failure
            if len(self._failed) > self._addresses:
                del self._failed[next(iter(self._failed))]

    def forget(self, address: str) -> None:
        """Its failures count no more."""
        with self._lock:
            self._failed.pop(address, None)
