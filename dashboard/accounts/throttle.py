"""How often one address may fail. Kept in memory."""

from collections import deque
from threading import Lock

LIMIT = 10
SECONDS = 60.0
ADDRESSES = 10_000  #: more at once than this and the longest silent are forgotten


class FailureCounter:
    """Failed attempts by address over the last minute; `now` is in seconds of any monotonic clock."""

    def __init__(self, *, limit: int = LIMIT, seconds: float = SECONDS, addresses: int = ADDRESSES) -> None:
        self._limit, self._seconds, self._addresses = limit, seconds, addresses
        self._failed: dict[str, deque[float]] = {}
        self._lock = Lock()

    def add(self, address: str, *, now: float) -> float:
        """Count a failure: 0. Where there were too many already: the seconds until this address may fail again."""
        with self._lock:
            times = self._failed.pop(address, None) or deque(maxlen=self._limit)
            self._failed[address] = times  # at the end again: the order is that of the last attempt
            if len(self._failed) > self._addresses:
                del self._failed[next(iter(self._failed))]
            if len(times) == self._limit and (wait := times[0] + self._seconds - now) > 0:
                return wait
            times.append(now)
            return 0.0

    def is_full(self, address: str, *, now: float) -> bool:
        """Whether one more would be too many."""
        with self._lock:
            times = self._failed.get(address)
            return times is not None and len(times) == self._limit and times[0] + self._seconds > now

    def forget(self, address: str) -> None:
        """Its failures count no more."""
        with self._lock:
            self._failed.pop(address, None)
