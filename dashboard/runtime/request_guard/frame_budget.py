"""What websockets send, cut into frames, and what all of them together may take of the event loop and of memory.

A frame costs the loop tens of microseconds however small it is, and nothing else limits how many come: a hundred
sockets that send pings would keep the loop from everybody else. Nor is a frame free that never comes whole: what is
here of it was received and kept. So frames are read one at a time, and a socket that has taken its time rests, sooner
and for longer the more sockets rest.
"""

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

#: Seconds of the loop that a message costs where it is looked at, beyond its reading.
MESSAGE_SECONDS = 0.0005
#: Seconds of the loop that a byte costs before a frame is made of it: the kernel's copy of it, and the loop's.
RECEIVED_SECONDS = 1e-9
#: Seconds of the loop after which a socket rests where no other does.
BURST = 0.001
#: Bytes that a frame takes beside its own, while its message is not whole.
OVERHEAD = 128
_LONGER = {126: 2, 127: 8}  #: bytes of the length, by what stands in its place (RFC 6455, 5.2)
_MASKED, _SHORT = 0x80, 0x7F


H = TypeVar("H")


class Frames:
    """Bytes of one socket."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def __len__(self) -> int:
        return len(self._bytes)

    def add(self, data: bytes) -> None:
        self._bytes += data

    def next(self, most: int) -> bytes:
        """The next frame, once it is whole; empty: it is not. Of one that claims more than `most` bytes, what is here,
        so that its parser can refuse it."""
        length = _length(self._bytes)
        if length is None or len(self._bytes) < length <= most:
            return b""
        taken = bytes(self._bytes[:length])
        del self._bytes[:length]
        return taken


class Holder(Protocol):
    """A socket whose message is not whole, or waits to be looked at."""

    def drop(self) -> None:
        """Close it: it holds more than any other."""


class ByteBudget(Generic[H]):
    """Bytes that all of a kind may hold together. `drop`: ends one of them; `near`: the share of what the largest holds
    from which on one may be ended in its place."""

    def __init__(self, most: int, drop: Callable[[H], None], *, near: float = 0.75) -> None:
        self._most, self._drop, self._near = most, drop, near
        self._held: dict[H, int] = {}
        self._total = 0

    def holders(self) -> list[H]:
        return [*self._held]

    def hold(self, holder: H, size: int) -> None:
        """It holds so many bytes now. Where all hold too much, one is ended: of those that hold nearly as much as the
        largest, the one that has not come to hold a quarter less for longest."""
        before = self._held.get(holder, 0)
        self._total += size - before
        if not size or 4 * size <= 3 * before:  # what the system's own buffers take is no progress
            self._held.pop(holder, None)
        if size:
            self._held[holder] = size
        if self._total > self._most:
            most = max(self._held.values())
            longest = next(one for one, held in self._held.items() if held >= self._near * most)
            self.hold(longest, 0)
            self._drop(longest)


class FrameBudget(ByteBudget[Holder]):
    """Of all sockets of one process. `share`: of the loop's time. `most`: bytes."""

    def __init__(self, *, share: float, most: int) -> None:
        super().__init__(most, lambda holder: holder.drop())
        self._share = share
        self._resting = 0

    @property
    def burst(self) -> float:
        """Seconds of the loop after which a socket rests: hundreds that begin at once take little more than one."""
        return BURST / (1 + self._resting)

    def begin_rest(self, took: float) -> float:
        """Seconds for which a socket rests whose frames took so long; `end_rest` follows."""
        self._resting += 1
        return took / self._share * self._resting

    def end_rest(self) -> None:
        self._resting -= 1


def _length(head: bytearray) -> int | None:
    """Bytes of the frame that begins here; None: too little of it is here."""
    if len(head) < 2:
        return None
    short, mask = head[1] & _SHORT, 4 if head[1] & _MASKED else 0
    more = _LONGER.get(short, 0)
    if len(head) < 2 + more:
        return None
    return 2 + more + mask + (int.from_bytes(head[2 : 2 + more]) if more else short)
