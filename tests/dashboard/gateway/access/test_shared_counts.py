"""Counts of keys that one process keeps for several: exact, written with their prices, and kept while the database is
away."""

import asyncio
from dataclasses import replace

import pytest
from django.db import OperationalError

from agentcore.messages import TokenUsage
from dashboard.agents.models import Connection
from dashboard.agents.selectors import project_default
from dashboard.gateway.access import shared_counts
from dashboard.gateway.access.key_meter import PricedModel
from dashboard.gateway.access.limits import KeyLimits
from dashboard.gateway.access.refusals import UNREADABLE
from dashboard.gateway.access.shared_counts import SharedCounts
from dashboard.gateway.models import KeyPace, KeySpending
from dashboard.platform.db_threads import in_database
from tests.dashboard.gateway.conftest import KeyOf

pytestmark = pytest.mark.django_db(transaction=True)

ASKED = PricedModel("openai", "gpt-4o")
FIVE = KeyLimits(requests_per_minute=5)


async def ended(counts: SharedCounts) -> None:
    counts.end()
    await counts.run()


async def test_simultaneous_calls_start_only_up_to_the_limit(key_of: KeyOf):
    key, _ = await in_database(key_of)
    counts = SharedCounts()
    told = await asyncio.gather(*(counts.admit(key.id, FIVE) for _ in range(12)))
    assert sum(refusal is None for refusal in told) == 5
    await ended(counts)
    assert (await in_database(KeyPace.objects.get, key=key)).calls == 5


async def test_usage_counts_at_once_and_is_stored_with_its_price(key_of: KeyOf):
    key, _ = await in_database(key_of)
    counts, limits = SharedCounts(), KeyLimits(tokens_per_day=100)
    assert await counts.admit(key.id, limits) is None
    await counts.charge(key.id, TokenUsage(90, 10), ASKED)
    refusal = await counts.admit(key.id, limits)
    assert refusal is not None
    assert refusal.code == "insufficient_quota"
    await ended(counts)
    spent = await in_database(KeySpending.objects.get, key=key)
    assert (spent.calls, spent.tokens) == (1, 100)
    assert spent.dollars > 0
    again = await SharedCounts().admit(key.id, limits)
    assert again is not None
    assert again.code == refusal.code


async def test_tokens_of_the_simulator_are_stored_as_free(key_of: KeyOf):
    key, _ = await in_database(key_of)
    counts = SharedCounts()
    for asked, used in ((ASKED, TokenUsage(30, 3)), (PricedModel("openai", "sim-essay"), TokenUsage(90, 10))):
        await counts.charge(key.id, used, asked)
    await ended(counts)
    spent = await in_database(KeySpending.objects.get, key=key)
    assert (spent.tokens, spent.free_tokens) == (133, 100)


async def test_a_model_that_the_simulator_refuses_costs_nothing(key_of: KeyOf):
    at = "http://127.0.0.1:8001/v1"
    project = await in_database(project_default)
    await in_database(Connection.objects.update_or_create, {"base_url": at}, project=project, name="simulator")
    key, _ = await in_database(key_of)
    counts = SharedCounts()
    await counts.charge(key.id, TokenUsage(90, 0), replace(ASKED, address=at))
    await ended(counts)
    spent = await in_database(KeySpending.objects.get, key=key)
    assert (spent.tokens, spent.free_tokens, spent.dollars) == (90, 90, 0)


async def test_a_call_that_outlives_the_cached_key_is_charged(key_of: KeyOf, monkeypatch: pytest.MonkeyPatch):
    key, _ = await in_database(key_of)
    counts = SharedCounts()
    assert await counts.admit(key.id, FIVE) is None
    monkeypatch.setattr(shared_counts, "IDLE_SECONDS", -1.0)
    await counts._round()
    await counts._round()
    assert not counts._meters
    await counts.charge(key.id, TokenUsage(70, 7), ASKED)
    await ended(counts)
    assert (await in_database(KeySpending.objects.get, key=key)).tokens == 77


async def test_while_the_database_is_unavailable_counting_continues_and_unknown_keys_wait(
    key_of: KeyOf, monkeypatch: pytest.MonkeyPatch
):
    (key, _), (other, _) = await in_database(key_of), await in_database(key_of)
    counts, real = SharedCounts(), shared_counts.reconcile
    assert await counts.admit(key.id, FIVE) is None

    def away(*_: object, **__: object) -> None:
        raise OperationalError("the connection is gone")

    monkeypatch.setattr(shared_counts, "reconcile", away)
    await counts._round()
    assert await counts.admit(key.id, FIVE) is None
    assert await counts.admit(other.id, FIVE) == UNREADABLE
    monkeypatch.setattr(shared_counts, "reconcile", real)
    assert await counts.admit(other.id, FIVE) is None
    await ended(counts)
    assert (await in_database(KeySpending.objects.get, key=key)).calls == 2
