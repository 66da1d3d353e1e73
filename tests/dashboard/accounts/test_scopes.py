"""A token does no more than its scopes say, whatever its user may; a refusal names the scope that is missing."""

import pytest
from django.test import Client

from dashboard.accounts import services
from dashboard.accounts.models import ApiToken, User
from dashboard.accounts.roles import ACTIONS
from dashboard.accounts.scopes import ALL, Scope, scope_needed
from dashboard.gateway.models import GatewayKey
from tests.dashboard.accounts.conftest import csrf_of
from tests.dashboard.accounts.test_tokens import opened_by

pytestmark = pytest.mark.django_db

NOWHERE = "01990000-0000-7000-8000-000000000000"


def with_scopes(user: User, *scopes: str) -> Client:
    _, secret = services.api_token_create("limited", user=user, scopes=scopes)
    return Client(headers={"Authorization": f"Bearer {secret}"})


#: One request for each scope, and what it is answered by who may.
ASKED = {
    Scope.READ: ("GET", "/api/v1/turns", 200),
    Scope.WRITE: ("POST", f"/api/v1/turns/{NOWHERE}/comments", 422),
    Scope.RUN: ("POST", f"/api/v1/turns/{NOWHERE}/cancel", 404),
    Scope.ADMIN: ("POST", "/api/v1/policies", 422),
}


@pytest.mark.parametrize("held", ALL)
@pytest.mark.parametrize("asked", ALL)
def test_a_token_is_limited_to_its_scopes(operator: User, held: Scope, asked: Scope):
    method, path, status = ASKED[asked]
    answer = with_scopes(operator, held).generic(method, path, "{}", content_type="application/json")
    assert answer.status_code == (status if held == asked else 403)
    if held != asked:
        assert f"“{asked}”" in answer.json()["detail"]


def test_every_action_except_signing_out_has_a_scope():
    without = {route for route in ACTIONS if scope_needed("POST", route) is None}
    assert without == {"sign-out"}


def test_a_scope_grants_no_permission_that_the_user_lacks(db: None):
    watcher = User.objects.create_user("watcher")
    answer = with_scopes(watcher, *ALL).post(f"/api/v1/turns/{NOWHERE}/cancel")
    assert answer.status_code == 403
    assert "Read-only access" in answer.json()["detail"]


def test_a_rerun_needs_the_scope_run_where_a_verification_needs_read(operator: User):
    reader = with_scopes(operator, Scope.READ)
    asked = {"path": f"/api/v1/turns/{NOWHERE}/replay", "content_type": "application/json"}
    assert reader.post(**asked, data={"mode": "verify"}).status_code == 404


def test_a_token_that_may_not_call_models_cannot_create_a_key_that_may(operator: User):
    def makes(*scopes: Scope) -> int:
        client = with_scopes(operator, *scopes)
        return client.post("/api/v1/keys", {"name": "k"}, content_type="application/json").status_code

    assert makes(Scope.ADMIN) == 400
    _, secret = services.api_token_create("limited", user=operator, scopes=[Scope.READ, Scope.ADMIN])
    session = opened_by(secret)
    form = {"csrfmiddlewaretoken": csrf_of(session), "name": "k", "lifetime": "never"}
    assert "the scope “run”" in session.post("/gateway/keys", form).content.decode()
    assert session.post("/tour/key", form).status_code == 302
    assert not GatewayKey.objects.exists()
    assert makes(Scope.ADMIN, Scope.RUN) == 201


def test_a_session_is_limited_to_the_scopes_of_the_token_that_opened_it(operator: User):
    _, secret = services.api_token_create("limited", user=operator, scopes=[Scope.READ])
    session = opened_by(secret)
    assert session.get("/policies/").status_code == 200
    form = {"csrfmiddlewaretoken": csrf_of(session), "name": "made"}
    refused = session.post("/account/tokens/", form)
    assert refused.status_code == 403
    assert "the scope “admin”" in refused.content.decode()


def test_the_admin_site_is_read_only_for_a_session_of_a_token_without_the_scope(operator: User):
    _, secret = services.api_token_create("limited", user=operator, scopes=[Scope.READ])
    assert opened_by(secret).get("/admin/agents/agent/add/").status_code == 403


def test_the_page_creates_a_token_with_the_selected_scopes(browser: Client):
    form = {"csrfmiddlewaretoken": csrf_of(browser), "name": "ci", "lifetime": "7", "offered": "True"}
    assert browser.post("/account/tokens/", form).status_code == 422
    browser.post("/account/tokens/", {**form, "scopes": ["run", "read"]})
    assert ApiToken.objects.get(name="ci").scopes == ["read", "run"]


def test_a_form_without_scopes_creates_a_token_with_all(browser: Client):
    browser.post("/account/tokens/", {"csrfmiddlewaretoken": csrf_of(browser), "name": "ci", "lifetime": "7"})
    assert ApiToken.objects.get(name="ci").scopes == list(ALL)
