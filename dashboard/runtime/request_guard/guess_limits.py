"""Rate limits on invalid tokens and keys by address; over the limit they are not even looked up.

A token is counted before it is judged, and given back when the answer is not 401. One that has worked is always judged,
so that a program keeps working while another at its address guesses. Counted in this process, in memory. Programs on
this machine are not counted; whoever comes through a proxy on it is, by the proxy's address if it is not trusted.
"""

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from math import ceil
from typing import Any

from dashboard.accounts.access import AccessForm, access_form_of
from dashboard.accounts.credentials import bearer_of, digest_of
from dashboard.accounts.websocket import TOO_MANY, deny
from dashboard.platform.local_client import is_near
from dashboard.platform.trusted_proxies import NOBODY, customer_of
from dashboard.runtime.request_guard.connection_census import counted_address
from dashboard.runtime.request_guard.refusals import refusal

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST = 300  #: wrong tokens of one address
SECONDS = 60.0  #: within so long
KEPT = 10_000  #: addresses, and tokens that worked; beyond it the longest unused are forgotten
OFTEN = "Too many tokens from your address were wrong. Wait, and check the token that this program sends."
_STARTS = frozenset({"http.response.start", "websocket.http.response.start"})
_WRONG = 401


class GuessLimits:
    """Counts of wrong tokens, in windows that begin with the first. `now` is in seconds of any monotonic clock."""

    def __init__(self, *, most: int = MOST, kept: int = KEPT) -> None:
        self._most, self._kept = most, kept
        self._worked: OrderedDict[str, None] = OrderedDict()
        self._windows: OrderedDict[str, tuple[float, int]] = OrderedDict()  #: when they end, and how many there were

    def add(self, address: str, digest: str, *, now: float) -> float:
        """Count a guess. 0: it may be judged; else it was one too many, and the window lasts for so many seconds."""
        if digest in self._worked:
            return 0.0
        until, guesses = self._windows.pop(address, (0.0, 0))
        if until <= now:
            until, guesses = now + SECONDS, 0
        full = guesses >= self._most
        _keep(self._windows, address, (until, guesses if full else guesses + 1), self._kept)
        return until - now if full else 0.0

    def end(self, address: str, digest: str, *, wrong: bool, right: bool) -> None:
        """What it was; neither where nobody has judged it."""
        if wrong:
            self._worked.pop(digest, None)
            return
        until, guesses = self._windows.get(address, (0.0, 0))
        if guesses and digest not in self._worked:
            self._windows[address] = (until, guesses - 1)
        if right:
            self._worked.pop(digest, None)
            _keep(self._worked, digest, None, self._kept)


def _keep(kept: OrderedDict[str, Any], key: str, value: Any, most: int) -> None:
    kept[key] = value
    if len(kept) > most:
        kept.popitem(last=False)


class GuessCounter:
    """`application`, whose wrong tokens are counted."""

    def __init__(self, application: Application, guesses: GuessLimits | None = None) -> None:
        self._application = application
        self._guesses = GuessLimits() if guesses is None else guesses

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        secret, address = _secret_of(scope), _address_of(scope)
        if secret is None or address is None:
            await self._application(scope, receive, send)
            return
        digest = digest_of(secret)
        wait = self._guesses.add(address, digest, now=time.monotonic())
        if wait:
            await _refuse(scope, receive, send, ceil(wait))
            return
        judged = False

        async def told(message: Message) -> None:
            nonlocal judged
            status = _status_of(message)
            if status and not judged:
                judged = True
                self._end(scope["path"], address, digest, status)
            await send(message)

        try:
            await self._application(scope, receive, told)
        finally:
            if not judged:
                self._end(scope["path"], address, digest, 0)

    def _end(self, path: str, address: str, digest: str, status: int) -> None:
        looked = access_form_of(path) not in {AccessForm.OPEN, AccessForm.SHARED}  # elsewhere nobody looks at tokens
        right = looked and 200 <= status < 300
        self._guesses.end(address, digest, wrong=status == _WRONG, right=right)


def _address_of(scope: Scope) -> str | None:
    """The address that guesses are counted by; None for a program on this machine, and for a unix socket."""
    host = (scope.get("client") or ("", 0))[0]
    return counted_address(host, NOBODY) or (None if not host or is_near(scope) else customer_of(host))


def _status_of(message: Message) -> int:
    """0: the message is no beginning of an answer."""
    if message["type"] == "websocket.accept":
        return 200
    return int(message["status"]) if message["type"] in _STARTS else 0


def _secret_of(scope: Scope) -> str | None:
    if scope["type"] not in {"http", "websocket"}:
        return None
    said = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
    return bearer_of(said.decode("latin-1"))


async def _refuse(scope: Scope, receive: Receive, send: Send, seconds: int) -> None:
    if scope["type"] == "websocket":
        await deny(scope, receive, send, TOO_MANY)
        return
    answer = refusal(scope["path"], TOO_MANY, OFTEN, more=((b"retry-after", b"%d" % seconds),))
    await send({"type": "http.response.start", "status": answer.status, "headers": list(answer.headers)})
    await send({"type": "http.response.body", "body": answer.body})
