"""Where requests to an OpenID Connect provider may go, and what it may send."""

import socket
import threading
import time
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from requests import ConnectionError as RequestsConnectionError
from requests import RequestException, Timeout

from dashboard.accounts import openid_session
from dashboard.accounts.openid_connect import OpenIdClient, ProviderError
from dashboard.accounts.openid_session import ProviderSession
from dashboard.platform.egress import address_check
from dashboard.platform.egress.rules import APART, Rules
from dashboard.platform.sign_in_provider import SignInProvider


class Listener:
    """Answers each GET with `answer(handler)`."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answer: Any = lambda handler: _say(handler, b"{}")
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append(f"{self.headers['Host']}{self.path}")
                outer.answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def _say(handler: BaseHTTPRequestHandler, body: bytes, status: int = 200, **headers: str) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)


@pytest.fixture
def listener() -> Iterator[Listener]:
    found = Listener()
    yield found
    found.close()


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Names that resolve to the next address at each look, the last for ever."""
    known: dict[str, list[str]] = {}

    async def resolved(host: str, port: int) -> tuple[str, ...]:
        found = known.get(host, [host])
        return (found.pop(0) if len(found) > 1 else found[0],)

    monkeypatch.setattr(address_check, "resolved", resolved)
    return known


def asked(url: str, issuer: str = "http://localhost") -> bytes:
    with ProviderSession("client", issuer=issuer) as session:
        return bytes(session.request("GET", url, withhold_token=True).content)


def test_a_redirect_is_not_followed(listener: Listener) -> None:
    listener.answer = lambda handler: _say(handler, b"", 307, Location=f"http://127.0.0.1:{listener.port}/secret")
    issuer = f"http://localhost:{listener.port}"
    with pytest.raises(ProviderError, match="redirects to another address"):
        OpenIdClient(SignInProvider(issuer, "client")).begin(redirect_uri="http://here/", wanted="/")
    assert listener.asked == [f"localhost:{listener.port}/.well-known/openid-configuration"]


@pytest.mark.parametrize("host", ["127.0.0.1", "[::ffff:127.0.0.1]", "2130706433", "127.1", "rebound.example"])
def test_a_url_named_only_by_the_provider_must_meet_the_egress_rules(
    host: str, listener: Listener, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.EGRESS = APART
    known = socket.getaddrinfo
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda name, *rest, **more: known(name.replace("rebound.example", "127.0.0.1"), *rest, **more),
    )
    with pytest.raises(RequestException, match="may not be called"):
        asked(f"http://{host}:{listener.port}/keys")
    assert listener.asked == []


def test_it_connects_to_the_checked_address(listener: Listener, settings: Any, names: dict[str, list[str]]) -> None:
    settings.EGRESS = Rules.read("127.0.0.1")
    names["rebound.example"] = ["127.0.0.1", "127.0.0.2"]
    assert asked(f"http://rebound.example:{listener.port}/keys") == b"{}"
    assert listener.asked == [f"rebound.example:{listener.port}/keys"]
    assert names["rebound.example"] == ["127.0.0.2"], "it was resolved once"


def test_a_proxy_is_asked_only_for_allowed_addresses(
    listener: Listener, settings: Any, names: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.EGRESS = APART
    names |= {"inside.example": ["10.0.0.1"], "far.example": ["8.8.8.8"]}
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{listener.port}")
    monkeypatch.delenv("http_proxy", raising=False)
    monkeypatch.setenv("NO_PROXY", "")
    with pytest.raises(RequestException, match="may not be called"):
        asked("http://inside.example/keys")
    assert listener.asked == []
    assert asked("http://far.example/keys") == b"{}"
    assert asked("http://inside.example/keys", issuer="http://inside.example") == b"{}"


def _endless(handler: BaseHTTPRequestHandler, status: int = 200, **headers: str) -> None:
    _say(handler, b"", status, **headers)
    try:
        while True:
            handler.wfile.write(b" " * 65_536)
    except OSError:
        return


def _dripping(handler: BaseHTTPRequestHandler, head: bytes = b"HTTP/1.1 200 x\r\n\r\n") -> None:
    try:
        handler.wfile.write(head)
        while True:
            handler.wfile.write(b"a")
            time.sleep(0.05)
    except OSError:
        return


_dripping_a_head = partial(_dripping, head=b"HTTP/1.1 200 x\r\nX-Long: ")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (_endless, "the answer has more than 1,000,000 bytes"),
        (partial(_endless, status=302, Location="/more"), "redirects to another address"),
    ],
)
def test_an_answer_is_limited_in_bytes(answer: Any, why: str, listener: Listener) -> None:
    listener.answer = answer
    with pytest.raises(RequestException, match=why):
        asked(f"http://localhost:{listener.port}/keys")


@pytest.mark.parametrize("by_proxy", [False, True])
@pytest.mark.parametrize("answer", [_dripping, _dripping_a_head])
def test_an_answer_is_limited_in_time(
    answer: Any, by_proxy: bool, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openid_session, "WHOLE", 0.5)
    host = f"localhost:{listener.port}"
    if by_proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://{host}")
        monkeypatch.delenv("http_proxy", raising=False)
        monkeypatch.setenv("NO_PROXY", "")
        host = "provider.example"
    listener.answer = answer
    began = time.monotonic()
    with pytest.raises(Timeout, match=r"the answer took more than 0\.5 s"):
        asked(f"http://{host}/keys", issuer=f"http://{host}")
    assert time.monotonic() - began >= 0.5, "unbounded, it would never end"


def test_an_answer_that_breaks_off_raises_a_requests_error(listener: Listener) -> None:
    listener.answer = lambda handler: _say(handler, b"{", **{"Content-Length": "9"})
    with pytest.raises(RequestsConnectionError, match="1 bytes read, 8 more expected"):
        asked(f"http://localhost:{listener.port}/keys")


def test_silence_in_an_answer_raises_a_requests_timeout(listener: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openid_session, "SECONDS", (3.0, 0.2))

    def silent(handler: BaseHTTPRequestHandler) -> None:
        _say(handler, b"{", **{"Content-Length": "9"})
        time.sleep(1)

    listener.answer = silent
    with pytest.raises(Timeout, match="Read timed out"):
        asked(f"http://localhost:{listener.port}/keys")


def test_the_next_address_is_tried_where_one_does_not_answer(
    listener: Listener, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.EGRESS = Rules.read("127.0.0.1,127.0.0.2")

    async def resolved(host: str, port: int) -> tuple[str, ...]:
        return ("10.0.0.1", "127.0.0.2", "127.0.0.1")

    monkeypatch.setattr(address_check, "resolved", resolved)
    assert asked(f"http://several.example:{listener.port}/keys") == b"{}"
    assert listener.asked == [f"several.example:{listener.port}/keys"]
