"""Keys of the gateway by the API: made with the secret told once, listed with what they spent, revoked."""

from datetime import date

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils import timezone

from dashboard.accounts.credentials import digest_of
from dashboard.accounts.models import ApiToken, User
from dashboard.accounts.services import api_token_create
from dashboard.agents.models import Connection
from dashboard.gateway.access.stored_keys import keys_by_digest
from dashboard.gateway.models import GatewayKey, KeySpending
from tests.dashboard.api.conftest import Program

pytestmark = pytest.mark.django_db
NOTHING = {"tokens": 0, "dollars": 0.0}


def test_a_key_is_created_with_all_options(api: Program, connection: Connection):
    body = {
        "name": "notebook",
        "scope": ["simulator/*"],
        "mode": "observe",
        "expires_at": "2090-01-31T12:00:00Z",
        "limits": {"requests_per_minute": 60, "tokens_per_month": 10**6, "dollars_in_total": 12.5},
    }
    made = api.post("/keys", body)
    assert made.status_code == 201, made.content
    told = made.json()
    secret = told.pop("secret")
    assert secret.startswith(told["prefix"])
    assert {name: told[name] for name in ("name", "scope", "mode", "expires_at")} == {
        name: body[name] for name in ("name", "scope", "mode", "expires_at")
    }
    assert {name: limit for name, limit in told["limits"].items() if limit is not None} == body["limits"]
    assert told["spent"] == {"day": NOTHING, "month": NOTHING, "total": NOTHING}
    assert api.get("/keys").json() == [told]


def test_a_name_suffices_and_spending_is_listed(api: Program):
    key_id = api.post("/keys", {"name": "ci"}).json()["id"]
    KeySpending.objects.create(key_id=key_id, day=date(2020, 1, 1), calls=2, tokens=300, dollars="0.25")
    (told,) = api.get("/keys").json()
    assert (told["scope"], told["mode"], told["expires_at"], told["last_used_at"]) == ([], None, None, None)
    assert told["spent"] == {"day": NOTHING, "month": NOTHING, "total": {"tokens": 300, "dollars": 0.25}}
    assert "secret" not in told


def test_faults_are_reported_by_field(api: Program):
    assert "no agent “nobody”" in api.problem("/keys", {"name": "ci", "scope": ["nobody"]})["scope"]
    assert "future" in api.problem("/keys", {"name": "ci", "expires_at": "2020-01-01T00:00:00"})["expires_at"]
    assert "at least 1" in api.problem("/keys", {"name": "ci", "limits": {"tokens_per_day": 0}})["tokens_per_day"]
    for body in ({}, {"name": "ci", "limits": {"tokens": 1}}, {"name": "ci", "mode": "off"}, {"name": 1}):
        assert api.problem("/keys", body, 422)
    assert not GatewayKey.objects.exists()


def test_a_key_ends_with_the_token_that_created_it(api: Program):
    secret = api.post("/keys", {"name": "ci"}).json()["secret"]
    assert keys_by_digest([digest_of(secret)], now=timezone.now())
    ApiToken.objects.end(now=timezone.now())
    assert not keys_by_digest([digest_of(secret)], now=timezone.now())


def test_a_revoked_key_is_not_listed(api: Program):
    made = api.post("/keys", {"name": "ci"}).json()
    revoked = api.post(f"/keys/{made['id']}/revoke")
    assert revoked.status_code == 200
    assert revoked.json()["revoked_at"] is not None
    assert api.get("/keys").json() == []
    assert api.post(f"/keys/{made['id']}/revoke").status_code == 404


def test_an_operator_has_their_own_keys(api: Program):
    theirs = api.post("/keys", {"name": "of the bootstrap user"}).json()
    olga = User.objects.create_user("olga")
    olga.user_permissions.set(Permission.objects.filter(codename__in=("start_turn", "add_gatewaykey")))
    _, token = api_token_create("ci", user=olga)
    program = Program(Client(headers={"Authorization": f"Bearer {token}"}))
    made = program.post("/keys", {"name": "mine"}).json()
    assert [key["name"] for key in program.get("/keys").json()] == ["mine"]
    assert program.post(f"/keys/{theirs['id']}/revoke").status_code == 404
    assert {key["created_by"] for key in api.get("/keys").json()} == {"olga", "bootstrap"}
    assert api.post(f"/keys/{made['id']}/revoke").status_code == 200


def test_the_returned_secret_authenticates(api: Program):
    secret = api.post("/keys", {"name": "ci"}).json()["secret"]
    assert keys_by_digest([digest_of(secret)], now=timezone.now())
