"""What `manage.py up` serves to whoever asks, all asked of one that runs."""

import http.client
import re
import socket
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests import first_start

from .conftest import PATIENCE, Up, data_folder, get

TOKEN = "a-token-of-24-characters-or-more"


@pytest.fixture(scope="module")
def started(started_once: Callable[[Path], None]) -> Iterator[tuple[Up, str]]:
    """One that runs, and its line. Whatever it was asked: its end is clean, and it has complained of nothing."""
    with data_folder() as store:
        started_once(store)
        up = Up({**first_start.environment(store), "WHYSTOP_BOOTSTRAP_TOKEN": TOKEN})
        try:
            yield up, up.line()
            assert up.stop() == (0, "", "")
        finally:
            if up.process.poll() is None:
                up.kill()


@pytest.fixture
def address(started: tuple[Up, str]) -> str:
    return re.search(r"http://127\.0\.0\.1:\d+", started[1])[0]


def test_up_prints_one_line_with_a_link_that_signs_in_once(started: tuple[Up, str]):
    _, line = started
    link = line.split()[-1]
    assert link.startswith("http://127.0.0.1:")
    assert (status_of(link), status_of(link)) == (302, 401)


def status_of(link: str) -> int:
    """Of the first answer: a redirect is not followed."""
    parts = urlsplit(link)
    connection = http.client.HTTPConnection(parts.netloc, timeout=PATIENCE)
    try:
        connection.request("GET", f"{parts.path}?{parts.query}")
        return connection.getresponse().status
    finally:
        connection.close()


def test_only_static_files_are_served_with_their_cache_lifetimes(address: str):
    with urllib.request.urlopen(f"{address}/static/vendor/htmx-2.0.11.min.js") as vendored:
        assert "immutable" in vendored.headers["Cache-Control"]
    with urllib.request.urlopen(f"{address}/static/admin/css/base.css") as ours:
        assert ours.headers["Cache-Control"] == "no-cache"
    with urllib.request.urlopen(f"{address}/sign-in/") as page:
        own = re.search(r"/static/\w+/css/page\.css", page.read().decode())
    assert own, "the page links to a style sheet"
    asked = urllib.request.Request(address + own[0], headers={"Accept-Encoding": "gzip"})
    with urllib.request.urlopen(asked) as released:
        assert "immutable" in released.headers["Cache-Control"]
        assert released.headers["Content-Encoding"] == "gzip"
    assert get(f"{address}/static/../manage.py")[0] == 404
    assert get(f"{address}/static/%2e%2e/manage.py")[0] == 404


def test_pages_have_a_strict_content_security_policy(address: str):
    with urllib.request.urlopen(f"{address}/sign-in/") as page:
        policy = page.headers["Content-Security-Policy"]
        assert page.headers["X-Content-Type-Options"] == "nosniff"
        assert page.headers["X-Frame-Options"] == "DENY"
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy


def test_an_unknown_websocket_is_refused_without_an_error(address: str):
    port = int(address.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(
            b"GET /ws/nowhere/ HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        )
        assert client.recv(100).split()[1] in {b"401", b"403"}


def test_the_bootstrap_token_opens_the_api(address: str):
    assert get(f"{address}/api/v1/agents", Authorization="Bearer wrong")[0] == 401
    status, body = get(f"{address}/api/v1/agents", Authorization=f"Bearer {TOKEN}")
    assert (status, "sim-essay" in body) == (200, True)
