"""What the rest of Whystop sees of a client, and what comes by http where it should have come by https."""

from collections.abc import Iterator, MutableMapping
from typing import Any

import pytest
import structlog
from django.http import HttpRequest
from django.test import RequestFactory

from dashboard.platform.local_client import is_local
from dashboard.platform.trusted_proxies import Proxies
from dashboard.runtime.request_guard.client_identity import ClientIdentity

FAR = "203.0.113.9"
Sent = list[MutableMapping[str, Any]]


async def arrive(
    *, proxies: str = "", https: bool = False, peer: str = "127.0.0.1", **more: Any
) -> tuple[MutableMapping[str, Any] | None, Sent]:
    """The scope that the application sees (None where it is not asked), and what is answered in its place."""
    headers = {"host": "127.0.0.1:8321", **more.pop("headers", {})}
    scope = {
        "type": "http",
        "scheme": "http",
        "method": "GET",
        "path": "/turns/",
        "query_string": b"",
        "http_version": "1.1",
        "client": (peer, 4711),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        **more,
    }
    seen: list[MutableMapping[str, Any]] = []
    sent: Sent = []

    async def application(scope, receive, send):
        seen.append(scope)

    async def receive():
        return {}

    async def send(message):
        sent.append(message)

    await ClientIdentity(application, Proxies.read(proxies), https=https)(scope, receive, send)
    return (seen[0] if seen else None), sent


FORWARDED = {"x-forwarded-for": FAR, "x-forwarded-proto": "https"}


@pytest.mark.parametrize(("kind", "scheme"), [("http", "https"), ("websocket", "wss")])
async def test_headers_of_a_trusted_proxy_replace_address_and_scheme(kind: str, scheme: str):
    scope, _ = await arrive(type=kind, proxies="127.0.0.1", headers=FORWARDED)
    assert scope is not None
    assert (scope["client"], scope["scheme"]) == ((FAR, 0), scheme)


@pytest.mark.parametrize("proxies", ["", "10.0.0.1"])
async def test_headers_of_anyone_else_replace_nothing(proxies: str):
    scope, _ = await arrive(proxies=proxies, headers=FORWARDED)
    assert scope is not None
    assert (scope["client"], scope["scheme"]) == (("127.0.0.1", 4711), "http")


async def test_a_page_over_http_is_redirected_with_its_query():
    for peer, headers in (("127.0.0.1", {**FORWARDED, "x-forwarded-proto": "http"}), ("198.51.100.4", {})):
        asked = {"query_string": b"a=b", "headers": {**headers, "host": "localhost"}}
        scope, sent = await arrive(proxies="127.0.0.1", https=True, peer=peer, **asked)
        assert scope is None
        assert sent[0]["status"] == 301
        assert dict(sent[0]["headers"])[b"location"] == b"https://localhost/turns/?a=b"


@pytest.mark.parametrize(("method", "path"), [("POST", "/sign-in/"), ("GET", "/api/v1/turns"), ("POST", "/v1/x")])
async def test_a_request_that_may_contain_a_secret_is_refused_over_http(method: str, path: str):
    headers = {**FORWARDED, "x-forwarded-proto": "http"}
    scope, sent = await arrive(proxies="127.0.0.1", https=True, method=method, path=path, headers=headers)
    assert scope is None
    assert sent[0]["status"] == 403
    assert b"served over https only" in sent[1]["body"]


@pytest.mark.parametrize(
    "asked",
    [
        {},  # a browser on this machine
        {"headers": FORWARDED},
        {"path": "/healthz", "peer": "10.0.0.3"},
        {"path": "/static/x.css", "peer": "10.0.0.3"},
        {"path": "/api/v1/turns", "peer": "10.0.0.3"},  # a program inside the network
        {"path": "/v1/chat/completions", "peer": "10.0.0.3"},
        {"peer": "10.0.0.3", "headers": {"host": "elsewhere.example"}},  # which Django refuses
        {"type": "websocket", "peer": "10.0.0.3"},
        {"type": "lifespan"},
    ],
)
async def test_other_requests_reach_the_application(asked: dict[str, Any]):
    scope, sent = await arrive(proxies="127.0.0.1", https=True, **asked)
    assert scope is not None
    assert not sent


@pytest.fixture
def told() -> Iterator[list[MutableMapping[str, Any]]]:
    with structlog.testing.capture_logs() as lines:
        yield lines


@pytest.mark.parametrize(
    ("peer", "headers", "times"),
    [("127.0.0.1", FORWARDED, 1), ("10.1.1.1", FORWARDED, 1), ("8.8.8.8", FORWARDED, 0), ("127.0.0.1", {}, 0)],
)
async def test_an_untrusted_local_proxy_is_reported_once(
    told: list[MutableMapping[str, Any]], peer: str, headers: dict[str, str], times: int
):
    async def nothing(*_: Any) -> None:
        pass

    arriving = ClientIdentity(nothing, Proxies(), https=False)
    scope = {
        "type": "http",
        "scheme": "http",
        "client": (peer, 1),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    for _ in range(3):
        await arriving(scope, nothing, nothing)
    assert [line["event"] for line in told] == ["proxy_not_trusted"] * times
    assert all("WHYSTOP_TRUSTED_PROXIES" in line["detail"] for line in told)


def asked(**more: str) -> HttpRequest:
    return RequestFactory().get("/", **{"HTTP_HOST": "127.0.0.1:8321", "REMOTE_ADDR": "127.0.0.1", **more})


@pytest.mark.parametrize("host", ["127.0.0.1:8321", "localhost:1", "LOCALHOST", "[::1]:8321", "127.8.8.8"])
@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"])
def test_a_browser_on_this_machine_is_local(host: str, address: str):
    assert is_local(asked(HTTP_HOST=host, REMOTE_ADDR=address))


@pytest.mark.parametrize(
    "sign",
    [
        {"REMOTE_ADDR": "192.0.2.1"},
        {"REMOTE_ADDR": ""},
        {"REMOTE_ADDR": "unix"},
        {"HTTP_HOST": "whystop.example"},
        {"HTTP_HOST": "localhost.example"},
        {"HTTP_HOST": ""},
        {"HTTP_X_FORWARDED_FOR": "127.0.0.1"},
        {"HTTP_X_FORWARDED_PROTO": "https"},
        {"HTTP_X_FORWARDED_HOST": "x"},
        {"HTTP_FORWARDED": "for=127.0.0.1"},
        {"HTTP_X_REAL_IP": "127.0.0.1"},
        {"HTTP_VIA": "1.1 proxy"},
        {"HTTP_CF_CONNECTING_IP": "127.0.0.1"},
    ],
)
def test_with_any_sign_of_a_proxy_a_browser_is_not_local(sign: dict[str, str]):
    assert not is_local(asked(**sign))


def test_nginx_without_settings_shows_only_an_old_http_version():
    request = asked()
    request.scope = {"http_version": "1.0"}  # type: ignore[attr-defined]
    assert not is_local(request)
