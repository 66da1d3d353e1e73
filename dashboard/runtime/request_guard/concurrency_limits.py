"""Limits on how many requests Django handles at once, apart for anonymous and signed-in clients.

Each such request is a thread, and all threads share one interpreter with the loop that serves the gateway: a hundred at
once would make every call wait for a hundred turns. A place is taken when the whole request is here, and given back
when its answer begins, so that nobody holds one by sending or reading slowly. Files have a room of their own: there a
place is held until the file is sent, for all of it is in memory until then. So have replays and comparisons, the map of
limits, which keeps the interpreter busy for longest, and imports, which wait for each other. Passwords that are typed
have a queue (`sign_in_queue`). The gateway, the ingest, health checks and static files have bounds of their own, and
take no place.

Whoever asks without credentials counts by address; with credentials that have let somebody in, by that user. What only
looks like a credential counts as none, until it has worked; those of an import are looked up first, for it may wait for
longer than strangers do. A share link that has worked is a caller of its own among
the strangers, whoever else is at its reader's address.
"""

import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any
from weakref import WeakKeyDictionary

from channels.db import database_sync_to_async
from django.conf import settings
from django.http import parse_cookie

from dashboard.accounts.access import LET_IN, AccessForm, access_form_of
from dashboard.accounts.credentials import bearer_of, digest_of
from dashboard.accounts.known_devices import COOKIE, is_known
from dashboard.ingest.turn_files.import_queue import WAITING_SECONDS, is_import
from dashboard.platform.fair_queue import FairQueue, FullError, QueueSize
from dashboard.platform.local_client import is_near
from dashboard.platform.trusted_proxies import customer_of
from dashboard.runtime.replay_addresses import MAP, is_replay
from dashboard.runtime.request_guard.callers import Headers, admitted_as
from dashboard.runtime.request_guard.sign_in_queue import SignIn, SignInPlace, SignInQueue, is_sign_in

Scope = MutableMapping[str, Any]

STRANGERS = QueueSize(places=2, of_one=2, waiting=512, waiting_of_one=64, seconds=5.0)
DOWNLOADS = QueueSize(places=3, of_one=1, waiting=64, waiting_of_one=16, seconds=30.0)
#: What follows a whole history step by step, many times over. One alone may take seconds of an interpreter.
REPLAYS = QueueSize(places=2, of_one=1, waiting=128, waiting_of_one=32, seconds=30.0)
#: A map follows a hundred histories: behind it a replay of the same user would wait for longer than it may.
MAPS = QueueSize(places=1, of_one=1, waiting=32, waiting_of_one=4, seconds=30.0)
#: One runs, and the process of the next one loads meanwhile. The bodies of those that wait are on the disk.
IMPORTS = QueueSize(places=2, of_one=2, waiting=32, waiting_of_one=8, seconds=WAITING_SECONDS)
#: Whose credentials an import has that are new here. To ask takes milliseconds, but strangers ask too.
LOOK_UPS = QueueSize(places=2, of_one=1, waiting=256, waiting_of_one=64, seconds=30.0)
KNOWN = QueueSize(places=6, of_one=3, waiting=512, waiting_of_one=128, seconds=30.0)
#: Of websockets. After a restart all pages open theirs again at once; those that find no place try again. Of one user
#: one, for each thread that computes has every call of the gateway wait for the interpreter; the next of the same user
#: waits for as long again as the handshake took, so that one user has half a thread at most.
HANDSHAKES = QueueSize(places=3, of_one=1, waiting=4_096, waiting_of_one=1_024, seconds=30.0)
A_SECOND, AT_FIRST = 20.0, 200.0  #: requests of one address without credentials; this machine's are not counted
KEPT = 10_000  #: credentials that worked, and addresses; beyond it the longest unused are forgotten
_FILE = re.compile(r"/export/?$|^/audit/file/?$|/attempts/\d+/(?:raw|request|curl)/?$")
_OWN_ROOM = ("/v1/", "/v1beta/", "/static/")


class RequestRate:
    """So many requests a second for each address, and more at first. `now` is in seconds of any monotonic clock."""

    def __init__(self, a_second: float, at_first: float) -> None:
        self._rate, self._most = a_second, at_first
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  #: requests, and when it was so many

    def may(self, address: str, *, now: float) -> bool:
        """Count a request, unless it is one too many."""
        left, then = self._left.pop(address, (self._most, now))
        left = min(self._most, left + (now - then) * self._rate)
        self._left[address] = (left - 1 if left >= 1 else left, now)
        if len(self._left) > KEPT:
            self._left.popitem(last=False)
        return left >= 1


