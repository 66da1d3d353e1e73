"""`manage.py doctor` notices keys with which the data of this database was not written, and missing second factors."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.conf import settings
from pytest_django import Settings

from dashboard.accounts.models import SecondFactor, User
from dashboard.accounts.two_factor import new_secret
from dashboard.runtime.operations.doctor import Finding, State
from dashboard.runtime.operations.security_checks import keys_of_the_data, two_factor_authentication
from dashboard.turns.seals import keys
from dashboard.turns.seals.audit_seals import audit_seals_make

pytestmark = pytest.mark.django_db


def found(name: str) -> Finding:
    return next(one for one in keys_of_the_data() if one.name == name)


@pytest.fixture
def own_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    monkeypatch.setattr(settings, "ENVIRONMENT", replace(settings.ENVIRONMENT, data_dir=tmp_path))
    return given_key(monkeypatch, keys.new_key())


def given_key(monkeypatch: pytest.MonkeyPatch, key: str) -> str:
    monkeypatch.setattr(settings, "ENVIRONMENT", replace(settings.ENVIRONMENT, signing_key=key))
    return key


@pytest.fixture
def seals(own_key: str) -> int:
    """Of the audit log, by the own key."""
    return len(list(audit_seals_make(now=datetime.now(UTC))))


def test_the_key_that_made_the_seals_is_accepted(seals: int):
    assert seals == 1
    assert found("seals").state is State.OK


@pytest.mark.usefixtures("seals")
def test_another_signing_key_is_an_error_that_names_the_key_of_the_seals(monkeypatch: pytest.MonkeyPatch):
    right = keys.public_key()
    given_key(monkeypatch, keys.new_key())
    told = found("seals")
    assert told.state is State.ERROR
    assert right in told.words
    assert f"signing_key retire {right}" in told.fix


def test_a_key_that_cannot_be_read_is_left_to_the_check_of_the_files(monkeypatch: pytest.MonkeyPatch):
    given_key(monkeypatch, "no key")
    assert [one.name for one in keys_of_the_data()] == ["secret key"]


def test_a_wrong_secret_key_is_an_error_that_names_the_unreadable_data(monkeypatch: pytest.MonkeyPatch):
    SecondFactor.objects.create(user=User.objects.create_user("anna"), sealed=new_secret().encode())
    assert found("secret key").state is State.OK
    monkeypatch.setattr(settings, "SECRET_KEY", "another")
    told = found("secret key")
    assert (told.state, "the two-factor keys of 1 user and the secrets of 0 webhooks" in told.words) == (
        State.ERROR,
        True,
    )
    assert "WHYSTOP_SECRET_KEY" in told.fix


@pytest.fixture
def users() -> None:
    """Two with a password, of whom one has left, and one who signs in elsewhere."""
    User.objects.all().delete()
    User.objects.create_user("anna", password="of-this-test")
    User.objects.create_user("left", password="of-this-test", is_active=False)
    User.objects.create_user("by provider")


@pytest.mark.parametrize(("required", "state"), [(True, State.WARNING), (False, State.OK)])
@pytest.mark.usefixtures("users")
def test_users_without_a_second_factor_are_named_where_one_is_required(
    settings: Settings, required: bool, state: State
):
    settings.TWO_FACTOR_REQUIRED = required
    (finding,) = two_factor_authentication()
    assert (finding.state, bool(finding.fix)) == (state, required)
    assert "users with a password: 1, of whom with a second factor: 0" in finding.words
    assert finding.words.endswith("without: anna") is required


@pytest.mark.usefixtures("users")
def test_the_check_passes_once_every_user_has_a_second_factor(settings: Settings):
    settings.TWO_FACTOR_REQUIRED = True
    SecondFactor.objects.create(user=User.objects.get(username="anna"), sealed=new_secret().encode())
    (finding,) = two_factor_authentication()
    assert (finding.state, finding.fix) == (State.OK, "")
