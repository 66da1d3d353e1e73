"""When a websocket's handshake is answered: one at a time, each address in turn, in a bounded share of the event loop.

A connection is accepted for nothing, but an upgrade costs the loop about a millisecond, and hundreds can come in one
turn of it: answered as they came, they would keep everybody else's calls waiting until the last of them.
"""

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable

#: Seconds of the loop that a handshake costs after it: a task, and the way to whoever asks who its client is.
TASK_SECONDS = 0.0005


class HandshakePace:
    """Of one event loop, the one that the first handshake brings. `share`: of its time."""

    def __init__(self, *, share: float) -> None:
        self._share = share
        self._waiting: OrderedDict[str, deque[Callable[[], object]]] = OrderedDict()  #: by address, the next one first
        self._rests = False

    def answer(self, address: str, handshake: Callable[[], object]) -> None:
        """Call `handshake` when it is its turn: now, where none waits and none was just answered."""
        self._waiting.setdefault(address, deque()).append(handshake)
        if not self._rests:
            self._next()

    def _next(self) -> None:
        self._rests = bool(self._waiting)
        if not self._waiting:
            return
        address, handshakes = self._waiting.popitem(last=False)
        handshake = handshakes.popleft()
        if handshakes:
            self._waiting[address] = handshakes
        begun = time.perf_counter()
        try:
            handshake()
        finally:
            took = time.perf_counter() - begun + TASK_SECONDS
            asyncio.get_running_loop().call_later(took / self._share, self._next)
