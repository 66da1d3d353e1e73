"""The gateway's door: whose secret it is, without a query for each call, and soon after something has changed."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.contrib.auth.models import Permission
from django.utils import timezone

from agentcore.messages import TokenUsage
from dashboard.accounts.models import ApiToken, User
from dashboard.accounts.services import api_token_create, api_token_revoke
from dashboard.agents.models import Agent, Connection
from dashboard.gateway import services
from dashboard.gateway.access import authentication, key_cache, key_meter
from dashboard.gateway.access.authentication import Caller, Target, caller_of
from dashboard.gateway.access.refusals import NO_KEY, WRONG_KEY
from dashboard.gateway.models import GatewayKey, KeyPace, KeySpending
from dashboard.platform.db_threads import in_database
from tests.dashboard.gateway.calling import GPT, bearing, becomes, caller, who
from tests.dashboard.gateway.conftest import KeyOf

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quick")]


async def test_a_key_authenticates_and_identifies_its_owner(key_of: KeyOf, maker: User):
    key, secret = await in_database(key_of, mode="observe", scope=[])
    found = await caller(secret)
    assert (found.key_id, found.name, found.user_id, found.mode) == (key.id, "notebook", maker.pk, "observe")
    assert found.project == key.project_id
    assert found.allows(agent=None, connection="any", model="thing") is None


async def test_unauthenticated_callers_are_told_only_what_to_send(key_of: KeyOf):
    await in_database(key_of)
    assert await caller_of([]) == NO_KEY
    assert await caller_of([(b"authorization", b"Basic abc")]) == NO_KEY
    assert await caller_of(bearing("")) == NO_KEY
    for wrong in ("whyk_", "x" * 5_000, "\xe9\xff"):
        assert await caller_of([(b"authorization", f"Bearer {wrong}".encode("latin-1"))]) == WRONG_KEY
    assert NO_KEY.body()["error"]["code"] == WRONG_KEY.body()["error"]["code"] == "invalid_api_key"
    assert NO_KEY.headers()["www-authenticate"].startswith("Bearer")


async def test_a_revoked_key_is_refused_within_two_polling_rounds(key_of: KeyOf, maker: User):
    key, secret = await in_database(key_of)
    await caller(secret)
    assert await in_database(services.key_revoke, project=key.project, by=maker, key_id=key.id)
    await becomes(secret, lambda found: found == WRONG_KEY)


async def test_a_key_expires_exactly_and_not_at_the_next_polling_round(key_of: KeyOf, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(key_cache, "EVERY_SECONDS", 60)
    monkeypatch.setattr(key_cache, "FRESH_SECONDS", 60)
    moment = timezone.now() + timedelta(hours=1)
    _, secret = await in_database(key_of, expires_at=moment)
    for seconds, open_still in ((-1, True), (0, False)):
        monkeypatch.setattr(key_meter, "now", lambda later=seconds: moment.timestamp() + later)
        assert isinstance(await who(secret), Caller) == open_still


async def test_changes_in_the_admin_apply_soon(key_of: KeyOf):
    key, secret = await in_database(key_of)
    await caller(secret)
    await in_database(GatewayKey.objects.filter(pk=key.pk).update, mode="observe", requests_per_minute=7)
    await becomes(secret, lambda found: isinstance(found, Caller) and found.mode == "observe")
    assert (await caller(secret)).limits.requests_per_minute == 7


async def test_a_users_token_has_the_permissions_of_the_user(db: None):
    operator = await in_database(User.objects.create_user, "olga")
    _, secret = await in_database(api_token_create, "ci", user=operator)
    assert "Read-only access" in (await who(secret)).message
    start = await in_database(Permission.objects.get, codename="start_turn")
    await in_database(operator.user_permissions.add, start)
    await becomes(secret, lambda found: isinstance(found, Caller))
    found = await caller(secret)
    assert (found.name, found.user_id, found.key_id, found.mode) == ("ci of olga", operator.pk, None, None)
    found.charge(TokenUsage(1, 1), **GPT)
    assert await found.admit() is None
    token = await in_database(ApiToken.objects.get, name="ci")
    await in_database(api_token_revoke, user=operator, token_id=token.pk)
    await becomes(secret, lambda found: found == WRONG_KEY)


async def test_a_scope_lists_what_may_be_called(key_of: KeyOf, agent: Agent, near: Connection):
    _, secret = await in_database(key_of, scope=[agent.name, f"{near.name}/small"])
    found = await caller(secret)
    assert found.allows(agent=agent.name, connection=near.name, model="any") is None
    assert found.allows(agent=None, connection=near.name, model="small") is None
    refusal = found.allows(agent="other", connection=near.name, model="small")
    assert refusal is not None
    assert (refusal.status, refusal.code) == (403, "model_not_found")
    assert "“other”" in refusal.message
    assert found.allows(agent=None, connection=near.name, model="large") is not None


async def test_a_star_allows_all_models_of_a_connection_but_no_agent(key_of: KeyOf, agent: Agent, near: Connection):
    _, secret = await in_database(key_of, scope=[f"{near.name}/*"])
    found = await caller(secret)
    assert found.allows(agent=None, connection=near.name, model="vendor/large") is None
    assert found.allows(agent=None, connection="far", model="large") is not None
    assert found.allows(agent=agent.name, connection=near.name, model="large") is not None


async def test_aliases_are_loaded_with_the_caller_and_follow_the_table(key_of: KeyOf, agent: Agent, near: Connection):
    project = agent.project
    _, secret = await in_database(key_of)
    assert (await caller(secret)).aliases == {}
    await in_database(services.alias_create, project=project, name="gpt-4o", connection=near)
    await in_database(services.alias_create, project=project, name="best", agent=agent)
    made = await in_database(services.alias_create, project=project, name="a/b", connection=near, model="c/d")
    await becomes(secret, lambda found: isinstance(found, Caller) and len(found.aliases) == 3)
    assert (await caller(secret)).aliases == {
        "gpt-4o": Target(None, near.name, "gpt-4o"),
        "best": Target(agent.name, None, ""),
        "a/b": Target(None, near.name, "c/d"),
    }
    assert await in_database(services.alias_delete, project=project, alias_id=made.id)
    await becomes(secret, lambda found: isinstance(found, Caller) and len(found.aliases) == 2)


async def test_usage_is_stored_with_its_price_and_time(key_of: KeyOf):
    key, secret = await in_database(key_of)
    found = await caller(secret)
    for _ in range(3):
        assert await found.admit() is None
        found.charge(TokenUsage(1_000, 100, cached_tokens=200), **GPT)
    found.charge(TokenUsage(5, 5), provider="openai", model="nobody-knows-it")
    found.charge(None, **GPT)
    await authentication.close()
    spent = await in_database(KeySpending.objects.get, key=key)
    pace = await in_database(lambda: list(KeyPace.objects.filter(key=key).values_list("calls", "tokens")))
    assert (spent.calls, spent.tokens) == (3, 3_310)
    assert [sum(column) for column in zip(*pace, strict=True)] == [3, 3_310]
    each = (Decimal(800) * Decimal("2.5") + Decimal(200) * Decimal("1.25") + Decimal(100) * 10) / 1_000_000
    assert spent.dollars == 3 * each
    await in_database(key.refresh_from_db)
    assert key.last_used_at is not None


async def test_an_exhausted_budget_stays_exhausted_for_new_processes(key_of: KeyOf):
    key, secret = await in_database(key_of, tokens_in_total=100)
    found = await caller(secret)
    assert await found.admit() is None
    found.charge(TokenUsage(60, 60), **GPT)
    refusal = await found.admit()
    assert refusal is not None
    assert refusal.code == "insufficient_quota"
    await authentication.close()
    assert await (await caller(secret)).admit() == refusal
    await in_database(GatewayKey.objects.filter(pk=key.pk).update, tokens_in_total=1_000)
    await becomes(secret, lambda found: isinstance(found, Caller) and found.limits.tokens_in_total == 1_000)
    assert await (await caller(secret)).admit() is None


async def test_an_erased_key_does_not_delay_the_counts_of_others(key_of: KeyOf):
    gone, gone_secret = await in_database(key_of)
    kept, kept_secret = await in_database(key_of)
    callers = [await caller(gone_secret), await caller(kept_secret)]
    await in_database(GatewayKey.objects.filter(pk=gone.pk).delete)
    for one in callers:
        assert await one.admit() is None
    await authentication.close()
    assert await in_database(lambda: [row.key_id for row in KeySpending.objects.all()]) == [kept.id]
