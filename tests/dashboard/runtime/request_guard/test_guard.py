"""Before anything is kept of a request: how large it may be, who may send so much, and in which form it is refused."""

import asyncio
import http.client
import json
import threading
from collections.abc import Callable, Iterator
from http import HTTPStatus
from urllib.parse import urlsplit

import pytest
from django.test import Client

from dashboard.accounts.error_responses import AWAY_TITLE
from dashboard.accounts.models import User
from dashboard.accounts.services import api_token_create
from dashboard.api.body_parser import MAX_BODY
from dashboard.platform.disconnects import SCOPE_KEY
from dashboard.platform.fair_queue import FullError
from dashboard.runtime.request_guard.body_limits import SMALL, body_limit_of
from dashboard.runtime.request_guard.guard import Guard, _refused
from dashboard.runtime.request_guard.refusals import TITLES, refusal
from tests.dashboard.website import website
from tests.together import together

pytestmark = pytest.mark.django_db(transaction=True)

EVERYWHERE = [
    "/",
    "/nowhere",
    "/healthz",
    "/metrics",
    "/sign-in/",
    "/admin/login/",
    "/admin/",
    "/share/x",
    "/static/css/base.css",
    "/import",
    "/policies/import",
    "/api/v1/turns",
    "/api/v1/turns/import",
    "/api/v1/logs/import",
    "/api/nowhere",
    "/.well-known/openwop",
    "/v1/traces",
    "/v1/chat/completions",
    "/v1/nowhere",
    "/v1beta/nowhere",
    "/%00%ff",
]
MACHINES = ("/api/", "/v1/", "/v1beta/", "/metrics", "/.well-known")
Read = list[int]  #: bytes of each piece that an application was given


