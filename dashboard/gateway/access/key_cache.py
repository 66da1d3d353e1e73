"""The cache of keys on one event loop: refreshed once a second while in use, so that no call queries the database.

One task does it all, in rounds: a key nobody has met starts one at once, and whoever comes meanwhile shares the next.
A whole round also writes what was counted, and reads what other processes have. It ends when nobody calls any more.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from uuid import UUID
from weakref import WeakValueDictionary

import structlog

from dashboard.gateway.access import key_meter, refusals
from dashboard.gateway.access.callers import Caller
from dashboard.gateway.access.key_meter import KeyMeter
from dashboard.gateway.access.key_sync import KeyRow, SyncResult, reconcile
from dashboard.gateway.access.refusals import Refusal
from dashboard.platform.db_threads import AWAY, in_database

log = structlog.get_logger(__name__)

EVERY_SECONDS = 1.0  #: between two whole rounds
FRESH_SECONDS = 2.0  #: what is older is read again before it opens the door
IDLE_SECONDS = 60.0  #: a key that was not used for as long is let go
AWAY_SECONDS = 5.0  #: how long nobody waits for a database that did not answer
PATIENCE_SECONDS = 5.0  #: how long a call waits to learn whose key it has
STALE_PATIENCE_SECONDS = 0.5  #: the same where it is known, but not from just now


@dataclass(slots=True)
class CachedKey:
    """A key that opens the door, or a token whose user may not call. Moments are the loop's, `expires_at` is UTC's."""

    caller: Caller | Refusal
    found: KeyRow
    read_at: float
    used_at: float

    def answer(self) -> Caller | Refusal:
        """Who calls, if that has not run out since it was read."""
        expires_at = self.found.expires_at
        return refusals.WRONG_KEY if expires_at is not None and expires_at <= key_meter.now() else self.caller


class KeyCache:
    """The keys in use on one event loop, by the digest of their secret."""

    def __init__(self) -> None:
        self._held: dict[str, CachedKey] = {}
        self._wanted: dict[str, asyncio.Future[Caller | Refusal]] = {}
        self._open: dict[str, set[Callable[[], None]]] = {}  #: what ends each call that is under way
        self._meters: WeakValueDictionary[UUID, KeyMeter] = WeakValueDictionary()
        self._unwritten: dict[UUID, KeyMeter] = {}
        self._asked = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None
        self._due = 0.0  #: the next whole round
        self._looked = 0.0  #: when the last whole round began
        self._away_until = 0.0
        self._closing = False

    async def caller_of(self, digest: str) -> Caller | Refusal:
        """The caller with this secret."""
        held, now = self._held.get(digest), time.monotonic()
        if held is None or (now - held.read_at > FRESH_SECONDS and now > self._away_until):
            return await self._read(digest, held)
        held.used_at = now
        return held.answer()

    @contextmanager
    def open_call(self, digest: str, end: Callable[[], None]) -> Iterator[None]:
        """While a call with this secret is under way: `end` is called once the secret opens the door no more."""
        self._open.setdefault(digest, set()).add(end)
        self._keep_on()
        try:
            yield
        finally:
            self._open[digest].discard(end)
            if not self._open[digest]:
                del self._open[digest]

    async def close(self) -> None:
        """Write what was counted, and end."""
        self._closing = True
        self._asked.set()
        if self._keeper is not None:
            await asyncio.gather(self._keeper, return_exceptions=True)
        self._due = 0.0
        await self._round()

    async def _read(self, digest: str, held: CachedKey | None) -> Caller | Refusal:
        future = self._wanted.setdefault(digest, asyncio.get_running_loop().create_future())
        self._asked.set()
        self._keep_on()
        try:
            async with asyncio.timeout(PATIENCE_SECONDS if held is None else STALE_PATIENCE_SECONDS):
                return await asyncio.shield(future)
        except TimeoutError:
            self._away_until = time.monotonic() + AWAY_SECONDS
            return refusals.UNREADABLE if held is None else held.answer()

    def _keep_on(self) -> None:
        if not self._closing and (self._keeper is None or self._keeper.done()):
            self._keeper = asyncio.create_task(self._keep(), name="gateway keys")

    async def _keep(self) -> None:
        while not self._closing and (self._held or self._open or self._wanted or self._unwritten or self._meters):
            self._asked.clear()
            await self._round()
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, self._due - time.monotonic())):
                    await self._asked.wait()

    async def _round(self) -> None:
        now, wanted = time.monotonic(), self._wanted
        self._wanted, whole = {}, now >= self._due
        if whole:
            self._due = now + EVERY_SECONDS
            self._let_go(now)
        sent = self._take() if whole else {}
        digests = {*wanted, *((*self._held, *self._open) if whole else ())}
        used = self._used_since_last(now) if whole else []
        reading = await self._reconciled(digests, sent, used) if digests or sent else SyncResult()
        if reading is None:
            self._failed(wanted, sent)
        else:
            self._settle(digests, wanted, reading)

    async def _reconciled(self, digests: set[str], sent: dict[UUID, KeyMeter], used: list[KeyRow]) -> SyncResult | None:
        """None: the database is away, or something else is broken, which the log says."""
        added = {key_id: meter.sent for key_id, meter in sent.items() if meter.sent is not None}
        try:
            return await in_database(reconcile, digests, added=added, used=used, metered=set(self._meters))
        except AWAY as error:
            log.info("gateway_keys_away", error=str(error).partition("\n")[0])
        except Exception:
            log.exception("gateway_keys_unreadable")  # callers wait for the word, whatever it is
        return None

    def _take(self) -> dict[UUID, KeyMeter]:
        sent = dict(self._unwritten)
        self._unwritten.clear()
        for meter in sent.values():
            meter.take()
        return sent

    def _used_since_last(self, now: float) -> list[KeyRow]:
        since, self._looked = self._looked, now
        return [held.found for held in self._held.values() if held.used_at >= since]

    def _let_go(self, now: float) -> None:
        for digest, held in list(self._held.items()):
            if now - held.used_at > IDLE_SECONDS and digest not in self._open:
                del self._held[digest]

    def _failed(self, wanted: dict[str, asyncio.Future[Caller | Refusal]], sent: dict[UUID, KeyMeter]) -> None:
        """Keys that were known stay good while the database is away: nobody can revoke one either."""
        self._away_until = time.monotonic() + AWAY_SECONDS
        for meter in sent.values():
            meter.put_back()
        for digest, future in wanted.items():
            held = self._held.get(digest)
            _answer(future, refusals.UNREADABLE if held is None else held.answer())
        for digest in self._open.keys() & self._held.keys():
            self._end_calls(digest)  # one may have expired

    def _settle(
        self, digests: set[str], wanted: dict[str, asyncio.Future[Caller | Refusal]], reading: SyncResult
    ) -> None:
        now = time.monotonic()
        for key_id, known in reading.known.items():
            if (meter := self._meters.get(key_id)) is not None:
                meter.settle(known)
        for digest in digests:
            found, before = reading.found.get(digest), self._held.pop(digest, None)
            if found is not None:
                used_at = now if before is None or digest in wanted else before.used_at
                caller = self._caller(digest, found, reading)
                self._held[digest] = CachedKey(caller, found, read_at=now, used_at=used_at)
            self._end_calls(digest)
        for digest, future in wanted.items():
            held = self._held.get(digest)
            _answer(future, refusals.WRONG_KEY if held is None else held.answer())

    def _end_calls(self, digest: str) -> None:
        """Those under way with a secret that was just read, and opens the door no more."""
        held = self._held.get(digest)
        if held is None or isinstance(held.answer(), Refusal):
            for end in list(self._open.get(digest, ())):
                end()

    def _caller(self, digest: str, found: KeyRow, reading: SyncResult) -> Caller | Refusal:
        if found.barred is not None:
            return found.barred
        meter = None
        if found.key_id is not None:
            meter = self._meters.get(found.key_id)
            if meter is None:
                meter = KeyMeter(found.key_id, reading.known[found.key_id], self._unwritten)
                self._meters[found.key_id] = meter
        return found.caller(digest=digest, aliases=reading.aliases.get(found.project, {}), meter=meter)


def _answer(future: asyncio.Future[Caller | Refusal], answer: Caller | Refusal) -> None:
    if not future.done():
        future.set_result(answer)
