from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from dashboard.accounts import selectors, services
from dashboard.accounts.models import ApiToken, OneTimeCode, User

pytestmark = pytest.mark.django_db


def test_a_code_signs_the_owner_in_once():
    code = services.one_time_code_create()
    user = services.one_time_code_redeem(code)
    assert user is not None
    assert (user.username, user.is_superuser, user.has_usable_password()) == ("operator", True, False)
    assert services.one_time_code_redeem(code) is None


def test_a_code_is_not_stored_and_an_unknown_one_does_nothing():
    code = services.one_time_code_create()
    assert code not in str(list(OneTimeCode.objects.values()))
    assert services.one_time_code_redeem(code + "x") is None
    assert services.one_time_code_redeem("") is None


def test_a_code_expires_after_15_minutes_and_is_deleted_after_a_day():
    code = services.one_time_code_create()
    OneTimeCode.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert services.one_time_code_redeem(code) is None
    OneTimeCode.objects.update(expires_at=timezone.now() - timedelta(days=2))
    services.one_time_code_create()
    assert OneTimeCode.objects.count() == 1


def test_a_new_code_does_not_invalidate_an_earlier_one():
    first, second = services.one_time_code_create(), services.one_time_code_create()
    assert services.one_time_code_redeem(first) == services.one_time_code_redeem(second)
    assert User.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_one_of_eight_simultaneous_uses_of_a_code_succeeds():
    code = services.one_time_code_create()

    def bring(_: int) -> User | None:
        try:
            return services.one_time_code_redeem(code)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        assert len([user for user in pool.map(bring, range(8)) if user]) == 1


def test_a_token_is_found_by_its_secret_which_is_not_stored():
    user = User.objects.create(username="ci")
    row, secret = services.api_token_create("ci", user=user)
    assert selectors.api_token_find(secret, now=timezone.now()) == row
    assert secret not in str(list(ApiToken.objects.values()))
    assert secret.startswith(row.prefix)
    assert selectors.api_token_find(secret[:-1], now=timezone.now()) is None
    assert selectors.api_token_find("", now=timezone.now()) is None


def test_a_token_ends_when_it_expires_or_is_revoked_by_its_owner():
    user, other = User.objects.create(username="ci"), User.objects.create(username="other")
    row, secret = services.api_token_create("ci", user=user, expires_at=timezone.now() + timedelta(hours=1))
    assert selectors.api_token_find(secret, now=timezone.now() + timedelta(hours=2)) is None
    assert not services.api_token_revoke(user=other, token_id=row.pk)
    assert selectors.api_token_find(secret, now=timezone.now())
    assert services.api_token_revoke(user=user, token_id=row.pk)
    assert not services.api_token_revoke(user=user, token_id=row.pk)
    assert selectors.api_token_find(secret, now=timezone.now()) is None


def test_last_use_of_a_token_is_recorded_to_the_minute():
    row, _ = services.api_token_create("ci", user=User.objects.create(username="ci"))
    now = timezone.now()
    for later, expected in ((0, 0), (30, 0), (61, 61)):
        services.api_token_used(ApiToken.objects.get(), now=now + timedelta(seconds=later))
        row.refresh_from_db()
        assert row.last_used_at == now + timedelta(seconds=expected)


def test_the_bootstrap_token_is_created_once_and_again_after_revocation():
    token = "a-token-from-the-environment"
    first = services.bootstrap_token_ensure(token)
    assert services.bootstrap_token_ensure(token) == first
    assert (first.user.username, first.user.is_superuser) == ("bootstrap", True)
    services.api_token_revoke(user=first.user, token_id=first.pk)
    second = services.bootstrap_token_ensure(token)
    assert selectors.api_token_find(token, now=timezone.now()) == second != first