class ConcurrencyLimits:
    """The concurrency limits of one event loop."""

    def __init__(
        self,
        *,
        strangers: QueueSize = STRANGERS,
        known: QueueSize = KNOWN,
        downloads: QueueSize = DOWNLOADS,
        replays: QueueSize = REPLAYS,
        maps: QueueSize = MAPS,
        handshakes: QueueSize = HANDSHAKES,
        imports: QueueSize = IMPORTS,
        processes: int = 1,
        ask: Callable[[Headers], Awaitable[str | None]] = database_sync_to_async(admitted_as),
    ) -> None:
        self._ask = ask
        self._strangers, self._known, self._downloads = FairQueue(strangers), FairQueue(known), FairQueue(downloads)
        self._replays, self._handshakes, self._imports = FairQueue(replays), FairQueue(handshakes), FairQueue(imports)
        self._maps = FairQueue(maps)
        self._sign_ins, self._look_ups = SignInQueue(), FairQueue(LOOK_UPS)
        self._pace = RequestRate(A_SECOND / processes, AT_FIRST / processes)
        self._users: OrderedDict[str, str] = OrderedDict()  #: who was let in, by the digest of their credentials

    async def enter(self, scope: Scope, *, account: str = "") -> "RequestPlace | SignInPlace | None":
        """A place for this request; None: it needs none. `account`: the user name that a sign-in gives. Raises
        FullError."""
        if not takes_place(scope["path"]):
            return None
        shared = access_form_of(scope["path"]) is AccessForm.SHARED
        credential = f"link {digest_of(scope['path'])}" if shared else _credential_of(scope["headers"])
        user = self._users.get(credential) if credential else None
        host = (scope.get("client") or ("", 0))[0]
        who = user or customer_of(host) or ""
        if user is None and not is_near(scope) and not self._pace.may(who, now=time.monotonic()):
            raise FullError(own=True)
        if is_sign_in(scope):
            return await self._sign_ins.enter(SignIn(who, account, known=_is_known(scope["headers"], account)))
        if user is None and credential and self._line_of(scope) is self._imports:
            user = await self._looked_up(scope, credential, who)
            who = user or who
        line = self._line_of(scope) if user and not shared else self._strangers
        line = self._handshakes if scope["type"] == "websocket" else line
        await line.enter(who)
        return RequestPlace(
            self, line, who, credential, scope, until_sent=line is self._downloads, rests=line is self._handshakes
        )

    async def _looked_up(self, scope: Scope, credential: str, who: str) -> str | None:
        """The user of credentials that are new here."""
        async with self._look_ups.place(who):
            user = await self._ask(scope["headers"])
        self.learn(credential, user)
        return user

    def _line_of(self, scope: Scope) -> FairQueue:
        path = scope["path"]
        if is_replay(path, scope.get("query_string", b"")):
            return self._maps if path.startswith(MAP) else self._replays
        if is_import(scope.get("method", ""), path):
            return self._imports
        return self._downloads if _FILE.search(path) else self._known

    def risen(self, line: FairQueue, user: str) -> FairQueue | None:
        """The line of those who are known, where this one was the strangers' and a place is free; it is taken then."""
        return self._known if line is self._strangers and self._known.enter_now(user) else None

    def learn(self, credential: str, user: str | None) -> None:
        """Whom it let in; None: nobody any more."""
        self._users.pop(credential, None)
        if user is not None:
            self._users[credential] = user
            if len(self._users) > KEPT:
                self._users.popitem(last=False)


class RequestPlace:
    """One request's, until its answer begins; `until_sent`: until it is sent; `rests`: then its user rests as long."""

    def __init__(
        self,
        rooms: ConcurrencyLimits,
        line: FairQueue,
        who: str,
        credential: str | None,
        scope: Scope,
        *,
        until_sent: bool = False,
        rests: bool = False,
    ) -> None:
        self.until_sent, self._rests = until_sent, rests
        self._rooms, self._line, self._who, self._credential, self._scope = rooms, line, who, credential, scope
        self._shared = access_form_of(scope["path"]) is AccessForm.SHARED
        self._looked = access_form_of(scope["path"]) is not AccessForm.OPEN  # there nobody looks at credentials
        self._user: str | None = None
        self._held = True
        self._loop = asyncio.get_running_loop()
        self._begun = self._loop.time()
        scope[LET_IN] = self._let_in

    def answered(self, _status: int = 200) -> None:
        """The answer begins."""
        if self._held and self._looked and self._credential:
            self._rooms.learn(self._credential, self._user)
        if not self.until_sent:
            self.leave()

    def leave(self) -> None:
        """Give it back. May be called twice."""
        if self._held:
            self._held = False
            self._line.leave(self._who, rests=self._loop.time() - self._begun if self._rests else 0.0)

    def _let_in(self, user: str) -> None:
        """Called in any thread."""
        self._user = user
        if not self._shared:
            self._loop.call_soon_threadsafe(self._rise, user)

    def _rise(self, user: str) -> None:
        """Who is no stranger any more leaves the place to strangers, if there is another: its work may be long."""
        if self._held and (line := self._rooms.risen(self._line, user)) is not None:
            self._line.leave(self._who)
            self._line, self._who = line, user


def takes_place(path: str) -> bool:
    """Whether a request to this address takes a place: others have bounds of their own."""
    return path != "/healthz" and not f"{path}/".startswith(_OWN_ROOM)


_rooms: WeakKeyDictionary[asyncio.AbstractEventLoop, ConcurrencyLimits] = WeakKeyDictionary()


def concurrency_limits_of_loop(processes: int) -> ConcurrencyLimits:
    """Those of the loop that runs."""
    loop = asyncio.get_running_loop()
    rooms = _rooms.get(loop)
    if rooms is None:
        rooms = _rooms[loop] = ConcurrencyLimits(processes=processes)
    return rooms


def _is_known(headers: Iterable[tuple[bytes, bytes]], account: str) -> bool:
    """Whether the account has signed in before in this browser."""
    told = "; ".join(value.decode("latin-1") for name, value in headers if name == b"cookie")
    return is_known(parse_cookie(told).get(COOKIE, ""), account)


def _credential_of(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """The digest of what might let somebody in, with its kind: a program does not wait behind a browser."""
    told = {name: value.decode("latin-1") for name, value in headers if name in (b"authorization", b"cookie")}
    secret = bearer_of(told.get(b"authorization", ""))
    if secret is not None:
        return f"token {digest_of(secret)}"
    key = parse_cookie(told.get(b"cookie", "")).get(settings.SESSION_COOKIE_NAME)
    return f"session {digest_of(key)}" if key else None
