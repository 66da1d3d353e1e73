"""Keys and aliases in the admin: limits change there; secrets are neither made nor shown."""

import pytest
from django.test import Client

from dashboard.agents.models import Agent, Connection
from dashboard.gateway.access.limits import LIMITS
from dashboard.gateway.models import Alias, GatewayKey
from tests.dashboard.gateway.conftest import KeyOf

pytestmark = pytest.mark.django_db
KEYS = "/admin/gateway/gatewaykey/"


def test_limits_and_scope_of_a_key_can_be_changed_and_its_secret_cannot(browser: Client, key_of: KeyOf, agent: Agent):
    key, _ = key_of()
    page = browser.get(f"{KEYS}{key.pk}/change/")
    assert key.digest not in page.content.decode()
    blank = {**dict.fromkeys(LIMITS, ""), "name": "nightly", "expires_at_0": "", "expires_at_1": "", "mode": "observe"}
    given = {**blank, "scope": f"{agent.name}\nsimulator/*", "requests_per_minute": "30"}
    assert browser.post(f"{KEYS}{key.pk}/change/", given).status_code == 302
    changed = GatewayKey.objects.get(pk=key.pk)
    assert (changed.name, changed.mode, changed.requests_per_minute) == ("nightly", "observe", 30)
    assert changed.scope == [agent.name, "simulator/*"]
    assert changed.digest == key.digest
    refused = browser.post(f"{KEYS}{key.pk}/change/", {**given, "scope": "nobody"})
    assert "There is no agent “nobody”" in refused.content.decode()


def test_keys_can_be_revoked_in_bulk_and_neither_created_nor_deleted_here(browser: Client, key_of: KeyOf):
    keys = [key_of()[0] for _ in range(3)]
    chosen = [str(key.pk) for key in keys[:2]]
    answer = browser.post(KEYS, {"action": "revoke", "_selected_action": chosen}, follow=True)
    assert "Revoked: 2." in answer.content.decode()
    assert GatewayKey.objects.filter(revoked_at=None).get() == keys[2]
    assert browser.get(f"{KEYS}add/").status_code == 403
    assert browser.post(f"{KEYS}{keys[0].pk}/delete/").status_code == 403


def test_aliases_are_created_in_the_default_project(browser: Client, near: Connection, agent: Agent):
    add = "/admin/gateway/alias/add/"
    assert browser.post(add, {"name": "gpt-4o", "connection": near.pk}).status_code == 302
    assert Alias.objects.get().target == "simulator/gpt-4o"
    refused = browser.post(add, {"name": "both", "connection": near.pk, "agent": agent.pk})
    assert "Choose one of them" in refused.content.decode()
    assert "gpt-4o" in browser.get("/admin/gateway/alias/").content.decode()