class Asked:
    """What became of a request that was sent straight to the guard."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces
        self.taken = 0  #: bytes that were asked for
        self.kept = 0  #: of them, that reached the application
        self.sent: list[dict] = []

    async def receive(self):
        piece = self._pieces.pop(0) if self._pieces else b""
        self.taken += len(piece)
        return {"type": "http.request", "body": piece, "more_body": bool(self._pieces)}

    async def send(self, message):
        self.sent.append(message)

    async def application(self, scope, receive, send):
        while (message := await receive())["type"] == "http.request":
            self.kept += len(message["body"])
            if not message["more_body"]:
                break
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    @property
    def status(self) -> int:
        return self.sent[0]["status"]

    @property
    def headers(self) -> dict[bytes, bytes]:
        return dict(self.sent[0]["headers"])


async def asked(path: str, body: bytes, *, chunked: bool, method: str = "POST", **headers: str) -> Asked:
    one = Asked([body[at : at + 10_000] for at in range(0, len(body), 10_000)])
    length = ("transfer-encoding", "chunked") if chunked else ("content-length", str(len(body)))
    told = [(name.encode(), value.encode()) for name, value in (length, *headers.items())]
    scope = {"type": "http", "method": method, "path": path, "headers": told}
    await Guard(one.application)(scope, one.receive, one.send)
    return one


@pytest.fixture
def token() -> str:
    user = User.objects.create_superuser("somebody", password="x")
    return api_token_create(user=user, name="of a test")[1]


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("path", [path for path in EVERYWHERE if not path.startswith(("/v1/", "/v1beta/"))])
async def test_an_unauthenticated_client_may_send_little_to_any_url(path: str, chunked: bool):
    few = await asked(path, b"x" * SMALL, chunked=chunked)
    many = await asked(path, b"x" * 1_000_000, chunked=chunked)
    assert (few.status, few.kept) == (200, SMALL)
    assert many.status in (401, 413)
    assert (many.kept, many.taken) <= (SMALL, SMALL + 10_000)
    assert many.headers[b"connection"] == b"close"


@pytest.mark.parametrize("header", [{"authorization": "Bearer wrong"}, {"cookie": "whystop_session=forged"}, {}])
async def test_invalid_credentials_allow_nothing(header: dict[str, str]):
    for path, form in (("/api/v1/turns/import", b"application/problem+json"), ("/import", b"text/html; charset=utf-8")):
        one = await asked(path, b"x" * 1_000_000, chunked=False, **header)
        assert (one.status, one.taken, one.headers[b"content-type"]) == (401, 0, form)


@pytest.mark.parametrize("chunked", [False, True])
async def test_an_authenticated_client_may_send_as_much_as_the_url_accepts(token: str, chunked: bool):
    bearer = {"authorization": f"Bearer {token}"}
    whole = await asked("/api/v1/turns", b"x" * MAX_BODY, chunked=chunked, **bearer)
    more = await asked("/api/v1/turns", b"x" * (MAX_BODY + 1), chunked=chunked, **bearer)
    assert (whole.status, whole.kept) == (200, MAX_BODY)
    assert more.status == 413
    assert more.kept <= MAX_BODY
    problem = json.loads(more.sent[1]["body"])
    assert problem["status"] == 413
    assert "a request to the API may have at most 2,000,000 bytes" in problem["detail"]


@together
@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "OPTIONS", "TRACE", "PROPFIND"])
@pytest.mark.parametrize("path", EVERYWHERE)
def test_a_request_without_a_body_has_a_small_limit(path: str, method: str):
    assert body_limit_of(method, path).most == SMALL


async def test_an_absurd_length_is_too_large():
    one = Asked([])
    scope = {"type": "http", "method": "POST", "path": "/", "headers": [(b"content-length", b"9" * 5000)]}
    await Guard(one.application)(scope, one.receive, one.send)
    assert one.status == 413


async def test_htmx_gets_the_message_shown_beside_a_form():
    one = await asked("/share/x", b"x" * 1_000_000, chunked=False, **{"hx-request": "true"})
    assert one.sent[1]["body"].startswith(b'<p class="note error"')


@pytest.fixture
def site() -> Iterator[Callable[..., http.client.HTTPResponse]]:
    """Asks the real application over a real connection."""
    open_: list[http.client.HTTPConnection] = []
    with website() as address:

        def ask(method: str, path: str, body: bytes | None = None, **headers: str) -> http.client.HTTPResponse:
            client = http.client.HTTPConnection(urlsplit(address).netloc, timeout=20)
            open_.append(client)
            client.request(method, path, body, headers)
            return client.getresponse()

        yield ask
        for one in open_:
            one.close()


def test_each_url_refuses_in_its_own_format_over_the_wire(site: Callable[..., http.client.HTTPResponse]):
    for path in EVERYWHERE:
        answer = site("POST", path, b"x" * 2_000_000)
        told = answer.read()
        assert answer.status in (401, 413), path
        assert ("json" in answer.headers["Content-Type"]) == path.startswith(MACHINES), path
        assert "no-store" in answer.headers["Cache-Control"], path
        assert len(told) > 50, path


#: Where each dialect's clients look for the words of an error.
WORDS = {
    "/v1/chat/completions": ("error", "code"),
    "/v1/responses": ("error", "code"),
    "/v1/messages": ("error", "type"),
    "/v1/messages/": ("error", "type"),
    "/v1beta/models/m:generateContent": ("error", "status"),
    "/v1beta/nowhere": ("error", "status"),
}


@pytest.mark.parametrize("own", [True, False])
def test_the_page_of_a_request_that_found_no_place_leads_to_its_own_address_unless_it_was_a_form(own: bool):
    asked, sent = (_refused({"path": "/", "method": method}, FullError(own=own)) for method in ("GET", "POST"))
    assert b'<a class="btn primary" href="">Try again</a>' in asked.body
    assert b"Try again</a>" not in sent.body
    assert own or b"Whystop is busy. Your request was not carried out. Try again in a few seconds." in sent.body


@pytest.mark.parametrize("status", [401, 403, 408, 413, 429, 431, 503])
def test_the_page_of_a_refusal_is_headed_with_what_is_wrong(status: int):
    html = refusal("/", status, "Do this.").body.decode()
    assert f"<h1>{TITLES[status]}</h1>" in html
    assert HTTPStatus(status).phrase not in html
    assert "Do this." in html
    assert 'href="/"' in html


def test_the_page_of_a_database_that_is_away_says_so():
    assert AWAY_TITLE in refusal("/", 503, "Wait.", title=AWAY_TITLE).body.decode()


@pytest.mark.parametrize("status", [401, 408, 413, 429, 431, 503])
def test_a_refusal_at_the_gateway_is_in_the_callers_dialect(status: int):
    for path, place in WORDS.items():
        answer = refusal(path, status, "No.", more=((b"retry-after", b"1"),))
        told = json.loads(answer.body)
        assert told["error"]["message"] == "No."
        assert place[-1] in told["error"], path
        assert (told.get("type") == "error") == path.startswith("/v1/messages")
        assert (told["error"]["code"] == status) if "v1beta" in path else True
        assert dict(answer.headers)[b"content-length"] == b"%d" % len(answer.body)


def test_every_response_except_static_files_is_private_and_not_stored(
    site: Callable[..., http.client.HTTPResponse], browser: Client
):
    session = browser.cookies["whystop_session"].value
    for path in [*EVERYWHERE, "/account/", "/policies/", "/live/", "/api/v1/openapi.json", "/v1/models"]:
        for headers in ({}, {"Cookie": f"whystop_session={session}"}):
            answer = site("GET", path, **headers)
            answer.read()
            if path.startswith("/static/"):
                assert answer.headers["Cache-Control"] == "no-cache"
            else:
                assert "no-store" in answer.headers["Cache-Control"], path
                assert "private" in answer.headers["Cache-Control"], path


async def test_a_burst_of_disconnects_takes_no_thread_from_others(monkeypatch: pytest.MonkeyPatch):
    begun, may_return = threading.Semaphore(0), threading.Event()

    def end() -> None:
        begun.release()
        may_return.wait(20)

    async def application(scope, receive, _send):
        with scope[SCOPE_KEY].ending(end):
            await receive()

    async def receive():
        return {"type": "http.disconnect"}

    async def send(_message):
        pass

    scopes = [{"type": "http", "method": "GET", "path": "/", "headers": [(b"transfer-encoding", b"chunked")]}] * 64
    hung_up = [asyncio.create_task(Guard(application)({**scope}, receive, send)) for scope in scopes]
    try:
        await asyncio.sleep(0.2)
        async with asyncio.timeout(5):
            await asyncio.to_thread(begun.acquire)
    finally:
        may_return.set()
        await asyncio.gather(*hung_up)


async def test_a_disconnect_without_work_in_progress_takes_no_thread(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dashboard.runtime.request_guard.guard._ENDING", None)
    heard = []

    async def application(scope, receive, _send):
        heard.append((await receive())["type"])
        heard.append(scope[SCOPE_KEY].closed.is_set())

    async def receive():
        return {"type": "http.disconnect"}

    scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"transfer-encoding", b"chunked")]}
    await Guard(application)(scope, receive, receive)
    assert heard == ["http.disconnect", True]
