"""The proxy as docs/how-to/deploying.md has it: a real nginx with that very configuration, over https, before the whole
application."""

import http.client
import json
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest
from django.test import override_settings
from websockets.sync.client import connect

from dashboard.accounts import services
from dashboard.accounts.models import GuessCount
from dashboard.agents.models import Connection
from dashboard.live.services import turn_start
from dashboard.platform.trusted_proxies import Proxies
from tests.conftest import APT
from tests.dashboard.driving import AgentOf, Play
from tests.dashboard.runtime.conftest import PATIENCE
from tests.dashboard.website import TOKEN, website
from tests.nginx import NAME, NGINX, Nginx, documented

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(NGINX is None, reason=f"nginx is missing: {APT}"),
]
PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "deploying.md"
PASSWORD = "a long enough sentence"
LARGE = 20_000_000  #: bytes, twenty times what nginx takes by default
BEARER = {"Authorization": f"Bearer {TOKEN}"}


@dataclass(frozen=True, slots=True)
class Site:
    """Where it is served."""

    nginx: Nginx
    port: int  #: of Whystop itself


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    nginx = Nginx(tmp_path_factory.mktemp("nginx"))
    with override_settings(ALLOWED_HOSTS=[NAME, "127.0.0.1"]), website(Proxies.read("127.0.0.1, ::1")) as address:
        port = int(urlsplit(address).port or 0)
        nginx.start(documented(PAGE), port)
        try:
            yield Site(nginx, port)
        finally:
            nginx.stop()


@dataclass
class Browser:
    """A client with an address of its own; `host` is what it takes the server's name to be."""

    site: Site
    address: str
    host: str = NAME
    cookies: SimpleCookie = field(default_factory=SimpleCookie)

    def dial(self) -> http.client.HTTPConnection:
        context = self.site.nginx.trusting()
        port = self.site.nginx.https
        return http.client.HTTPSConnection(
            "127.0.0.1", port, timeout=PATIENCE, source_address=(self.address, 0), context=context
        )

    def ask(self, method: str, path: str, body: str | bytes | None = None, **headers: str) -> tuple[int, bytes]:
        given = {"Host": self.host, "Origin": f"https://{self.host}", "Cookie": self.cookie(), **headers}
        connection = self.dial()
        try:
            connection.request(method, path, body, given)
            answer = connection.getresponse()
            for value in answer.headers.get_all("Set-Cookie", []):
                self.cookies.load(value)
            return answer.status, answer.read()
        finally:
            connection.close()

    def cookie(self) -> str:
        return "; ".join(f"{name}={morsel.value}" for name, morsel in self.cookies.items())

    def sign_in(self, **typed: str) -> int:
        if "whystop_csrf" not in self.cookies:
            self.ask("GET", "/sign-in/")
        form = urlencode({"csrfmiddlewaretoken": self.cookies["whystop_csrf"].value, **typed})
        forged = {"X-Forwarded-For": "127.0.0.1", "Forwarded": "for=127.0.0.1", "X-Forwarded-Proto": "http"}
        return self.ask("POST", "/sign-in/", form, **forged, **{"Content-Type": "application/x-www-form-urlencoded"})[0]


@pytest.fixture
def first(site: Site) -> Browser:
    return Browser(site, "127.0.0.2")


@pytest.fixture
def second(site: Site) -> Browser:
    return Browser(site, "127.0.0.3")


@pytest.fixture(autouse=True)
def owner(db: None) -> None:
    services.owner_password_set(PASSWORD)
    services.bootstrap_token_ensure(TOKEN)


def test_ten_wrong_attempts_of_one_client_lock_out_nobody_else(first: Browser, second: Browser):
    wrong = {"username": "operator", "password": "wrong"}
    assert [first.sign_in(**wrong) for _ in range(11)] == [401] * 10 + [429]
    assert first.sign_in(username="operator", password=PASSWORD) == 429
    assert GuessCount.objects.count() == 3  # the address, the account, and both
    assert second.sign_in(username="operator", password=PASSWORD) == 302
    assert second.ask("GET", "/account/")[0] == 200
    assert GuessCount.objects.count() == 5


