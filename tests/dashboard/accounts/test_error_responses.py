"""A form that is too large is refused in words, where it was sent from; and as large as the API takes, it is taken."""

import pytest
from django.conf import settings
from django.db import OperationalError
from django.test import Client, RequestFactory
from psycopg import errors

from dashboard.accounts.error_responses import server_failed
from dashboard.accounts.models import User
from dashboard.agents.models import Connection
from dashboard.api.body_parser import MAX_BODY
from dashboard.api.problems import of_no_database
from tests.dashboard.driving import AgentOf
from tests.dashboard.pages import HTMX, read

pytestmark = pytest.mark.django_db(transaction=True)

LARGE = {"input": "x" * (settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)}
MANY = {f"field_{n}": "" for n in range(settings.DATA_UPLOAD_MAX_NUMBER_FIELDS + 1)}
#: As browsers send forms; the test client's own way has no bound on fields of this kind.
FORM = "application/x-www-form-urlencoded"


def encoded(fields: dict[str, str]) -> str:
    return "&".join(f"{name}={value}" for name, value in fields.items())


@pytest.fixture
def browser(operator: User) -> Client:
    """A signed-in browser whose forms are taken without a CSRF token."""
    client = Client()
    client.force_login(operator)
    return client


@pytest.fixture
def address(agent_of: AgentOf) -> str:
    return f"/agents/{agent_of('sim-essay').name}/live"


@pytest.mark.parametrize(("fields", "most"), [(LARGE, "6,200,000 bytes"), (MANY, "5,000 fields")])
def test_a_form_that_is_too_large_gets_413_with_an_explanation(
    browser: Client, address: str, fields: dict[str, str], most: str
):
    for headers, whole_page in ((HTMX, False), ({}, True)):
        answer = browser.post(address, encoded(fields), content_type=FORM, headers=headers)
        html = answer.content.decode()
        assert answer.status_code == 413
        assert f"a form may have at most {most}" in html
        assert ("<html" in html, read(html).inline) == (whole_page, [])


def test_a_prompt_of_the_size_the_api_accepts_is_accepted_in_every_form_encoding(
    browser: Client, address: str, slow: Connection
):
    prompt = "%E4%BD%A0" * (MAX_BODY // 3)
    answer = browser.post(address, f"input={prompt}", content_type=FORM, headers=HTMX)
    assert (answer.status_code, "HX-Push-Url" in answer) == (200, True)


def test_other_unreadable_requests_get_400(browser: Client):
    answer = browser.get("/", headers={"host": "not a host"})
    assert answer.status_code == 400


@pytest.mark.parametrize("path", ["/api/v1/turns", "/metrics", "/.well-known/openwop"])
def test_a_program_that_uses_an_unknown_host_gets_a_machine_readable_error(browser: Client, path: str):
    answer = browser.get(path, headers={"host": "elsewhere.example"})
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")
    assert "WHYSTOP_ALLOWED_HOSTS" in answer.json()["detail"]


@pytest.mark.parametrize("path", ["/", "/sign-in/", "/turns/nothing"])
def test_a_page_request_for_an_unknown_host_names_the_setting(browser: Client, path: str):
    answer = browser.get(path, headers={"host": "elsewhere.example"})
    html = answer.content.decode()
    assert (answer.status_code, answer["Content-Type"]) == (400, "text/html; charset=utf-8")
    assert ("WHYSTOP_ALLOWED_HOSTS" in html, "The address or the form" in html) == (True, False)


def test_a_refusal_says_whom_to_ask_and_links_to_the_timeline(browser: Client, operator: User):
    operator.is_superuser = operator.is_staff = False
    operator.save()
    answer = browser.get("/audit/")
    html = answer.content.decode()
    assert answer.status_code == 403
    assert 'href="/">Open the timeline</a>' in html


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (errors.DiskFull("could not extend file"), "disk of the database is full"),
        (errors.QueryCanceled("statement timeout"), "too long"),
        (errors.OperationalError("refused"), "cannot be reached"),
    ],
)
def test_an_error_of_the_database_is_a_503_that_says_what_is_wrong(cause: Exception, words: str):
    error = OperationalError(str(cause))
    error.__cause__ = cause
    for path, kind in (("/api/v1/turns", "application/problem+json"), ("/", "text/html; charset=utf-8")):
        try:
            raise error
        except OperationalError:
            answer = server_failed(RequestFactory().get(path))
        assert (answer.status_code, answer["Content-Type"], answer["Retry-After"]) == (503, kind, "1")
        assert words in answer.content.decode()
    assert words in of_no_database(RequestFactory().get("/api/v1/turns"), error).content.decode()
