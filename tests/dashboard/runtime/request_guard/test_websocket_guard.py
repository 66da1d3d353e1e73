"""Websockets are counted like other connections, odd handshakes are answered, and who does not read is dropped."""

import contextlib
import socket
import time
from dataclasses import replace

import pytest
from django.conf import settings
from websockets.sync.client import connect

from dashboard.platform.trusted_proxies import Proxies
from dashboard.runtime.request_guard.resource_limits import ResourceLimits
from dashboard.runtime.request_guard.websocket_guard import TRY_LATER
from tests.dashboard.website import until

from .conftest import QUICK, Server, rest, served

HANDSHAKE = (
    b"GET %s HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
    b"sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\nauthorization: Bearer x\r\n%s\r\n"
)
ASKED = HANDSHAKE % (b"/", b"")
BEARER = {"Authorization": "Bearer x"}
PLAIN = b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
#: A second handshake waits for minutes.
BUSY = replace(QUICK, head_seconds=60, stalled_seconds=60, handshake_share=0.000_01)
MANY = b"".join(b"a%d: b\r\n" % n for n in range(200))


def test_a_socket_counts_once_while_it_is_open(quick: Server):
    with connect(f"ws://127.0.0.1:{quick.port}/", additional_headers=BEARER) as client:
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
def test_every_unusual_handshake_is_answered(quick: Server, address: bytes, fields: bytes):
    with quick.dial(HANDSHAKE % (address, fields)) as client:
        client.settimeout(20)
        assert client.recv(4096)[9:12] in (b"101", b"400")


@pytest.mark.parametrize("field", ["sec-websocket-key", "sec-websocket-version"])
def test_an_incomplete_handshake_is_answered(quick: Server, field: str):
    lines = (HANDSHAKE % (b"/", b"")).split(b"\r\n")
    said = quick.told(b"\r\n".join(line for line in lines if not line.startswith(field.encode())))
    assert said[9:12] in (b"400", b"426")


def test_a_watcher_that_does_not_read_is_dropped(quick: Server):
    frame = b"\x81\x84\x00\x00\x00\x00much"
    with quick.dial(ASKED, receives=4096) as client:
        assert client.recv(129)
        client.sendall(frame)
        until(lambda: len(quick.census) == 0, 20)


def test_a_call_is_answered_before_earlier_handshakes():
    """All come in one turn of the loop: that is what held up the gateway's callers."""
    with served(BUSY) as server, opened(server), server.dial(ASKED) as second:
        assert b"none" in server.told(PLAIN)
        second.settimeout(0.2)
        with pytest.raises(TimeoutError):
            second.recv(1)


def test_a_client_that_disconnects_before_the_handshake_is_answered_is_forgotten():
    with served(BUSY) as server, opened(server):
        held = [server.dial(ASKED) for _ in range(5)]
        until(lambda: len(server.census.handshakes) == 5, 20)
        for client in held:
            client.close()
        until(lambda: len(server.census.handshakes) == 0, 20)
        assert len(server.census) == 1


def test_a_handshake_that_waits_too_long_is_refused():
    with served(replace(BUSY, head_seconds=0.1)) as server, opened(server):
        said = server.told(ASKED)
        assert (said[9:12], b"retry-after: 1" in said, len(server.census.handshakes)) == (b"503", True, 0)


def test_waiting_handshakes_make_room_before_idle_connections_do():
    idle = PLAIN.replace(b"connection: close\r\n", b"")
    with served(BUSY) as server, opened(server), server.dial(idle) as calm, contextlib.ExitStack() as clients:
        assert b"none" in calm.recv(4096)
        held = [clients.enter_context(server.dial(ASKED)) for _ in range(2 * BUSY.connections)]
        until(lambda: len(server.census) == BUSY.connections)
        assert b"none" in server.told(PLAIN)
        assert rest(held[0])[9:12] == b"503"
        calm.sendall(idle)
        assert b"none" in calm.recv(4096)