@pytest.mark.parametrize("path", ["/sign-in/", "/import", "/v1/chat/completions"])
def test_a_large_unauthenticated_body_is_refused_before_the_proxy_buffers_it(first: Browser, path: str):
    connection = first.dial()
    try:
        connection.putrequest("POST", path, skip_host=True)
        connection.putheader("Host", NAME)
        connection.putheader("Content-Length", str(LARGE))
        connection.endheaders(b"x" * 100)
        assert connection.getresponse().status in (401, 413)
    finally:
        connection.close()


def test_one_time_codes_are_not_accepted_through_nginx(site: Site, first: Browser):
    code = services.one_time_code_create()
    for host in (NAME, "127.0.0.1"):
        for address in ("127.0.0.1", "127.0.0.2"):
            far = Browser(site, address, host=host)
            assert far.ask("GET", f"/sign-in/?code={code}")[0] == 401
    assert first.sign_in(code=code) == 401
    assert _plain(site.port, f"/sign-in/?code={code}") == 302  # and it is not used up


def test_one_time_codes_are_not_accepted_through_a_proxy_without_forwarding_headers(site: Site):
    code = services.one_time_code_create()
    assert _plain(site.nginx.bare, f"/sign-in/?code={code}") in (301, 401)
    assert _plain(site.port, f"/sign-in/?code={code}") == 302


def test_pages_requested_over_http_are_redirected(site: Site):
    connection = http.client.HTTPConnection("127.0.0.1", site.nginx.http, timeout=PATIENCE)
    connection.request("GET", "/turns/?a=b", headers={"Host": NAME})
    answer = connection.getresponse()
    assert (answer.status, answer.headers["Location"]) == (301, f"https://{NAME}/turns/?a=b")
    connection.close()


def test_websockets_pass_with_the_session_and_origin_of_a_browser(first: Browser, play: Play):
    turn = play("sim-essay", max_tokens=60)
    assert first.sign_in(username="operator", password=PASSWORD) == 302
    address = f"wss://{NAME}/ws/turns/{turn.id}/?format=json"
    with (
        socket.create_connection(("127.0.0.1", first.site.nginx.https), source_address=(first.address, 0)) as made,
        connect(
            address,
            sock=made,
            ssl=first.site.nginx.trusting(),
            origin=f"https://{NAME}",  # type: ignore[arg-type]
            additional_headers={"Cookie": first.cookie()},
            proxy=None,
        ) as client,
    ):
        assert json.loads(client.recv(timeout=PATIENCE))["type"]


def test_an_event_stream_is_delivered_while_it_runs(first: Browser, agent_of: AgentOf, slow: Connection):
    turn = turn_start(agent=agent_of("sim-essay", connection=slow), input_text="Slowly, please.")
    connection = first.dial()
    connection.request("GET", f"/api/v1/turns/{turn.id}/events", headers={"Host": NAME, **BEARER})
    answer = connection.getresponse()
    assert answer.status == 200
    assert answer.readline()  # the turn is driven by nobody, so nothing ends the stream
    answer.close()
    connection.close()


def test_a_large_turn_file_passes(first: Browser, play: Play):
    turn = play("sim-essay", max_tokens=60)
    status, file = first.ask("GET", f"/api/v1/turns/{turn.id}/export", **BEARER)
    assert status == 200
    large = file + b" " * LARGE
    status, told = first.ask("POST", "/api/v1/turns/import", large, **BEARER, **{"Content-Type": "application/json"})
    assert status == 200, told  # Whystop has read all of it and knows the turn
    assert json.loads(told)["id"] == str(turn.id)


def _plain(port: int, path: str) -> int:
    """A browser on this machine that comes to this port without https."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()
