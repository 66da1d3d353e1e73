"""Keys as one event loop knows them: few questions to the database, shared counts, and a database that is away."""

import asyncio
import time

import pytest
from django.db import OperationalError
from django.utils import timezone

from agentcore.messages import TokenUsage
from dashboard.gateway.access import authentication, key_cache
from dashboard.gateway.access.authentication import Caller
from dashboard.gateway.access.refusals import UNREADABLE
from dashboard.gateway.models import GatewayKey, KeySpending
from dashboard.platform.db_threads import in_database
from tests.dashboard.gateway.calling import GPT, becomes, caller, who
from tests.dashboard.gateway.conftest import KeyOf

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quick")]


async def test_two_processes_share_a_limit(key_of: KeyOf):
    _, secret = await in_database(key_of, requests_per_minute=4)
    here, there = key_cache.KeyCache(), key_cache.KeyCache()
    digest = authentication.digest_of(secret)
    try:
        async with asyncio.timeout(60):
            assert [(await _admitted(here, digest)) for _ in range(4)] == [True] * 4
            while await _admitted(there, digest, count=False):
                await asyncio.sleep(0.01)
    finally:
        await here.close()
        await there.close()


async def _admitted(process: key_cache.KeyCache, digest: str, *, count: bool = True) -> bool:
    found = await process.caller_of(digest)
    assert isinstance(found, Caller)
    assert found.meter is not None
    return (await found.admit() if count else found.meter._judge(found.limits, time.time())) is None


async def test_a_long_call_is_charged_even_after_its_key_left_the_cache(key_of: KeyOf, monkeypatch: pytest.MonkeyPatch):
    key, secret = await in_database(key_of)
    found = await caller(secret)
    assert await found.admit() is None
    monkeypatch.setattr(key_cache, "IDLE_SECONDS", 0.0)
    process = authentication._keys_of_loop()
    async with asyncio.timeout(60):
        while process._held:
            await asyncio.sleep(0.01)
    found.charge(TokenUsage(70, 7), **GPT)
    async with asyncio.timeout(60):
        while not await in_database(KeySpending.objects.filter(key=key, tokens=77, calls=1).exists):
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("let_go", [False, True])
async def test_a_key_revoked_before_its_call_is_registered_ends_the_call(key_of: KeyOf, *, let_go: bool):
    """Its body may take longer than the key is kept."""
    key, secret = await in_database(key_of)
    process, digest, ended = key_cache.KeyCache(), authentication.digest_of(secret), asyncio.Event()
    try:
        await process.caller_of(digest)
        await in_database(GatewayKey.objects.filter(pk=key.pk).update, revoked_at=timezone.now())
        if let_go:
            process._held.clear()
        async with asyncio.timeout(60):
            while digest in process._held:
                await asyncio.sleep(0.01)
            with process.open_call(digest, ended.set):
                await ended.wait()
    finally:
        await process.close()


async def test_many_calls_query_the_database_once(key_of: KeyOf, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(key_cache, "EVERY_SECONDS", 60)
    monkeypatch.setattr(key_cache, "FRESH_SECONDS", 60)
    _, secret = await in_database(key_of)
    rounds: list[object] = []
    monkeypatch.setattr(key_cache, "reconcile", _counted(rounds))
    found = await asyncio.gather(*(who(secret) for _ in range(200)))
    assert all(isinstance(one, Caller) for one in found)
    assert {id(await who(secret)) for _ in range(200)} == {id(found[0])}
    assert len(rounds) == 1


def _counted(rounds: list[object]):
    real = key_cache.reconcile

    def reconcile(*args: object, **kwargs: object):
        rounds.append(args)
        return real(*args, **kwargs)  # type: ignore[arg-type]

    return reconcile


async def test_known_keys_stay_valid_and_counts_are_kept_while_the_database_is_unavailable(
    key_of: KeyOf, monkeypatch: pytest.MonkeyPatch
):
    key, secret = await in_database(key_of)
    _, other = await in_database(key_of)
    found, real, gone = await caller(secret), key_cache.reconcile, asyncio.Event()

    def away(*_: object, **__: object) -> None:
        loop.call_soon_threadsafe(gone.set)
        raise OperationalError("the connection is gone")

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(key_cache, "reconcile", away)
    monkeypatch.setattr(key_cache, "AWAY_SECONDS", 0.05)
    assert await found.admit() is None
    await gone.wait()
    assert await who(other) == UNREADABLE
    assert (await caller(secret)).key_id == key.id
    monkeypatch.setattr(key_cache, "reconcile", real)
    await becomes(other, lambda found: isinstance(found, Caller))
    await authentication.close()
    assert (await in_database(KeySpending.objects.get, key=key)).calls == 1


async def test_a_hanging_database_delays_nobody_for_long(key_of: KeyOf, monkeypatch: pytest.MonkeyPatch):
    _, secret = await in_database(key_of)
    await caller(secret)
    hanging: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def hangs(*_: object, **__: object) -> None:
        await hanging
        raise OperationalError("it hung")

    monkeypatch.setattr(key_cache, "in_database", hangs)
    monkeypatch.setattr(key_cache, "PATIENCE_SECONDS", 0.05)
    monkeypatch.setattr(key_cache, "STALE_PATIENCE_SECONDS", 0.05)
    async with asyncio.timeout(60):
        assert await who("whyk_nobody_met_this_one") == UNREADABLE
        for _ in range(50):
            await caller(secret)
            await asyncio.sleep(0.005)
    hanging.set_result(None)


async def test_without_callers_no_queries_are_made(key_of: KeyOf, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(key_cache, "IDLE_SECONDS", 0.0)
    _, secret = await in_database(key_of)
    await caller(secret)
    process = authentication._keys_of_loop()
    assert process._keeper is not None
    async with asyncio.timeout(60):
        await process._keeper
    assert isinstance(await who(secret), Caller)
