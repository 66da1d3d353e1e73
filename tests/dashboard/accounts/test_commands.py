import io
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from dashboard.accounts.models import User

pytestmark = pytest.mark.django_db


def test_sign_in_link_prints_one_line_with_a_working_link():
    out = io.StringIO()
    call_command("sign_in_link", "--port", "8400", stdout=out)
    (line,) = out.getvalue().splitlines()
    assert line.startswith("http://127.0.0.1:8400/sign-in/?code=")
    client = Client(headers={"host": "127.0.0.1:8400"})
    assert client.get("/sign-in/", parse_qs(urlsplit(line).query)).status_code == 302
    assert client.get("/account/").status_code == 200


def test_set_password_reads_the_password_from_a_pipe(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("a long enough sentence\n"))
    call_command("set_password", stdout=io.StringIO())
    assert User.objects.get(username="operator").check_password("a long enough sentence")


@pytest.mark.parametrize("typed", ["", "\n", "short\n"])
def test_set_password_reports_an_error_and_changes_nothing(monkeypatch: pytest.MonkeyPatch, typed: str):
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    with pytest.raises(CommandError):
        call_command("set_password", stdout=io.StringIO())
    assert not User.objects.exists()
