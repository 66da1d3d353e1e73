"""The queue of passwords that are typed on the sign-in page: checking one takes half a second of a processor.

Only a few are checked at once, so that guessing does not slow down everything else. Who came last is next: an attacker
sends the next guess when the last one is answered, so a queue in order of arrival would have an honest person wait
behind all of them. An address or a user name at which somebody guesses leaves one place to all others. A browser in
which the same user has signed in before comes before all.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from dashboard.accounts.throttle import FailureCounter
from dashboard.platform.fair_queue import FullError, QueueSize

SIGN_INS = QueueSize(places=2, of_one=1, waiting=256, waiting_of_one=16, seconds=30.0)
WRONG_OF_ADDRESS, WRONG_OF_ACCOUNT = 3, 10  #: passwords within a minute, from which on somebody guesses
_WRONG = frozenset({401, 429})
_FIELDS = 20  #: of the form; one with more names no account


@dataclass(frozen=True, slots=True)
class SignIn:
    """Whose password is to be checked."""

    address: str
    account: str  #: as it was typed; empty where the form has none, or is of another kind
    known: bool = False  #: it is typed in a browser in which the account has signed in before


@dataclass(eq=False, slots=True)
class _Waiting:
    who: SignIn
    turn: "asyncio.Future[None]"


class SignInQueue:
    """Of one event loop."""

    def __init__(self, size: QueueSize = SIGN_INS, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._size, self._clock = size, clock
        self._inside: list[SignIn] = []
        self._waiting: list[_Waiting] = []  #: in the order they came
        self._addresses = FailureCounter(limit=WRONG_OF_ADDRESS)
        self._accounts = FailureCounter(limit=WRONG_OF_ACCOUNT)

    async def enter(self, who: SignIn) -> "SignInPlace":
        """Wait for a place. Raises `FullError`; where too many wait, for who has waited longest."""
        if self._may_enter(who):
            self._inside.append(who)
            return SignInPlace(self, who)
        if sum(one.who.address == who.address for one in self._waiting) >= self._size.waiting_of_one:
            raise FullError(own=True)
        if len(self._waiting) >= self._size.waiting:
            self._waiting.pop(0).turn.set_exception(FullError(own=False))
        await self._turn_of(_Waiting(who, asyncio.get_running_loop().create_future()))
        return SignInPlace(self, who)

    def leave(self, who: SignIn, *, status: int | None) -> None:
        """The place is the next one's. `status`: how it was answered; None: it was not."""
        self._inside.remove(who)
        now = self._clock()
        if status in _WRONG:
            self._addresses.add(who.address, now=now)
            if who.account:  # a token names none
                self._accounts.add(who.account, now=now)
        self._call()

    async def _turn_of(self, one: _Waiting) -> None:
        self._waiting.append(one)
        try:
            async with asyncio.timeout(self._size.seconds):
                await one.turn
        except (asyncio.CancelledError, TimeoutError) as error:
            if one in self._waiting:
                self._waiting.remove(one)
            elif not one.turn.cancelled() and one.turn.exception() is None:  # it had just been given the place
                self.leave(one.who, status=None)
            if isinstance(error, TimeoutError):
                raise FullError(own=False) from None
            raise

    def _call(self) -> None:
        """Give the free places to those who are next."""
        while (following := self._next()) is not None:
            self._waiting.remove(following)
            if not following.turn.done():  # its request is not about to give up
                self._inside.append(following.who)
                following.turn.set_result(None)

    def _next(self) -> _Waiting | None:
        may = [one for one in self._waiting if self._may_enter(one.who)]
        return max(reversed(may), key=lambda one: one.who.known, default=None)

    def _may_enter(self, who: SignIn) -> bool:
        if len(self._inside) >= self._size.places:
            return False
        if sum(one.address == who.address for one in self._inside) >= self._size.of_one:
            return False
        guessing = sum(map(self._guesses, self._inside))
        return not self._guesses(who) or guessing < max(1, self._size.places - 1)

    def _guesses(self, who: SignIn) -> bool:
        """Whether somebody guesses at this address, or at this account."""
        now = self._clock()
        of_account = not who.known and self._accounts.is_full(who.account, now=now)
        return of_account or self._addresses.is_full(who.address, now=now)


class SignInPlace:
    """One sign-in's, until its answer begins."""

    until_sent = False  #: as `RequestPlace`

    def __init__(self, line: SignInQueue, who: SignIn) -> None:
        self._line, self.who = line, who
        self._held = True

    def answered(self, status: int = 200) -> None:
        """The answer begins."""
        self._give_back(status)

    def leave(self) -> None:
        """Give it back. May be called twice."""
        self._give_back(None)

    def _give_back(self, status: int | None) -> None:
        if self._held:
            self._held = False
            self._line.leave(self.who, status=status)


def is_sign_in(scope: Mapping[str, Any]) -> bool:
    """Whether this request sends the form of the sign-in page."""
    path: str = scope["path"]
    return scope["type"] == "http" and scope["method"] == "POST" and path.rstrip("/") == "/sign-in"


def account_in(form: bytes) -> str:
    """The user name in a form's body."""
    try:
        given = dict(parse_qsl(form.decode("latin-1"), max_num_fields=_FIELDS))
    except ValueError:
        return ""
    return given.get("username", "").strip().casefold()
