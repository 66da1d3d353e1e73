"""How many requests a token may make. Pure: times are seconds of any monotonic clock.

The quota fills up evenly (the generic cell rate algorithm): all of it may be used at once, and a sixtieth of it is back
after a second. Each server process counts by itself.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from math import ceil, floor
from threading import Lock

QUOTA = "whystop.quota"  #: in an ASGI scope: the Quota of a request that was counted before it came to the API
WINDOW = 60  #: seconds in which the whole quota is back
MOST_CALLERS = 10_000  #: of more, those that have been silent longest are forgotten


@dataclass(frozen=True, slots=True)
class Quota:
    """After a request: what is left, and in how many seconds all of it is back and a refused request may come again."""

    limit: int
    remaining: int
    reset: int
    retry_after: int | None = None

    def headers(self) -> dict[str, str]:
        """As draft-ietf-httpapi-ratelimit-headers-10 has them, and as most clients know them."""
        told = {
            "RateLimit-Policy": f'"default";q={self.limit};w={WINDOW}',
            "RateLimit": f'"default";r={self.remaining};t={self.reset}',
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(self.remaining),
            "X-RateLimit-Reset": str(self.reset),
        }
        return told if self.retry_after is None else {**told, "Retry-After": str(self.retry_after)}


class RateLimiter:
    """`limit`: requests in `WINDOW` seconds."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._interval = WINDOW / limit
        self._full_at: dict[Hashable, float] = {}  #: when the whole quota of a caller is back
        self._lock = Lock()

    def take(self, caller: Hashable, *, now: float) -> Quota:
        """Count a request; one that is refused does not count."""
        with self._lock:
            used = max(self._full_at.pop(caller, now) - now, 0.0)
            late = used + self._interval - WINDOW
            refused = late > 1e-9
            used += 0 if refused else self._interval
            self._full_at[caller] = now + used
            if len(self._full_at) > MOST_CALLERS:
                del self._full_at[next(iter(self._full_at))]
        remaining = floor((WINDOW - used) / self._interval + 1e-9)
        return Quota(self.limit, remaining, ceil(used), max(1, ceil(late)) if refused else None)
