"""Counts of keys with limits, kept by one process for several that serve: what one of them lets through, all know.

Each key is read when it is first asked for. About once a second what was counted is written, and what other hosts
have counted is read. Used on one event loop.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from uuid import UUID

import structlog

from agentcore.messages import TokenUsage
from dashboard.gateway.access import key_meter, refusals
from dashboard.gateway.access.key_cache import EVERY_SECONDS, IDLE_SECONDS
from dashboard.gateway.access.key_meter import KeyMeter, PricedModel
from dashboard.gateway.access.key_sync import reconcile
from dashboard.gateway.access.limits import KeyLimits
from dashboard.gateway.access.refusals import Refusal
from dashboard.platform.db_threads import AWAY, in_database

log = structlog.get_logger(__name__)


class SharedCounts:
    """Keys by their ids."""

    def __init__(self) -> None:
        self._meters: dict[UUID, KeyMeter] = {}
        self._unwritten: dict[UUID, KeyMeter] = {}
        self._used_at: dict[UUID, float] = {}
        self._reading: dict[UUID, asyncio.Task[KeyMeter | None]] = {}
        self._ending = asyncio.Event()

    async def admit(self, key_id: UUID, limits: KeyLimits) -> Refusal | None:
        """Count a call, or say why it may not begin."""
        meter = await self._meter_of(key_id)
        return refusals.UNREADABLE if meter is None else meter.admit(limits, key_meter.now())

    async def charge(self, key_id: UUID, used: TokenUsage, asked: PricedModel) -> None:
        """A call that was let through has used this much."""
        meter = await self._meter_of(key_id)
        if meter is not None:
            meter.charge(used, asked, key_meter.now())

    async def run(self) -> None:
        """Write and read, until `end`; then once more."""
        while not self._ending.is_set():
            await self._round()
            with suppress(TimeoutError):
                async with asyncio.timeout(EVERY_SECONDS):
                    await self._ending.wait()
        await self._round()

    def end(self) -> None:
        """No more calls begin; `run` writes what was counted, and ends."""
        self._ending.set()

    async def _meter_of(self, key_id: UUID) -> KeyMeter | None:
        """None: it is not known, and the database is away."""
        self._used_at[key_id] = time.monotonic()
        if (meter := self._meters.get(key_id)) is not None:
            return meter
        if key_id not in self._reading:
            self._reading[key_id] = asyncio.create_task(self._read(key_id))
        return await asyncio.shield(self._reading[key_id])

    async def _read(self, key_id: UUID) -> KeyMeter | None:
        try:
            reading = await in_database(reconcile, (), added={}, used=(), metered={key_id})
        except AWAY as error:
            log.info("gateway_counts_away", error=str(error).partition("\n")[0])
            return None
        finally:
            del self._reading[key_id]
        return self._meters.setdefault(key_id, KeyMeter(key_id, reading.known[key_id], self._unwritten))

    async def _round(self) -> None:
        self._let_go(time.monotonic())
        if not self._meters:
            return
        sent = dict(self._unwritten)
        self._unwritten.clear()
        added = {key_id: meter.take() for key_id, meter in sent.items()}
        metered = dict(self._meters)
        try:
            reading = await in_database(reconcile, (), added=added, used=(), metered=set(metered))
        except Exception as error:
            log.info("gateway_counts_away", error=str(error).partition("\n")[0])
            for meter in sent.values():
                meter.put_back()
        else:
            for key_id, meter in metered.items():
                meter.settle(reading.known.get(key_id, meter.known))

    def _let_go(self, now: float) -> None:
        for key_id, used_at in list(self._used_at.items()):
            if now - used_at > IDLE_SECONDS and key_id not in self._unwritten:
                del self._used_at[key_id]
                self._meters.pop(key_id, None)
