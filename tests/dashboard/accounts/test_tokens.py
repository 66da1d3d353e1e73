"""A token ends with what it was made by, and manages no account."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.hashers import make_password
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dashboard.accounts import selectors, services
from dashboard.accounts.models import ApiToken, User
from tests.dashboard.accounts.conftest import csrf_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("contexts")]

PASSWORD = "a password of some length"
FIRST, SECOND = "the-first-token-of-the-environment", "the-second-token-of-the-environment"


def works(secret: str) -> bool:
    return selectors.api_token_find(secret, now=timezone.now()) is not None


def opened_by(secret: str) -> Client:
    """A browser that signed in with this token."""
    client = Client(enforce_csrf_checks=True)
    token = {"csrfmiddlewaretoken": csrf_of(client), "token": secret}
    assert client.post("/sign-in/", token).status_code == 302
    return client


def made_in(client: Client, name: str = "made") -> str:
    """The secret of a token that is made on the account page."""
    form = {"csrfmiddlewaretoken": csrf_of(client), "name": name, "lifetime": "never"}
    return client.post("/account/tokens/", form).context["secret"]


def is_in(client: Client) -> bool:
    return client.get("/account/").status_code == 200


def test_a_token_ends_with_the_token_that_opened_its_session(operator: User):
    parent, secret = services.api_token_create("parent", user=operator)
    session = opened_by(secret)
    child = made_in(session)
    grandchild = made_in(opened_by(child))
    assert works(grandchild)
    services.api_token_revoke(user=operator, token_id=parent.pk)
    assert not any([works(child), works(grandchild), is_in(session)])


def test_a_token_expires_no_later_than_the_token_that_opened_its_session(operator: User):
    end = timezone.now() + timedelta(hours=1)
    _, secret = services.api_token_create("parent", user=operator, expires_at=end)
    made_in(opened_by(secret))
    assert ApiToken.objects.get(name="made").expires_at == end


def test_a_revoked_token_cannot_create_a_token(operator: User):
    parent, _ = services.api_token_create("parent", user=operator)
    services.api_token_revoke(user=operator, token_id=parent.pk)
    with pytest.raises(services.TokenEndedError, match="Sign in again"):
        services.api_token_create("child", user=operator, parent=parent)


def test_a_request_from_before_a_password_change_cannot_create_a_token(operator: User):
    before = User.objects.get(pk=operator.pk)
    services.password_set(user=operator, password=PASSWORD)
    with pytest.raises(services.TokenEndedError, match="Sign in again"):
        services.api_token_create("late", user=before)
    assert not ApiToken.objects.exists()


@pytest.mark.parametrize("change", ["set", "removed"])
def test_a_token_created_with_a_password_ends_when_the_password_changes(operator: User, change: str):
    services.password_set(user=operator, password=PASSWORD)
    session = Client(enforce_csrf_checks=True)
    session.force_login(operator)
    child = made_in(session)
    grandchild = made_in(opened_by(child))
    if change == "set":
        services.password_set(user=operator, password=PASSWORD + "!")
    else:
        operator.set_unusable_password()
        operator.save()
    assert not any([works(child), works(grandchild)])


def test_tokens_created_before_a_password_was_set_stay_valid(operator: User, token: str):
    services.password_set(user=operator, password=PASSWORD)
    assert works(token)


def test_tokens_stay_valid_when_the_same_password_is_rehashed(operator: User, settings: Any):
    settings.PASSWORD_HASHERS = [
        "django.contrib.auth.hashers.MD5PasswordHasher",
        "django.contrib.auth.hashers.PBKDF2PasswordHasher",
    ]
    services.password_set(user=operator, password=PASSWORD)
    _, secret = services.api_token_create("later", user=operator)
    slowly = make_password(PASSWORD, hasher="pbkdf2_sha256")
    User.objects.update(password=slowly)
    operator.refresh_from_db()
    assert operator.check_password(PASSWORD)
    operator.refresh_from_db()
    assert operator.password.startswith("md5$"), "checking it has hashed it anew"
    assert works(secret)


def test_a_new_bootstrap_token_ends_everything_created_with_the_old_one():
    services.bootstrap_token_ensure(FIRST)
    session = opened_by(FIRST)
    child = made_in(session)
    services.bootstrap_token_ensure(SECOND)
    assert not any([works(FIRST), works(child), is_in(session)])
    assert works(SECOND)


def test_a_restored_bootstrap_token_reopens_nothing_that_was_closed():
    services.bootstrap_token_ensure(FIRST)
    session = opened_by(FIRST)
    child = made_in(session)
    services.bootstrap_token_ensure(SECOND)
    services.bootstrap_token_ensure(FIRST)
    assert works(FIRST)
    assert not any([works(SECOND), works(child), is_in(session)])
    services.bootstrap_token_ensure(FIRST)
    assert is_in(opened_by(FIRST))


@pytest.mark.parametrize("token", ["", "x" * 23, "two words that are long enough", "x" * 24 + "\t", "ü" * 24])
def test_a_bootstrap_token_that_is_guessable_or_invalid_in_a_header_is_refused(token: str):
    with pytest.raises(ValueError, match="WHYSTOP_BOOTSTRAP_TOKEN must be 24 or more"):
        services.bootstrap_token_ensure(token)
    assert not ApiToken.objects.exists()


def test_a_token_in_the_url_does_not_sign_in(stranger: Client, token: str):
    response = stranger.get("/sign-in/", {"code": token})
    assert response.status_code == 401
    assert not is_in(stranger)


def test_a_session_of_a_token_cannot_set_a_first_password(operator: User, token: str):
    session = opened_by(token)
    assert b"sign_in_link" in session.get("/account/").content
    typed = {"csrfmiddlewaretoken": csrf_of(session), "new_password1": PASSWORD, "new_password2": PASSWORD}
    assert session.post("/account/password/", typed).status_code == 403
    operator.refresh_from_db()
    assert not operator.has_usable_password()


def test_a_session_of_a_token_cannot_change_an_account_that_would_outlive_it(operator: User, token: str):
    """The admin's pages set any password without asking for the present one."""
    session = opened_by(token)
    typed = {"csrfmiddlewaretoken": csrf_of(session), "password1": PASSWORD, "password2": PASSWORD}
    more = {"username": "mallory", "usable_password": "true"}
    for address in (f"{operator.pk}/password/", "add/", f"{operator.pk}/delete/", f"{operator.pk}/change/", ""):
        response = session.post(f"/admin/accounts/user/{address}", typed | more)
        assert response.status_code == 403, address
        assert b"would outlive it" in response.content
    assert session.post("/admin/auth/group/add/", typed | {"name": "more"}).status_code == 403
    assert session.get("/admin/accounts/user/").status_code == 200
    operator.refresh_from_db()
    assert (operator.has_usable_password(), User.objects.count()) == (False, 1)


@pytest.mark.parametrize(
    "address",
    [
        "/account/tokens/",
        "/account/password/",
        "/account/tokens/1/revoke/",
        "/admin/accounts/user/add/",
        "/admin/accounts/user/1/password/",
        "/admin/auth/group/add/",
        "/admin/password_change/",
    ],
)
def test_an_api_token_cannot_manage_accounts(token: str, address: str):
    rows = User.objects.count(), ApiToken.objects.count()
    response = Client().post(address, {"name": "x"}, headers={"Authorization": f"Bearer {token}"})
    assert response.status_code == 403
    assert b"cannot be managed with an API token" in response.content
    assert (User.objects.count(), ApiToken.objects.count()) == rows


def test_a_session_opened_by_a_token_reads_the_token_once_per_request(token: str):
    client = opened_by(token)
    with CaptureQueriesContext(connection) as captured:
        assert is_in(client)
    by_id = [query["sql"] for query in captured if '"accounts_apitoken"."id" = ' in query["sql"]]
    assert len(by_id) == 1, by_id
