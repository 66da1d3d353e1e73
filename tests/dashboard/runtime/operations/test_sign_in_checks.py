"""`manage.py doctor` names who has a password and no second factor where one is required."""

import pytest
from pytest_django import Settings

from dashboard.accounts.models import SecondFactor, User
from dashboard.accounts.two_factor import new_secret
from dashboard.runtime.operations.doctor import State
from dashboard.runtime.operations.sign_in_checks import two_factor_authentication

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def users() -> None:
    """Two with a password, of whom one has left, and one who signs in elsewhere."""
    User.objects.all().delete()
    User.objects.create_user("anna", password="of-this-test")
    User.objects.create_user("left", password="of-this-test", is_active=False)
    User.objects.create_user("by provider")


@pytest.mark.parametrize(("required", "state"), [(True, State.WARNING), (False, State.OK)])
def test_users_without_a_second_factor_are_named_where_one_is_required(
    settings: Settings, required: bool, state: State
):
    settings.TWO_FACTOR_REQUIRED = required
    (finding,) = two_factor_authentication()
    assert (finding.state, bool(finding.fix)) == (state, required)
    assert "users with a password: 1, of whom with a second factor: 0" in finding.words
    assert finding.words.endswith("without: anna") is required


def test_nothing_is_wrong_once_all_have_one(settings: Settings):
    settings.TWO_FACTOR_REQUIRED = True
    SecondFactor.objects.create(user=User.objects.get(username="anna"), sealed=new_secret().encode())
    (finding,) = two_factor_authentication()
    assert (finding.state, finding.fix) == (State.OK, "")
