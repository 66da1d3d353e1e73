"""Whatever is asked, at whatever address: no request makes the server fail."""

import re
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from django.core.signals import got_request_exception
from django.db import connection, transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from dashboard.turns.models import Attempt, Turn
from tests.dashboard.accounts.test_roles import ANYTHING, KINDS
from tests.dashboard.driving import Play
from tests.nightly import nightly

pytestmark = pytest.mark.django_db(transaction=True)

#: Names of fields and parameters, of any page: each is given at all of them.
NAMES = """
    _popup _to_field action add after agent alt b breakpoint breakpoints budget call_id code confirmed connection
    content conversation cursor days description draft duration_from error_type evaluate every expected_seq format
    from from_record function_call has kind kwargs left limit lint message messages model model_stop_reason name
    newest next number opens otherwise page parameters password path policy preset prompt provider q query remove
    requested_again resource result rerun right role run_to seconds seq shared since span stack start starts_at
    status step stop_reason system_prompt tag tags terminal_reason text to token tokens_from tokens_to tool
    tool_call_id tools transition turn unverified until username version view why
"""
ODD = ["foo", "a\x00b\ud800"]
BODIES = [b"\xff\xfe", b'{"name": "\\u0000\\ud800"}', b"[" * 5_000]
#: Any body is a file to them. One is enough here: what hostile files are answered with, `ingest` asks.
IMPORTS = {"api/v1/turns/import", "api/v1/logs/import"}
FORM = "application/x-www-form-urlencoded"


def routes(patterns: list[URLPattern | URLResolver], before: str = "") -> Iterator[str]:
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, route)
        # Wrong share links are counted by address, and then refused to the tests that come later too.
        elif not route.startswith(("admin/", "share/", "sign-out")) and not route.endswith("/events"):
            yield route


#: With and without a slash at the end a page is the same view.
ROUTES = sorted({route.rstrip("/"): route for route in sorted(set(routes(get_resolver().url_patterns)))}.values())


def encoded(value: str) -> str:
    return quote(value.encode("utf-8", "surrogatepass"), safe="")


@pytest.fixture
def turn(play: Play) -> Turn:
    return play("sim-essay", max_tokens=30)


@pytest.fixture
def failures() -> Iterator[list[str]]:
    """Requests that a view failed at."""
    failed: list[str] = []

    def note(sender: object, request: object, **_: object) -> None:
        failed.append(f"{request}")

    got_request_exception.connect(note)
    yield failed
    got_request_exception.disconnect(note)


@pytest.fixture
def asking(browser: Client) -> Client:
    browser.raise_request_exception = False
    return browser


def address(route: str, turn: Turn, odd: str | None = None) -> str:
    known = {"turn_id": str(turn.id), "name": "sim-essay", "index": "1"}

    def one(found: re.Match[str]) -> str:
        if odd is not None:
            return odd
        return known.get(found[2]) or ANYTHING.get(found[1] or KINDS.get(found[2], "uuid"), "nothing")

    plain = re.sub(r"\(\?P<\w+>[^)]*\)", "turns", route).translate({ord(mark): None for mark in "^$\\"})
    return "/" + re.sub(r"<(?:(\w+):)?(\w+)>", one, plain)


@pytest.mark.parametrize("odd", [pytest.param(ODD[0], id="word"), nightly(ODD[1], id="NUL")])
def test_unusual_parameters_are_answered_everywhere(asking: Client, turn: Turn, failures: list[str], odd: str):
    query = "&".join(f"{name}={encoded(odd)}" for name in NAMES.split())
    for route in ROUTES:
        path = address(route, turn)
        asking.generic("GET", "/", PATH_INFO=path, QUERY_STRING=query)
        if route not in IMPORTS:
            asking.generic("POST", "/", query, content_type=FORM, PATH_INFO=path)
        if "<" in route:
            asking.generic("GET", "/", PATH_INFO=address(route, turn, odd.replace("\ud800", "\xff")))
    assert failures == []


@pytest.mark.usefixtures("imports_here")
def test_unusual_bodies_are_answered_everywhere(asking: Client, turn: Turn, failures: list[str]):
    for route in ROUTES:
        path = address(route, turn)
        for body in BODIES if route.startswith("api/") and route not in IMPORTS else BODIES[:1]:
            asking.generic("POST", "/", body, content_type="application/json", PATH_INFO=path)
        if route in IMPORTS:
            continue
        asking.generic("POST", "/", b"\xff%ff%00=%ff&=&&%", content_type=FORM, PATH_INFO=path)
        asking.generic("POST", "/", b"garbage", content_type="multipart/form-data; boundary=x", PATH_INFO=path)
    assert failures == []


def test_unusual_headers_are_answered_everywhere(asking: Client, turn: Turn, failures: list[str]):
    odd = {"HX-Request": "true", "HX-Current-URL": "http://[", "Referer": "http://[", "Accept": "\xff"}
    for route in ROUTES:
        asking.get(address(route, turn), headers=odd)
    assert failures == []


@pytest.mark.parametrize("provider", [nightly(""), "martian", nightly("open\x1bai")])
def test_a_turn_of_an_unknown_provider_is_shown(asking: Client, turn: Turn, failures: list[str], provider: str):
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "SET LOCAL session_replication_role = replica"
        )  # an attempt that has ended refuses to be changed
        Turn.objects.filter(pk=turn.pk).update(provider=provider)
        Attempt.objects.filter(turn_id=turn.pk).update(provider=provider)
    for route in ROUTES:
        if "turn_id" in route or route in ("", "metrics", "live/", "ledger", "lint"):
            asking.get(address(route, turn))
    assert failures == []
    command = asking.get(f"/turns/{turn.id}/attempts/1/curl")
    assert command.status_code == 200
    assert b"curl" in command.content


@pytest.mark.parametrize(
    "wanted", ["foo", "dashboard", "admin:index", "a.b", "?x", "#x", "..", "javascript:x", "%", "//x"]
)
def test_a_signed_in_user_is_sent_to_a_page_or_home(asking: Client, wanted: str):
    answer = asking.get("/sign-in/", {"next": wanted})
    assert (answer.status_code, answer["Location"]) == (302, "/tour")  # no turn is here yet


def test_a_signed_in_user_is_sent_to_the_requested_page(asking: Client):
    assert asking.get("/sign-in/", {"next": "/?status=failed"})["Location"] == "/?status=failed"


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_the_admin_looks_up_no_row_by_a_field_without_a_name(asking: Client, failures: list[str], method: str):
    for page in ("change", "delete", "history"):
        path = f"/admin/agents/agent/01890000-0000-7000-8000-000000000000/{page}/"
        answer = asking.generic(method, f"{path}?_to_field=", "_to_field=", content_type=FORM)
        assert answer.status_code == 400
    assert failures == []
