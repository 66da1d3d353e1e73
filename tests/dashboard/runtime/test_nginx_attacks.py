"""What a stranger sends through the documented proxy to be taken for somebody else, or for two: it opens nothing."""

import re
import socket
from collections.abc import Iterator

import pytest

from dashboard.accounts import services
from tests.dashboard.driving import Play
from tests.dashboard.runtime.test_nginx import BEARER, Browser, Site, first, owner, second, site
from tests.nginx import NAME, NGINX

__all__ = ("first", "owner", "second", "site")

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.skipif(NGINX is None, reason="nginx is missing")]

#: Other spellings of /admin/ and of the API's turns.
SPELLINGS = (
    "//admin/", "///admin/", "/./admin/", "/x/../admin/", "/%2e/admin/", "/%2e%2e/admin/", "/static/%2e%2e/admin/",
    "/static/../admin/", "/healthz/../admin/", "/share/../admin/", "/%61dmin/", "/ADMIN/", "/admin/.", "/admin%2f",
    "/admin/%2e%2e/admin/", "/admin;x=y/", "/admin/%00", "/admin%20/", "/%2fadmin/", "/\\admin/",
    "//api/v1/turns", "/static/../api/v1/turns", "/static/..%2fapi/v1/turns", "/healthz/%2e%2e/api/v1/turns",
    "/healthz/..%2fapi/v1/turns", "/v1/../api/v1/turns", "/v1/%2e%2e/api/v1/turns", "/api//v1/turns",
    "/static/..%2f..%2fdashboard%2fsettings.py", "/static/%252e%252e/dashboard/settings.py", "/static//etc/passwd",
    f"http://{NAME}/admin/", f"https://{NAME}//api/v1/turns", "http://127.0.0.1/admin/", "http://evil.example/admin/",
)  # fmt: skip
_HOST = f"Host: {NAME}\r\n"
_NEXT = f"GET /api/v1/turns HTTP/1.1\r\n{_HOST}Authorization: Bearer x\r\n\r\n"
_CHUNKED = "0\r\n\r\n"
#: Heads that two readers may end in two places, each with what comes after it.
SMUGGLED = {
    "cl and te": f"POST /sign-in/ HTTP/1.1\r\n{_HOST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n{_CHUNKED}",
    "two lengths": f"POST /sign-in/ HTTP/1.1\r\n{_HOST}Content-Length: 0\r\nContent-Length: 90\r\n\r\n",
    "list of lengths": f"POST /sign-in/ HTTP/1.1\r\n{_HOST}Content-Length: 0, 90\r\n\r\n",
    "signed length": f"POST /sign-in/ HTTP/1.1\r\n{_HOST}Content-Length: +90\r\n\r\n",
    "te with a space": f"POST /sign-in/ HTTP/1.1\r\n{_HOST}Content-Length: 5\r\nTransfer-Encoding : chunked\r\n\r\n{_CHUNKED}",  # noqa: E501 - one head
    "te folded": f"POST /sign-in/ HTTP/1.1\r\n{_HOST}Content-Length: 5\r\nTransfer-Encoding:\r\n chunked\r\n\r\n{_CHUNKED}",  # noqa: E501 - one head
    "te twice": f"POST /sign-in/ HTTP/1.1\r\n{_HOST}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n{_CHUNKED}",  # noqa: E501 - one head
    "te unknown": f"POST /sign-in/ HTTP/1.1\r\n{_HOST}Content-Length: 5\r\nTransfer-Encoding: xchunked\r\n\r\n{_CHUNKED}",  # noqa: E501 - one head
    "te of 1.0": f"POST /sign-in/ HTTP/1.0\r\n{_HOST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n{_CHUNKED}",
    "te with underscore": f"POST /sign-in/ HTTP/1.1\r\n{_HOST}Content-Length: 5\r\nTransfer_Encoding: chunked\r\n\r\n{_CHUNKED}",  # noqa: E501 - one head
    "bare line feeds": f"POST /sign-in/ HTTP/1.1\n{_HOST}Content-Length: 5\nTransfer-Encoding: chunked\n\n{_CHUNKED}",
    "bare carriage return": f"GET /healthz HTTP/1.1\r\n{_HOST}X: a\rTransfer-Encoding: chunked\r\n\r\n{_CHUNKED}",
    "large chunk": f"POST /sign-in/ HTTP/1.1\r\n{_HOST}Transfer-Encoding: chunked\r\n\r\nffffffffffffffff0\r\n\r\n",
    "chunk's extension": f"POST /sign-in/ HTTP/1.1\r\n{_HOST}Transfer-Encoding: chunked\r\n\r\n0;a=\n\r\n\r\n",
    "body of a GET": f"GET /healthz HTTP/1.1\r\n{_HOST}Content-Length: {len(_NEXT)}\r\n\r\n",
    "upgrade": f"GET /healthz HTTP/1.1\r\n{_HOST}Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    "h2c": f"GET /healthz HTTP/1.1\r\n{_HOST}Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\nConnection: Upgrade, HTTP2-Settings\r\n\r\n",  # noqa: E501 - one head
    "connection names host": f"GET /healthz HTTP/1.1\r\n{_HOST}Connection: close, X-Forwarded-For, Host\r\n\r\n",
}


