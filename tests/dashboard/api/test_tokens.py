"""Tokens are made, listed and revoked by the API; none gets more than the one it is made with."""

import pytest
from django.test import Client

from dashboard.accounts import services
from dashboard.accounts.models import ApiToken, User
from tests.dashboard.api.conftest import Program, said


def program(secret: str) -> Program:
    return Program(Client(headers={"Authorization": f"Bearer {secret}"}))


@pytest.fixture
def admin(db: None) -> Program:
    services.one_time_code_create()
    owner = User.objects.get(username=services.OPERATOR)
    return program(services.api_token_create("parent", user=owner, scopes=["read", "admin"])[1])


def test_a_token_is_created_with_the_given_scopes(admin: Program):
    made = admin.post("/tokens", {"name": "ci", "scopes": ["read"]})
    assert made.status_code == 201
    assert made.json()["scopes"] == ["read"]
    child = program(made.json()["secret"])
    assert child.get("/turns").status_code == 200
    assert "“admin”" in child.post("/tokens", {"name": "more"}).json()["detail"]


def test_the_expiry_of_a_token_is_a_timestamp_and_not_a_number(admin: Program):
    for moment in (0, 0.5, "0.5", "1893456000"):
        assert "as text" in admin.problem("/tokens", {"name": "ci", "expires_at": moment}, 422)["expires_at"]


def test_a_token_created_without_scopes_has_those_of_its_creating_token(admin: Program):
    assert admin.post("/tokens", {"name": "ci"}).json()["scopes"] == ["read", "admin"]


def test_a_token_grants_no_scope_that_it_lacks(admin: Program):
    refused = admin.post("/tokens", {"name": "ci", "scopes": ["read", "run"]})
    assert refused.status_code == 400
    assert "“run”" in said(refused)["scopes"]


def test_a_token_ends_with_the_one_that_created_it(admin: Program):
    secret = admin.post("/tokens", {"name": "ci"}).json()["secret"]
    ApiToken.objects.filter(name="parent").end(now=ApiToken.objects.get(name="parent").created_at)
    assert program(secret).get("/turns").status_code == 401


def test_a_token_is_listed_without_its_secret_and_revoked_once(admin: Program):
    made = admin.post("/tokens", {"name": "ci"}).json()
    listed = admin.get("/tokens").json()
    assert [token["name"] for token in listed] == ["ci", "parent"]
    assert "secret" not in listed[0]
    assert admin.post(f"/tokens/{made['id']}/revoke").status_code == 200
    assert admin.post(f"/tokens/{made['id']}/revoke").status_code == 404
    assert program(made["secret"]).get("/turns").status_code == 401


def test_a_token_revokes_only_tokens_created_with_it(admin: Program):
    owner = User.objects.get(username=services.OPERATOR)
    other, _ = services.api_token_create("other", user=owner)
    assert admin.post(f"/tokens/{other.pk}/revoke").status_code == 404
    assert admin.post(f"/tokens/{ApiToken.objects.get(name='parent').pk}/revoke").status_code == 200
    assert admin.get("/turns").status_code == 401
