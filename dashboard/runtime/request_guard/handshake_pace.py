"""When a websocket's handshake is answered: one at a time, each client in turn, in a bounded share of the event loop.

A connection is accepted for nothing, but an upgrade costs the loop about a millisecond, and hundreds can come in one
turn of it: answered as they came, they would keep everybody else's calls waiting until the last of them. How many may
wait is bounded. Where all places are taken, whoever has most of them loses one to a client with fewer.
"""

import asyncio
import time
from collections import OrderedDict
from typing import Protocol

#: Seconds of the loop that a handshake costs after it: a task, and the way to whoever asks who its client is.
TASK_SECONDS = 0.0005
MOST, MOST_OF_ONE = 2_048, 1_024  #: that wait: in all, and of one client, who may be a proxy that nobody trusts


class Handshake(Protocol):
    """One that is to be answered."""

    def shake_hands(self) -> None:
        """It is its turn."""

    def turn_away(self) -> None:
        """It gets none: too many wait."""


class HandshakePace:
    """Of one event loop, the one that the first handshake brings. `share`: of its time; `most`, `most_of_one`: wait."""

    def __init__(self, *, share: float, most: int = MOST, most_of_one: int = MOST_OF_ONE) -> None:
        self._share, self._most, self._most_of_one = share, most, most_of_one
        self._waiting: OrderedDict[str, dict[Handshake, None]] = OrderedDict()  #: by client, the next one first
        self._total = 0
        self._rests = False

    def __len__(self) -> int:
        return self._total

    def join(self, client: str, handshake: Handshake) -> None:
        """Answer it when it is its turn: now, where none waits and none was just answered."""
        if not self._has_room(client):
            handshake.turn_away()
            return
        self._waiting.setdefault(client, {})[handshake] = None
        self._total += 1
        if not self._rests:
            self._next()

    def leave(self, client: str, handshake: Handshake) -> None:
        """It needs no answer any more. May be called twice, and of one that has had its turn."""
        own = self._waiting.get(client, {})
        if handshake in own:
            del own[handshake]
            self._total -= 1
            if not own:
                del self._waiting[client]

    def _has_room(self, client: str) -> bool:
        """Whether this client may have one more wait; another's latest may have to go for it."""
        own = len(self._waiting.get(client, ()))
        if own >= self._most_of_one:
            return False
        if self._total < self._most:
            return True
        fullest = max(self._waiting, key=lambda one: len(self._waiting[one]))
        if len(self._waiting[fullest]) <= own + 1:
            return False
        latest = next(reversed(self._waiting[fullest]))
        self.leave(fullest, latest)
        latest.turn_away()
        return True

    def _next(self) -> None:
        self._rests = bool(self._waiting)
        if not self._waiting:
            return
        client = next(iter(self._waiting))
        handshake = next(iter(self._waiting[client]))
        self._waiting.move_to_end(client)
        self.leave(client, handshake)
        begun = time.perf_counter()
        try:
            handshake.shake_hands()
        finally:
            took = time.perf_counter() - begun + TASK_SECONDS
            asyncio.get_running_loop().call_later(took / self._share, self._next)