def test_clients_behind_a_trusted_proxy_are_queued_separately():
    with (
        served(replace(BUSY, proxies=Proxies.read("127.0.0.1"))) as server,
        opened(server),
        contextlib.ExitStack() as clients,
    ):
        for client in (b"192.0.2.1", b"192.0.2.1", b"2001:db8::1", b"2001:db8::2"):
            clients.enter_context(server.dial(HANDSHAKE % (b"/", b"x-forwarded-for: %s\r\n" % client)))
        until(lambda: len(server.census.handshakes) == 4)
        waiting = server.census.handshakes._waiting
        assert {who: len(theirs) for who, theirs in waiting.items()} == {"192.0.2.1": 2, "2001:db8::": 2}


@pytest.mark.parametrize("shown", [b"", b"cookie: theme=dark\r\n", b"authorization: Basic eDp5\r\n"])
def test_a_client_without_credentials_is_refused_without_waiting(shown: bytes):
    with served(BUSY) as server, opened(server):
        said = server.told(ASKED.replace(b"authorization: Bearer x\r\n", shown))
        assert (said[9:12], b"www-authenticate: Bearer" in said) == (b"401", True)


def test_a_session_is_a_credential(quick: Server):
    session = b"cookie: %s=x\r\n" % settings.SESSION_COOKIE_NAME.encode()
    with quick.dial(ASKED.replace(b"authorization: Bearer x\r\n", session)) as client:
        assert client.recv(4096)[9:12] == b"101"


def framed(head: int, said: bytes = b"") -> bytes:
    return bytes([head, 0x80 | len(said)]) + bytes(4) + said


PING, TEXT, PIECE = framed(0x89, b"ping"), framed(0x81, b"text"), framed(0x00)
PIECES = framed(0x01) + PIECE * 1_000 + framed(0x80)


def opened(server: Server) -> socket.socket:
    client = server.dial(ASKED)
    assert client.recv(4096)[9:12] == b"101"
    return client


@pytest.mark.parametrize("frame", [PING, TEXT, PIECES], ids=["ping", "text", "pieces"])
def test_a_flooding_socket_is_paused(frame: bytes):
    with served(replace(QUICK, stalled_seconds=60, frame_share=0.000_01)) as server, opened(server) as client:
        client.sendall(frame * (30_000 // len(frame)))
        until(lambda: server.census.frames._resting == 1)
        assert b"none" in server.told(PLAIN)
        client.settimeout(0.2)
        answers = b""
        with contextlib.suppress(TimeoutError):  # they come in as many parts as the machine is busy
            while piece := client.recv(65_536):
                answers += piece
            pytest.fail("The socket was closed.")
        assert len(answers) < 10_000


NARROW: ResourceLimits = replace(QUICK, stalled_seconds=60, frame_share=1.0, frame_bytes=100_000)


def test_an_endless_fragmented_message_is_closed_with_a_reason():
    with served(NARROW) as server, opened(server) as client:
        client.sendall(framed(0x01) + PIECE * 5_000)
        assert TRY_LATER.to_bytes(2) in rest(client)


def test_an_incomplete_frame_is_closed_when_the_total_is_exceeded_and_others_continue():
    claimed = b"\x81\xff" + (3_000_000).to_bytes(8) + bytes(4)
    with served(NARROW) as server, opened(server) as small, opened(server) as large, opened(server) as calm:
        small.sendall(claimed + b"a" * 40_000)
        large.sendall(claimed + b"a" * 80_000)
        assert TRY_LATER.to_bytes(2) in rest(large)
        calm.sendall(TEXT)
        assert calm.recv(100) == b"\x81\x04text"
        small.settimeout(0.1)
        with pytest.raises(TimeoutError):
            small.recv(1)


def test_a_socket_is_paused_while_its_large_frame_is_incomplete():
    patient = replace(QUICK, stalled_seconds=60, frame_share=0.000_01)
    with served(patient) as server, opened(server) as client:
        client.settimeout(0.2)
        with contextlib.suppress(TimeoutError):  # what is not read does not fit into the kernel
            client.sendall(b"\x81\xff" + (3_900_000).to_bytes(8) + bytes(4) + b"a" * 3_800_000)
        until(lambda: server.census.frames._resting == 1)
        assert server.census.frames._total < 2_000_000


def test_messages_are_answered_in_order_however_many_arrive_at_once(quick: Server):
    with connect(f"ws://127.0.0.1:{quick.port}/", additional_headers=BEARER) as client:
        said = [str(n) for n in range(40)]
        for text in said:
            client.send(text)
        assert [client.recv(timeout=20) for _ in said] == said
