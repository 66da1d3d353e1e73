"""Counts the connections of this process by address, and knows which of them are idle or slow.

A connection *waits* while its client has not sent all of a request: it is idle, or in the middle of a head or a body.
Where there is no room for another, the one that has waited longest makes room, so that half-sent requests never keep a
whole one out. A websocket whose handshake waits for its turn makes room before all others. Each second those that wait
are asked whether their time is over.

Also holds when a websocket's handshake is answered: one at a time, each client in turn, in a bounded share of the event
loop.

A connection is accepted for nothing, but an upgrade costs the loop about a millisecond, and hundreds can come in one
turn of it: answered as they came, they would keep everybody else's calls waiting until the last of them. How many may
wait is bounded. Where all places are taken, whoever has most of them loses one to a client with fewer.
"""

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, islice
from typing import Protocol

from dashboard.platform.trusted_proxies import Proxies, address_of, customer_of
from dashboard.runtime.request_guard.frame_budget import ByteBudget, FrameBudget
from dashboard.runtime.request_guard.resource_limits import ResourceLimits

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


LOOKED_AT = 32  #: connections in one turn of the loop


class CountedConnection(Protocol):
    """One connection."""

    address: str | None  #: None: it is not counted by address
    elsewhere: int  #: connections of its address at other processes that serve the same port

    def make_room(self) -> None:
        """End it at once: it waits, and another needs its place."""

    def abandon(self) -> bool:
        """Have it keep less: it has more to read than any other, and all together have too much. Whether it is cut off;
        else it says why, and ends once its client reads that."""

    def look(self, now: float) -> None:
        """End it if its client has had enough time. Called each second while it waits, or is slow to read."""

    def weigh(self) -> None:
        """Say how much it has to read now (`ConnectionCensus.has`). Called each second while it has something: nobody
        hears of a client that takes the last of it."""


class ConnectionCensus:
    """Of one process. Used on one event loop, which the first connection brings."""

    def __init__(self, bounds: ResourceLimits) -> None:
        self.bounds = bounds
        self.frames = FrameBudget(share=bounds.frame_share, most=bounds.frame_bytes)
        #: What is written or kept for clients that have not taken it yet. Of an answer that has just begun they have
        #: all, of one that nobody reads the system's buffers have taken a part.
        self.unread: ByteBudget[CountedConnection] = ByteBudget(bounds.unread_bytes, self._abandon, near=0.5)
        self._abandoned: set[CountedConnection] = set()  #: that end by it, and count no more
        self.handshakes = HandshakePace(share=bounds.handshake_share)
        self._members: dict[CountedConnection, None] = {}
        self._of: Counter[str] = Counter()
        self._queued: dict[CountedConnection, None] = {}  #: the longest first
        self._waiting: dict[CountedConnection, None] = {}  #: the same
        self._stalled: dict[CountedConnection, None] = {}
        self._sweeping: asyncio.Handle | None = None
        self._dropped = 0  #: bytes since the last look

    def __len__(self) -> int:
        return len(self._members)

    def admit(self, member: CountedConnection) -> bool:
        """Count a new connection, for which another may have to go; False where there is no room."""
        address = member.address
        if address is not None and self._is_full(address, member.elsewhere) and not self._made_room(address):
            return False
        if len(self._members) >= self.bounds.connections and not self._made_room(None):
            return False
        self.join(member)
        return True

    def join(self, member: CountedConnection) -> None:
        """Count a connection in place of one that has just left."""
        self._members[member] = None
        if member.address is not None:
            self._of[member.address] += 1
        if self._sweeping is None:
            self._sweeping = asyncio.get_running_loop().call_later(self.bounds.sweep_seconds, self._sweep)

    def leave(self, member: CountedConnection) -> None:
        """It has ended, or goes on as another member. May be called twice."""
        if member not in self._members:
            return
        del self._members[member]
        self._abandoned.discard(member)
        self.works(member)
        self.reads(member)
        if member.address is not None:
            self._of[member.address] -= 1
            if not self._of[member.address]:
                del self._of[member.address]

    def waits(self, member: CountedConnection) -> None:
        """Its client has to send something now."""
        if member in self._members:
            self._waiting[member] = None

    def queues(self, member: CountedConnection) -> None:
        """Its handshake waits for its turn."""
        if member in self._members:
            self._queued[member] = None

    def works(self, member: CountedConnection) -> None:
        """It is for the server to do something."""
        self._queued.pop(member, None)
        self._waiting.pop(member, None)

    def stalls(self, member: CountedConnection, unread: int) -> None:
        """Its client has not taken so many bytes of what is sent."""
        if member in self._members:
            self._stalled[member] = None
            self.has(member, unread)

    def has(self, member: CountedConnection, unread: int) -> None:
        """So many bytes to read."""
        if member in self._members and member not in self._abandoned:
            self.unread.hold(member, unread)

    def _abandon(self, member: CountedConnection) -> None:
        if member.abandon():
            self._abandoned.add(member)

    def reads(self, member: CountedConnection, unread: int = 0) -> None:
        """Its client takes what is sent, and has still so much to read."""
        self._stalled.pop(member, None)
        self.unread.hold(member, 0)
        self.has(member, unread)

    def may_drop(self, size: int) -> bool:
        """Count bytes that were read only to be dropped; False where all clients together have sent enough of them."""
        self._dropped += size
        return self._dropped <= self.bounds.dropped_bytes

    def _is_full(self, address: str, elsewhere: int) -> bool:
        return 0 < self.bounds.per_address <= self._of[address] + elsewhere

    def _made_room(self, address: str | None) -> bool:
        """Whether one that waits (of this address, where one is given) has gone."""
        going = chain(self._queued, self._waiting)
        longest = next((one for one in going if address in (None, one.address)), None)
        if longest is None:
            return False
        self.leave(longest)
        longest.make_room()
        return True

    def _sweep(self) -> None:
        self._dropped = 0
        self._look(iter(dict.fromkeys((*self._queued, *self._waiting, *self._stalled, *self.unread.holders()))))

    def _look(self, members: Iterator[CountedConnection]) -> None:
        """At so many in a turn of the loop: all may have to be ended, and between them others are served."""
        loop = asyncio.get_running_loop()
        now, some = loop.time(), list(islice(members, LOOKED_AT))
        for member in some:
            if member in self._waiting or member in self._queued or member in self._stalled:
                member.look(now)
            elif member in self._members:
                member.weigh()
        if some:
            self._sweeping = loop.call_soon(self._look, members)
        else:
            self._sweeping = loop.call_later(self.bounds.sweep_seconds, self._sweep) if self._members else None


@lru_cache(maxsize=4_096)
def counted_address(host: str | None, proxies: Proxies) -> str | None:
    """The address that connections are counted by: None for this machine's own and for a trusted proxy's, behind which
    anybody may be."""
    address = address_of(host or "")
    if address is None or address.is_loopback or proxies.trust(host):  # a unix socket has none
        return None
    return customer_of(host)
