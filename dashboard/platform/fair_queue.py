"""A semaphore with a fair queue: callers take turns, however many requests each of them has."""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass


class FullError(Exception):
    """Too many wait already, or it took too long. `own`: because of what this caller itself has waiting. `ahead`: the
    requests that must end before there is a place for another one; 0 where nobody counted them."""

    def __init__(self, *, own: bool, ahead: int = 0) -> None:
        super().__init__("The queue is full.")
        self.own, self.ahead = own, ahead


@dataclass(frozen=True, slots=True)
class QueueSize:
    """The size of a queue."""

    places: int  #: in all
    of_one: int  #: places that one caller may have at once
    waiting: int  #: requests in line, in all
    waiting_of_one: int  #: of one caller
    seconds: float  #: that a request may wait in line


class FairQueue:
    """Of one event loop. A free place goes to the caller who has waited longest for a turn, not to the next request."""

    def __init__(self, width: QueueSize) -> None:
        self._width = width
        self._inside: Counter[str] = Counter()
        self._resting: Counter[str] = Counter()  #: places that others have, and that still count as this caller's own
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()  #: who is next comes first

    @asynccontextmanager
    async def place(self, who: str) -> AsyncIterator[None]:
        """A place for the length of the block. Raises FullError."""
        await self.enter(who)
        try:
            yield
        finally:
            self.leave(who)

    def enter_now(self, who: str) -> bool:
        """Whether there was a place without waiting; `leave` gives it back."""
        may = self._may_enter(who)
        if may:
            self._inside[who] += 1
        return may

    async def enter(self, who: str) -> None:
        """Wait for a place; `leave` gives it back. Raises FullError."""
        if self.enter_now(who):
            return
        own = self._waiting.get(who, ())
        if len(own) >= self._width.waiting_of_one:
            raise FullError(own=True, ahead=self._ahead_of_next(who))
        if sum(map(len, self._waiting.values())) >= self._width.waiting:
            raise FullError(own=False, ahead=self._ahead())
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(who, deque()).append(turn)
        try:
            async with asyncio.timeout(self._width.seconds):
                await turn
        except (asyncio.CancelledError, TimeoutError) as error:
            self._give_up(who, turn)
            if isinstance(error, TimeoutError):
                raise FullError(own=False, ahead=self._ahead()) from None
            raise

    def leave(self, who: str, *, rests: float = 0.0) -> None:
        """The place is the next caller's; among this caller's own it counts for so many seconds more."""
        _less(self._inside, who)
        if rests:
            self._resting[who] += 1
            asyncio.get_running_loop().call_later(rests, self._rested, who)
        self._call()

    def _rested(self, who: str) -> None:
        _less(self._resting, who)
        self._call()

    def _call(self) -> None:
        """Give the free places to those who are next."""
        while (following := next(filter(self._may_enter, self._waiting), None)) is not None:
            turns = self._waiting.pop(following)
            turn = turns.popleft()
            if turns:  # and this caller is the last again
                self._waiting[following] = turns
            if not turn.done():  # its request is not about to give up
                self._inside[following] += 1
                turn.set_result(None)

    def _may_enter(self, who: str) -> bool:
        own = self._inside[who] + self._resting[who]
        return self._inside.total() < self._width.places and own < self._width.of_one

    def _ahead(self) -> int:
        return self._inside.total() + sum(map(len, self._waiting.values()))

    def _ahead_of_next(self, who: str) -> int:
        """The requests that must end before one of this caller's own ends. Callers take turns."""
        before = 0 if self._inside[who] or who not in self._waiting else 1 + list(self._waiting).index(who)
        return self._inside.total() + before

    def _give_up(self, who: str, turn: "asyncio.Future[None]") -> None:
        turns = self._waiting.get(who, deque())
        if not turn.cancelled():  # it had just been given the place
            self.leave(who)
        elif turn in turns:
            turns.remove(turn)
            if not turns:
                del self._waiting[who]


def _less(counted: Counter[str], who: str) -> None:
    counted[who] -= 1
    if not counted[who]:
        del counted[who]
