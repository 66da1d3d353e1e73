"""Accepts connections and hands each to the process with the fewest.

A socket that all processes listened on would leave the spreading to chance: of 64 kept-alive clients that come together
one process often took all. So the supervisor accepts, which costs some 50 µs for each connection and nothing for each
request. It also knows how many connections an address has at all processes.
"""

import asyncio
import socket
from collections.abc import Callable, Collection

from dashboard.runtime.processes.members import Member
from dashboard.runtime.request_guard.connection_census import counted_address
from dashboard.runtime.request_guard.resource_limits import ResourceLimits

_AT_ONCE = 64  #: connections accepted in one turn of the loop
_AGAIN_SECONDS = 0.02  #: after which another try is made where no process takes more
_NO_FILE_SECONDS = 1.0  #: the same where this process can open no more files


class LoadBalancer:
    """The connections accepted at one listening socket."""

    def __init__(
        self, listening: socket.socket, bounds: ResourceLimits, members: Callable[[], Collection[Member]]
    ) -> None:
        self._listening, self._bounds, self._members = listening, bounds, members
        self._kept: tuple[socket.socket, str | None] | None = None  #: one that nobody takes yet; others wait behind it
        self._again: asyncio.TimerHandle | None = None
        self._turn = 0

    def begin(self) -> None:
        self._listening.setblocking(False)
        self._read()

    def end(self) -> None:
        """Accept no more; who waits to be accepted is not answered."""
        self._pause()
        if self._kept is not None:
            self._kept[0].close()

    def _read(self) -> None:
        asyncio.get_running_loop().add_reader(self._listening.fileno(), self._accept)

    def _pause(self) -> None:
        asyncio.get_running_loop().remove_reader(self._listening.fileno())
        if self._again is not None:
            self._again.cancel()

    def _pause_for(self, seconds: float) -> None:
        self._pause()
        self._again = asyncio.get_running_loop().call_later(seconds, self._go_on)

    def _go_on(self) -> None:
        kept, self._kept = self._kept, None
        if kept is None or self._handed_on(*kept):
            self._read()

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                connection, peer = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:
                self._pause_for(_NO_FILE_SECONDS)
                return
            if not self._handed_on(connection, counted_address(peer[0], self._bounds.proxies)):
                return

    def _handed_on(self, connection: socket.socket, address: str | None) -> bool:
        """Whether a process took it. Else it is kept, and nothing more is accepted for a moment."""
        members = self._members()
        counts = {member: member.of(address) for member in members} if address is not None else {}
        total = sum(counts.values())
        full = 0 < self._bounds.per_address <= total
        # Where its address has all it may have, one of them has to make room: there are most where it has most.
        ordered = sorted(members, key=lambda member: (-counts[member] if full else 0, member.load, member.turn))
        for member in ordered:
            if member.hand_on(connection, address, elsewhere=total - counts.get(member, 0)):
                connection.close()
                self._turn += 1
                member.turn = self._turn
                return True
        self._kept = connection, address
        self._pause_for(_AGAIN_SECONDS)
        return False