def said(browser: Browser, sent: str) -> bytes:
    """All that is answered to these bytes, until the server closes or is silent."""
    made = socket.create_connection(("127.0.0.1", browser.site.nginx.https), source_address=(browser.address, 0))
    with browser.site.nginx.trusting().wrap_socket(made) as client:
        client.settimeout(20 if "Connection: close" in sent else 0.5)
        client.sendall(sent.encode("latin-1"))
        return b"".join(_until_silent(client))


def _until_silent(client: socket.socket) -> Iterator[bytes]:
    try:
        while got := client.recv(65536):
            yield got
    except OSError:
        return


def test_no_alternative_spelling_opens_a_protected_url(first: Browser, play: Play):
    play("sim-essay", max_tokens=60)
    for path in SPELLINGS:
        answer = said(first, f"GET {path} HTTP/1.1\r\n{_HOST}Connection: close\r\n\r\n")
        status = re.match(rb"HTTP/1.1 (\d+)", answer)
        assert status is not None, path
        assert status[1] in (b"301", b"302", b"400", b"401", b"404"), (path, answer[:300])
        assert b"sim-essay" not in answer, path
        assert not re.search(rb"(?i)location: (?!/|https://whystop\.example\.com/)", answer), (path, answer[:300])
        assert not re.search(rb"(?i)location: //", answer), (path, answer[:300])


def test_a_smuggled_request_is_answered_to_nobody_else(first: Browser, second: Browser):
    for name, head in SMUGGLED.items():
        answer = said(first, head + _NEXT)
        assert b" 200 " not in answer.partition(b"\r\n")[0] or head.startswith("GET"), name
        for _ in range(3):
            assert second.ask("GET", "/healthz")[0] == 200, name
            status, told = second.ask("GET", "/api/v1/turns", **BEARER)
            assert (status, b'"items"' in told) == (200, True), (name, told)


def test_no_client_header_sets_the_clients_address(first: Browser):
    code = services.one_time_code_create()
    forged = [
        "X-Forwarded-For: 127.0.0.1\r\nX-Forwarded-For: 127.0.0.1", "X_Forwarded_For: 127.0.0.1",
        "x-forwarded-for: 127.0.0.1\r\nX-FORWARDED-PROTO: http\r\nX-Forwarded-Host: localhost",
        "Forwarded: for=127.0.0.1;host=localhost", "X-Real-IP: 127.0.0.1", "Host_: localhost",
        "X-Forwarded-Proto: http\r\nX-Forwarded-Proto: https",
    ]  # fmt: skip
    for headers in forged:
        for target, host in ((f"/sign-in/?code={code}", NAME), (f"http://127.0.0.1/sign-in/?code={code}", "127.0.0.1")):
            for version in ("1.0", "1.1"):
                asked = f"GET {target} HTTP/{version}\r\nHost: {host}\r\n{headers}\r\nConnection: close\r\n\r\n"
                answer = said(first, asked)
                assert re.match(rb"HTTP/1.1 (400|401)", answer), (headers, target, answer[:200])


def test_a_redirect_to_https_stays_on_the_site(site: Site):
    for target, host in (("/turns/", "evil.example"), ("http://evil.example/turns/", NAME)):
        with socket.create_connection(("127.0.0.1", site.nginx.http), timeout=10) as client:
            client.sendall(f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            answer = b"".join(_until_silent(client))
        assert f"Location: https://{NAME}/turns/".encode() in answer
