"""The pages of the gateway: keys made once shown, what they have spent, the names of models, the last calls."""

import re
from datetime import timedelta
from decimal import Decimal

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils import timezone

from dashboard.accounts.models import User
from dashboard.accounts.selectors import SESSION_TOKEN
from dashboard.accounts.services import api_token_create
from dashboard.agents.models import Agent, Connection
from dashboard.agents.selectors import project_default
from dashboard.gateway import services
from dashboard.gateway.models import Alias, GatewayKey, KeySpending
from tests.dashboard.gateway.conftest import KeyOf

pytestmark = pytest.mark.django_db


@pytest.fixture
def makers_browser(maker: User) -> Client:
    maker.user_permissions.set(Permission.objects.filter(codename__in=("start_turn", "add_gatewaykey")))
    client = Client()
    client.force_login(maker)
    return client


def text_of(response) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


def test_a_key_is_shown_once_with_code_that_uses_it(makers_browser: Client, agent: Agent):
    given = {"name": "ci", "lifetime": "7", "scope": f"{agent.name}\r\nsimulator/*\r\n", "tokens_per_day": "5000"}
    made = makers_browser.post("/gateway/keys", {**given, "dollars_in_total": "2.50", "mode": "observe"})
    assert made.status_code == 200
    html = made.content.decode()
    (secret,) = set(re.findall(r"whyk_[\w-]{40,}", html))
    assert "base_url=&quot;http://testserver/v1&quot;" in html
    assert f"model=&quot;{agent.name}&quot;" in html
    assert "no-store" in made["Cache-Control"]
    key = GatewayKey.objects.get()
    assert (key.scope, key.mode, key.tokens_per_day) == ([agent.name, "simulator/*"], "observe", 5_000)
    assert key.dollars_in_total == Decimal("2.5")
    assert key.expires_at is not None
    assert abs(key.expires_at - timezone.now() - timedelta(days=7)) < timedelta(minutes=1)
    again = makers_browser.get("/gateway/keys").content.decode()
    assert secret not in again
    assert key.prefix in again


def test_a_key_created_in_a_session_of_a_token_says_that_it_ends_with_it(makers_browser: Client, maker: User):
    token, _ = api_token_create("laptop", user=maker)
    session = makers_browser.session
    session[SESSION_TOKEN] = token.pk
    session.save()
    assert "valid only as long as the token laptop" in text_of(
        makers_browser.post("/gateway/keys", {"name": "ci", "lifetime": "7"})
    )
    assert GatewayKey.objects.get().parent == token


def test_all_of_a_users_own_keys_are_revoked_by_one_button(makers_browser: Client):
    for _ in range(2):
        shown = makers_browser.post("/gateway/keys", {"name": "ci", "lifetime": "7"})
    assert "2 keys of yours" in text_of(shown)
    done = makers_browser.post("/gateway/keys/revoke", follow=True)
    assert "Revoked 2 of your keys" in text_of(done)
    assert not GatewayKey.objects.standing().exists()


def test_a_fault_is_reported_beside_the_field_and_the_input_is_kept(makers_browser: Client):
    refused = makers_browser.post("/gateway/keys", {"name": "ci", "lifetime": "7", "scope": "nobody"})
    assert refused.status_code == 422
    assert "There is no agent “nobody”" in text_of(refused)
    assert ">\nnobody</textarea>" in refused.content.decode()
    assert makers_browser.post("/gateway/keys", {"name": "", "lifetime": "no"}).status_code == 422
    assert not GatewayKey.objects.exists()


def test_the_page_shows_used_and_remaining_budgets(makers_browser: Client, key_of: KeyOf):
    key, _ = key_of(tokens_per_day=1_000, dollars_per_month=Decimal(10), requests_per_minute=60)
    today = timezone.now().date()
    KeySpending.objects.create(key=key, day=today, calls=1, tokens=900, dollars=Decimal("1.5"))
    KeySpending.objects.create(key=key, day=today - timedelta(days=40), calls=1, tokens=7_000, dollars=Decimal(90))
    shown = text_of(makers_browser.get("/gateway/keys"))
    assert "Spent today, nearly all 900 / 1,000 tokens" in shown
    assert "Spent this month $1.50 / $10.00" in shown
    assert "in total 7,900 tokens, $91.50" in shown
    assert "60 calls a minute" in shown


def test_tokens_without_a_price_are_not_shown_as_free(makers_browser: Client, key_of: KeyOf):
    key, _ = key_of(dollars_per_day=Decimal(5))
    assert "this month 0 tokens, $0.00" in text_of(makers_browser.get("/gateway/keys"))
    KeySpending.objects.create(key=key, day=timezone.now().date(), calls=3, tokens=1_810, dollars=Decimal(0))
    shown = text_of(makers_browser.get("/gateway/keys"))
    assert "Spent today price not known / $5.00" in shown
    assert "in total 1,810 tokens, price not known" in shown
    assert "$0.00" not in shown
    assert "of the calls with a known price" in shown


