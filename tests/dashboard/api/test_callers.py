"""Who may call: a token, or a session with its CSRF token. Who may write is the roles' table (accounts)."""

import pytest
from django.contrib.auth.models import Permission
from django.http import HttpResponse
from django.test import Client

from dashboard.accounts.models import User
from dashboard.agents.selectors import policy_get, policy_version_active, project_default
from tests.dashboard.api.conftest import Program, said

pytestmark = pytest.mark.django_db


def session(*, superuser: bool) -> Client:
    user = User.objects.create(username="someone", is_superuser=superuser)
    client = Client(enforce_csrf_checks=True)
    client.force_login(user)
    return client


def post_policy(client: Client, **headers: str) -> HttpResponse:
    return client.post("/api/v1/policies", {"name": "patient"}, content_type="application/json", headers=headers)


def csrf_token(client: Client) -> str:
    page = client.get("/api/v1/docs").content.decode()
    return page.partition('data-csrf-token="')[2].partition('"')[0]


@pytest.mark.parametrize("path", ["/turns", "/turns/x", "/nowhere", "/docs", "/openapi.json"])
def test_an_unauthenticated_caller_gets_only_a_401(client: Client, path: str):
    for method in (client.get, client.post):
        response = method(f"/api/v1{path}")
        assert response.status_code == 401
        assert response["WWW-Authenticate"].startswith("Bearer")
        said(response)


def test_a_token_writes_without_a_csrf_token(api: Program):
    authorization = api.client.defaults["HTTP_AUTHORIZATION"]
    assert post_policy(Client(enforce_csrf_checks=True), Authorization=authorization).status_code == 201


def test_a_session_reads_freely_and_writes_with_its_csrf_token():
    client = session(superuser=True)
    assert client.get("/api/v1/turns").status_code == 200
    without = post_policy(client)
    assert without.status_code == 403
    said(without)
    assert post_policy(client, **{"X-CSRFToken": csrf_token(client)}).status_code == 201


def test_a_user_without_a_role_can_neither_read_nor_write():
    client = session(superuser=False)
    assert client.get("/api/v1/turns").status_code == 200
    response = post_policy(client, **{"X-CSRFToken": csrf_token(client)})
    assert response.status_code == 403
    said(response)
    assert response.json()["detail"].startswith("Read-only access")


def test_permission_to_create_a_policy_does_not_include_changing_one():
    """Its next version would count at once, for every agent that has it."""
    user = User.objects.create(username="maker")
    user.user_permissions.add(Permission.objects.get(codename="add_policy"))
    client = Client()
    client.force_login(user)
    assert post_policy(client).status_code == 201
    again = post_policy(client)
    assert again.status_code == 403
    assert "Change and activate policies" in again.json()["detail"]
    active = policy_version_active(policy=policy_get(project=project_default(), name="patient"))
    assert active is not None
    assert active.version == 1
    user.user_permissions.add(Permission.objects.get(codename="change_policy"))
    client.force_login(User.objects.get(pk=user.pk))
    assert post_policy(client).status_code == 201
