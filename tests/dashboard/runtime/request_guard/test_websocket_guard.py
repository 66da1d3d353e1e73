"""Websockets are counted like other connections, odd handshakes are answered, and who does not read is dropped."""

import time

import pytest
from websockets.sync.client import connect

from tests.dashboard.website import until

from .conftest import Server

HANDSHAKE = (
    b"GET %s HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
    b"sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n%s\r\n"
)
MANY = b"".join(b"a%d: b\r\n" % n for n in range(200))


def test_a_socket_counts_once_as_long_as_it_is_open(quick: Server):
    with connect(f"ws://127.0.0.1:{quick.port}/") as client:
        time.sleep(1)  # longer than any request may take
        assert len(quick.census) == 1
        client.send("Hello")
        assert client.recv(timeout=20) == "Hello"
    until(lambda: len(quick.census) == 0, 20)


@pytest.mark.parametrize(
    ("address", "fields"),
    [(b"/\xff", b""), (b"/", MANY), (b"/", b"x-a: \xff\r\n"), (b"/", b"x-a: %s\r\n" % (b"a" * 12_000))],
    ids=["address", "many", "not ascii", "long"],
)
def test_a_handshake_is_answered_however_odd_it_is(quick: Server, address: bytes, fields: bytes):
    with quick.dial(HANDSHAKE % (address, fields)) as client:
        client.settimeout(20)
        assert client.recv(4096)[9:12] in (b"101", b"400")


@pytest.mark.parametrize("field", ["sec-websocket-key", "sec-websocket-version"])
def test_a_handshake_without_what_it_needs_is_answered(quick: Server, field: str):
    lines = (HANDSHAKE % (b"/", b"")).split(b"\r\n")
    said = quick.told(b"\r\n".join(line for line in lines if not line.startswith(field.encode())))
    assert said[9:12] in (b"400", b"426")


def test_a_watcher_that_reads_nothing_is_dropped(quick: Server):
    frame = b"\x81\x84\x00\x00\x00\x00much"
    with quick.dial(HANDSHAKE % (b"/", b""), receives=4096) as client:
        assert client.recv(129)
        client.sendall(frame)
        until(lambda: len(quick.census) == 0, 20)