def test_tokens_of_the_simulator_are_shown_as_free(makers_browser: Client, key_of: KeyOf):
    key, _ = key_of(dollars_per_day=Decimal(5))
    spent = KeySpending.objects.create(key=key, day=timezone.now().date(), calls=3, tokens=1_810, free_tokens=1_810)
    shown = text_of(makers_browser.get("/gateway/keys"))
    assert "Spent today simulator, free / $5.00" in shown
    assert "in total 1,810 tokens, simulator, free" in shown
    assert "price not known" not in shown
    KeySpending.objects.filter(pk=spent.pk).update(tokens=1_811)
    assert "in total 1,811 tokens, price not known" in text_of(makers_browser.get("/gateway/keys"))


def test_revoking_asks_for_confirmation_and_happens_once(makers_browser: Client, key_of: KeyOf):
    key, _ = key_of()
    assert "This cannot be undone" in text_of(makers_browser.get("/gateway/keys"))
    for words in ("The key was revoked", "was already revoked"):
        answer = makers_browser.post(f"/gateway/keys/{key.pk}/revoke", follow=True)
        assert words in text_of(answer)
    key.refresh_from_db()
    assert key.revoked_at is not None


def test_other_users_keys_can_be_neither_seen_nor_revoked(makers_browser: Client, key_of: KeyOf, browser: Client):
    other = User.objects.create_user("other")
    key, _ = key_of()
    GatewayKey.objects.filter(pk=key.pk).update(created_by=other, name="theirs")
    assert "theirs" not in text_of(makers_browser.get("/gateway/keys"))
    assert makers_browser.post(f"/gateway/keys/{key.pk}/revoke").status_code == 404, "as if there were none"
    key.refresh_from_db()
    assert key.revoked_at is None
    assert "theirs" in text_of(browser.get("/gateway/keys"))


def test_the_owner_creates_aliases(browser: Client, agent: Agent, near: Connection):
    assert browser.get("/gateway/keys").status_code == 200
    made = browser.post("/gateway/aliases", {"name": "gpt-4o", "target": f"connection:{near.pk}"}, follow=True)
    assert "The alias “gpt-4o” was created" in text_of(made)
    browser.post("/gateway/aliases", {"name": "best", "target": f"agent:{agent.pk}"})
    assert [alias.target for alias in Alias.objects.all()] == [agent.name, "simulator/gpt-4o"]
    refused = browser.post("/gateway/aliases", {"name": "gpt-4o", "target": f"agent:{agent.pk}"})
    assert refused.status_code == 422
    assert "exists already" in text_of(refused)
    assert browser.post("/gateway/aliases", {"name": "x", "target": "agent:nobody"}).status_code == 422
    alias = Alias.objects.get(name="best")
    for words in ("The alias was removed", "Page not found"):
        assert words in text_of(browser.post(f"/gateway/aliases/{alias.pk}/delete", follow=True))


def test_a_key_opens_only_the_gateway(key_of: KeyOf, client: Client):
    _, secret = key_of()
    bearing = {"Authorization": f"Bearer {secret}"}
    for address in ("/api/v1/turns", "/api/v1/keys", "/metrics", "/gateway/keys", "/", "/account/"):
        assert client.get(address, headers=bearing).status_code == 401, address
    assert client.post("/sign-in/", {"code": secret}).status_code == 401


def test_many_keys_need_no_more_queries_than_few(makers_browser: Client, key_of: KeyOf, django_assert_max_num_queries):
    for _ in range(12):
        key_of()
    with django_assert_max_num_queries(16):
        makers_browser.get("/gateway/keys")


def test_a_deleted_connection_deletes_its_aliases(agent: Agent, near: Connection):
    services.alias_create(project=near.project, name="gpt-4o", connection=near)
    agent.delete()
    near.delete()
    assert not Alias.objects.exists()


def test_the_key_snippets_use_an_agent_that_answers_in_text(makers_browser: Client, agent: Agent):
    agent.pk, agent.name, agent.tools = None, "a-first-by-name", ["calculator"]
    agent.save(force_insert=True)
    html = makers_browser.post("/gateway/keys", {"name": "ci", "lifetime": "7"}).content.decode()
    assert "create(model=&quot;helper&quot;" in html


def test_an_admin_sees_keys_that_outlive_their_creators_and_revokes_them_by_one_action(
    makers_browser: Client, key_of: KeyOf, maker: User
):
    leaver = User.objects.create_user("leaver", is_active=False)
    services.key_create(project=project_default(), by=leaver, name="nightly job")
    key_of(name="of mine")
    assert "who have left" not in text_of(makers_browser.get("/gateway/keys")), "an operator sees own keys alone"
    assert makers_browser.post("/gateway/keys/revoke-left").status_code == 403
    User.objects.filter(pk=maker.pk).update(is_superuser=True)
    told = text_of(makers_browser.get("/gateway/keys"))
    assert "Keys of users who have left 1 key" in told
    assert "leaver , account deactivated, never used" in told
    members = text_of(makers_browser.get("/projects/members/"))
    assert "still valid: nightly job (leaver, account deactivated). Review or revoke them" in members
    after = text_of(makers_browser.post("/gateway/keys/revoke-left", follow=True))
    assert "Revoked 1 of the keys" in after
    assert "who have left" not in after
    assert [key.name for key in GatewayKey.objects.standing()] == ["of mine"]


def test_without_calls_the_page_links_to_the_keys_and_shows_no_share(makers_browser: Client):
    html = makers_browser.get("/gateway/").content.decode()
    assert '<a href="/gateway/keys">Create a key</a>' in html
    assert "% continued" not in html
