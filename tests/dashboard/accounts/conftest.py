import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from dashboard.accounts import services
from dashboard.accounts.models import ApiToken, User
from dashboard.api import turn_files

#: The name that a browser on this machine asks for; one-time codes work only there.
HERE = "127.0.0.1:8321"


@pytest.fixture
def no_file_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """An import is let through, and refuses its file: a process of its own reads it, which takes seconds, and sees no
    row of this test's."""

    def refused(**_: object) -> None:
        raise ValidationError("No file is read here.")

    monkeypatch.setattr(turn_files, "turn_import_apart", refused)
    monkeypatch.setattr(turn_files, "log_import_apart", refused)


@pytest.fixture
def operator(db: None) -> User:
    services.one_time_code_create()
    return User.objects.get(username=services.OPERATOR)


@pytest.fixture
def made(operator: User) -> tuple[ApiToken, str]:
    return services.api_token_create("ci", user=operator)


@pytest.fixture
def token(made: tuple[ApiToken, str]) -> str:
    return made[1]


@pytest.fixture
def browser(operator: User) -> Client:
    """A signed-in browser that checks CSRF as a real one would be checked."""
    client = Client(enforce_csrf_checks=True)
    client.force_login(operator)
    return client


@pytest.fixture
def stranger(db: None) -> Client:
    return Client(enforce_csrf_checks=True, headers={"host": HERE})


def csrf_of(client: Client) -> str:
    """The token of the form that the sign-in page has, or the account page for one who is signed in."""
    client.get("/account/", follow=True)
    (name,) = [name for name in client.cookies if "csrf" in name]
    return client.cookies[name].value
