"""What a client may do to one connection: send slowly, send too much, read nothing. Each ends in time, answered."""

import contextlib
import gc
import json
import socket
import time
from dataclasses import replace

import pytest

from dashboard.runtime.request_guard.protocol import GuardedProtocol
from dashboard.runtime.request_guard.resource_limits import HEAD_BYTES, HEAD_FIELDS, PIPELINED
from tests.dashboard.website import until
from tests.together import together

from .conftest import LARGE, PATIENCE, QUICK, Server, begun, left, rest, served

GET = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nhost: x\r\n"
LAST = b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
CHUNKED = b"transfer-encoding: chunked\r\n\r\n"


def head_of(size: int) -> bytes:
    """A request whose head has so many bytes, as they are counted."""
    line, host = b"GET / HTTP/1.1\r\n", b"host: x\r\nconnection: close\r\n"
    room = size - len(b"/") - len(host) - len(b"x-a: \r\n")
    return line + host + b"x-a: " + b"a" * room + b"\r\n\r\n"


def test_a_request_is_answered_and_the_connection_kept(quick: Server):
    with quick.dial(GET) as client:
        assert client.recv(1000).startswith(b"HTTP/1.1 200 OK\r\n")
        client.sendall(POST + b"content-length: 5\r\n\r\nhello")
        assert client.recv(1000).endswith(b"hello\r\n0\r\n\r\n")


def test_pipelined_requests_are_answered_in_order(quick: Server):
    said = quick.told(*[GET * 3 + POST + b"content-length: 5\r\n\r\nhello" + LAST])
    assert said.count(b"HTTP/1.1 200 OK") == 5
    assert b"RESET" not in said


def test_endless_pipelined_requests_end_the_connection(patient: Server):
    with patient.dial(b"GET /slow HTTP/1.1\r\nhost: x\r\n\r\n") as client:
        sent = 0
        began = time.monotonic()
        with contextlib.suppress(ConnectionError):
            while time.monotonic() - began < PATIENCE and sent < 30_000_000:
                sent += client.send(GET * 1_000)
        said = rest(client)
    assert said.count(b"HTTP/1.1 200") <= 2 * PIPELINED


def test_nothing_is_started_or_logged_for_a_connection_that_pipelines_too_much(
    patient: Server, caplog: pytest.LogCaptureFixture
):
    said = patient.told(b"GET /first HTTP/1.1\r\nhost: x\r\n\r\n" + GET * 60)
    assert said.startswith(b"HTTP/1.1 429 ")
    assert said.count(b"HTTP/1.1") == 1
    assert patient.told(LAST).startswith(b"HTTP/1.1 200 ")  # by now the first would have begun
    assert "/first" not in begun
    assert not caplog.records


def streaming(client: socket.socket) -> None:
    """Wait until an answer has begun, of which there will be more."""
    said = b""
    while b"begun" not in said:
        said += client.recv(1000)


def test_an_answer_already_started_is_not_interrupted_by_the_refusal(patient: Server):
    with patient.dial(b"GET /stream HTTP/1.1\r\nhost: x\r\n\r\n") as client:
        streaming(client)
        client.sendall(GET * 60)
        assert b"429" not in rest(client)


def test_a_stream_is_told_of_a_disconnect_despite_pipelined_requests(patient: Server):
    left.clear()
    with patient.dial(b"GET /stream HTTP/1.1\r\nhost: x\r\n\r\n" + GET) as client:
        streaming(client)
    until(lambda: "/stream" in left, PATIENCE)


@pytest.mark.parametrize(
    "half",
    [
        b"",
        b"GE",
        b"GET / HTTP/1.1\r\n",
        b"GET / HTTP/1.1\r\nx-a: b",
        b"\r\n\r\n",
        GET + b"GET / HTTP/1.1\r\nx-a",
    ],
)
def test_an_incomplete_head_is_waited_for_briefly(quick: Server, half: bytes):
    said = quick.told(half)
    assert b"RESET" not in said
    assert (b"408 Request Timeout" in said) == bool(half)


def test_a_head_sent_byte_by_byte_gets_no_longer_wait(quick: Server):
    with quick.dial(b"GET / HTTP/1.1\r\nx-a: ") as client:
        client.settimeout(0.1)
        began, said = time.monotonic(), b""
        while b"408 Request Timeout" not in said:
            assert time.monotonic() - began < PATIENCE
            try:
                client.sendall(b"a")
                said += client.recv(4096)
            except TimeoutError:
                pass


@pytest.mark.parametrize("crumb", [b"\r\n", b"G"])
def test_an_idle_connection_with_stray_bytes_is_closed_on_time(quick: Server, crumb: bytes):
    with quick.dial(GET) as client:
        client.recv(1000)
        began = time.monotonic()
        client.settimeout(0.1)
        while True:
            assert time.monotonic() - began < PATIENCE
            try:
                client.sendall(crumb)
                if not client.recv(1000):
                    break
            except TimeoutError:
                pass
            except ConnectionError:
                break


@pytest.mark.parametrize(
    ("begun", "crumb"),
    [
        (b"content-length: 1000000\r\n\r\n", b"a"),
        (CHUNKED, b"1\r\na\r\n"),
        (CHUNKED + b"1;", b"extension"),
        (CHUNKED + b"0\r\n", b"a: b\r\n"),
    ],
)
def test_a_body_that_trickles_in_is_given_up(quick: Server, begun: bytes, crumb: bytes):
    with quick.dial(POST + begun) as client:
        client.settimeout(0.1)
        began, said = time.monotonic(), b""
        while b"408 Request Timeout" not in said:
            assert time.monotonic() - began < PATIENCE
            try:
                client.sendall(crumb)
                said += client.recv(4096)
            except TimeoutError:
                pass
    assert b"too slowly" in said


def test_a_body_above_the_minimum_rate_may_take_its_time(quick: Server):
    pieces = 12
    with quick.dial(POST + b"connection: close\r\ncontent-length: %d\r\n\r\n" % (10_000 * pieces)) as client:
        for _ in range(pieces):
            client.sendall(b"x" * 10_000)
            time.sleep(0.1)
        said = rest(client)
    assert said.count(b"xx") == 5_000 * pieces  # it comes in several chunks


@pytest.mark.parametrize("size", [HEAD_BYTES - 1, HEAD_BYTES])
def test_a_head_of_the_maximum_size_is_read(quick: Server, size: int):
    assert quick.told(head_of(size)).startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize("size", [HEAD_BYTES + 1, 2 * HEAD_BYTES, 1_000_000])
def test_a_longer_head_is_refused_while_it_arrives(patient: Server, size: int):
    said = patient.told(head_of(size))
    assert said.startswith(b"HTTP/1.1 431 ")
    assert b"16,384 bytes" in said
    assert b"RESET" not in said


@pytest.mark.parametrize(
    ("begins", "goes_on"),
    [
        (b"GET / HTTP/1.1\r\nx-a: ", b"a"),
        (b"GET / HTTP/1.1\r\n", b"a%d: b\r\n"),
        (b"GET /", b"a"),
        (b"", b"\r\n"),
        (GET + b"GET / HTTP/1.1\r\nx-a: ", b"a"),
        (POST + CHUNKED + b"0\r\n", b"a%d: b\r\n"),
    ],
    ids=["a value", "many", "an address", "line ends", "a second request", "trailers"],
)
def test_a_flood_of_header_fields_is_refused_early(patient: Server, begins: bytes, goes_on: bytes):
    flood = b"".join(goes_on % n for n in range(300_000)) if b"%" in goes_on else goes_on * (5_000_000 // len(goes_on))
    said = patient.told(begins + flood)
    assert b"HTTP/1.1 431 " in said
    assert b"RESET" not in said


def test_an_endless_chunk_extension_is_refused_early(patient: Server):
    said = patient.told(POST + CHUNKED + b"5;" + b"x" * 5_000_000)
    assert said.startswith(b"HTTP/1.1 400 ")


def test_a_body_of_mostly_chunk_extensions_is_refused_early(patient: Server):
    said = patient.told(POST + CHUNKED + (b"1;" + b"x" * 8_000 + b"\r\nx\r\n") * 1_000 + b"0\r\n\r\n")
    assert said.startswith(b"HTTP/1.1 400 ")


def test_a_body_in_small_chunks_with_extensions_is_read(patient: Server):
    said = patient.told(POST + b"connection: close\r\n" + CHUNKED + b"1;a=b\r\nx\r\n" * 10_000 + b"0\r\n\r\n")
    assert b"x" * 10_000 in said


@pytest.mark.parametrize(("more", "status"), [(0, b"200"), (1, b"431")])
def test_the_number_of_header_fields_is_limited(quick: Server, more: int, status: bytes):
    said = quick.told(b"GET / HTTP/1.1\r\nconnection: close\r\n" + b"a: b\r\n" * (HEAD_FIELDS - 1 + more) + b"\r\n")
    assert said[9:12] == status


@pytest.mark.parametrize("begun", [b"GET / HTTP/1.1\r\nx-a: ", POST + b"content-length: 12000000000\r\n\r\n"])
def test_data_sent_after_the_answer_is_not_read_at_full_speed(begun: bytes):
    path = begun.replace(b" / ", b" /deaf ")
    with served(replace(QUICK, dropped_bytes=1_000_000)) as server, server.dial(path) as client:
        sent, block = 0, b"x" * 1_000_000
        with contextlib.suppress(ConnectionError):
            while sent < 100_000_000:
                sent += client.send(block)
    assert sent < 30_000_000  # what the kernel keeps for both


def kept_fields() -> int:
    """Header fields that connections still hold, those included that have ended and wait for a collection."""
    held = (one for one in gc.get_objects() if issubclass(type(one), GuardedProtocol))
    return sum(len(one.headers) for one in held if hasattr(one, "headers"))


def test_a_refused_or_ended_connection_keeps_no_part_of_a_head(patient: Server):
    gc.disable()
    try:
        before = kept_fields()
        with patient.dial(b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 3_000) as client:
            assert b" 431 " in client.recv(1000)
            assert kept_fields() == before
        assert patient.told(LAST).startswith(b"HTTP/1.1 200")
        until(lambda: kept_fields() == before, PATIENCE)
    finally:
        gc.enable()


@pytest.mark.parametrize(("path", "form"), [("/api/v1/turns", "detail"), ("/v1/chat/completions", "error")])
def test_a_program_is_refused_in_its_own_format(patient: Server, path: str, form: str):
    said = patient.told(b"GET %s?a=b HTTP/1.1\r\nx-a: %s\r\n\r\n" % (path.encode(), b"a" * HEAD_BYTES))
    head, _, body = said.partition(b"\r\n\r\n")
    assert b"json" in head
    assert "Send fewer" in str(json.loads(body)[form])


def test_trailer_fields_are_not_part_of_the_request(quick: Server):
    trailer = b"5\r\nhello\r\n0\r\nauthorization: Bearer x\r\n\r\n"
    said = quick.told(b"POST /echo HTTP/1.1\r\n" + CHUNKED[:-2] + b"connection: close\r\nx-seen: yes\r\n\r\n" + trailer)
    assert said.endswith(b"hello")
    assert b"x-seen: yes" in said
    assert b"authorization" not in said


def test_an_answer_sent_before_the_body_is_still_received(patient: Server):
    begun = b"POST /deaf HTTP/1.1\r\nhost: x\r\ncontent-length: 12000000000\r\n\r\n"
    said = patient.told(begun, b"x" * 3_000_000)
    assert said.startswith(b"HTTP/1.1 200 OK")
    assert said.endswith(b"none\r\n0\r\n\r\n")


@pytest.mark.parametrize(
    "half", [b"content-length: 9000\r\n\r\n" + b"x" * 8000, CHUNKED + b"2328\r\n" + b"x" * 8000], ids=["", "chunked"]
)
def test_an_incomplete_small_body_starts_nothing(quick: Server, half: bytes):
    begun.clear()
    assert quick.told(b"POST /half HTTP/1.1\r\nhost: x\r\n" + half).startswith(b"HTTP/1.1 408 ")
    assert begun == []


def test_a_small_body_starts_once_complete_or_requested(patient: Server):
    asks = b"POST / HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 4\r\n\r\n"
    for head, first in ((asks, b"HTTP/1.1 100 "), (asks.replace(b"expect", b"x-other"), b"HTTP/1.1 200 ")):
        with patient.dial(head) as client:
            if b"100" in first:
                assert client.recv(1000).startswith(first)
            client.sendall(b"wh")
            client.sendall(b"ol")
            assert b"whol" in client.recv(1000)


@pytest.mark.parametrize("length", [b"content-length: 40000\r\n\r\n", CHUNKED + b"a000\r\n" + b"x" * 40_000])
def test_an_answer_before_the_complete_body_announces_the_end_of_the_connection(patient: Server, length: bytes):
    head, _, _ = patient.told(b"POST /deaf HTTP/1.1\r\nhost: x\r\n" + length).partition(b"\r\n\r\n")
    assert b"\r\nconnection: close" in head


@pytest.mark.parametrize("path", [b"/deaf", b"/"])
def test_an_answer_to_a_complete_body_keeps_the_connection(patient: Server, path: bytes):
    with patient.dial(b"POST %b HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nhello" % path) as client:
        assert b"connection" not in client.recv(1000)


def test_a_client_that_keeps_sending_is_not_read_forever(patient: Server):
    sent = 0
    with patient.dial(b"POST /deaf HTTP/1.1\r\nhost: x\r\ncontent-length: 12000000000\r\n\r\n") as client:
        began = time.monotonic()
        with contextlib.suppress(ConnectionError):
            while time.monotonic() - began < PATIENCE:
                sent += client.send(b"x" * 10_000)
                time.sleep(0.01)
        assert time.monotonic() - began < PATIENCE
    assert sent < 12_000_000_000


@pytest.mark.parametrize("more", [b"", b"connection: close\r\n"])
def test_a_client_that_reads_nothing_is_dropped(quick: Server, more: bytes):
    with quick.dial(b"GET /large HTTP/1.1\r\nhost: x\r\n" + more + b"\r\n", receives=4096) as client:
        time.sleep(0.2)
        assert len(quick.census) == 1
        began = time.monotonic()
        while len(quick.census):
            assert time.monotonic() - began < PATIENCE
            time.sleep(0.05)
        assert len(rest(client)) < len(LARGE)


def test_a_slow_reader_gets_the_whole_answer(patient: Server):
    with patient.dial(b"GET /large HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", receives=65536) as client:
        time.sleep(1)
        assert len(rest(client)) > len(LARGE)


def test_garbage_during_an_answer_ends_the_connection_without_a_reply_inside_it(quick: Server):
    with quick.dial(b"GET /slow HTTP/1.1\r\nhost: x\r\n\r\n", b"\x00garbage") as client:
        assert rest(client).count(b"HTTP/1.1") <= 1


@together
@pytest.mark.parametrize("target", [b"*", b"http://", b"\xff", b"//[", b"/%", b"/%ff", b"/%00", b"?", b"a:b"])
@pytest.mark.parametrize("method", [b"GET", b"OPTIONS", b"CONNECT", b"PROPFIND"])
def test_an_unusual_request_line_is_answered_or_refused(quick: Server, method: bytes, target: bytes):
    said = quick.told(b"%s %s HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n" % (method, target))
    assert said[9:12] in (b"200", b"400")


@pytest.mark.parametrize("upgrade", [b"h2c", b"foo", b"websocket, foo"])
def test_an_upgrade_to_an_unsupported_protocol_holds_nothing(quick: Server, upgrade: bytes):
    said = quick.told(
        b"POST / HTTP/1.1\r\nhost: x\r\nconnection: upgrade, close\r\nupgrade: %s\r\ncontent-length: 5\r\n\r\nhello"
        % upgrade
    )
    assert said.startswith(b"HTTP/1.1 ")


@pytest.mark.parametrize(
    "sent",
    [
        b"BREW / HTTP/1.1\r\nhost: x\r\n\r\n",
        b"\x16\x03\x01\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\n"
        b"sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        head_of(HEAD_BYTES * 2),
    ],
    ids=["no method", "no HTTP", "websocket of a stranger", "long head"],
)
def test_a_refusal_before_any_application_leaves_nothing_behind(quick: Server, sent: bytes):
    said = quick.told(sent)
    assert said.startswith(b"HTTP/1.1 4"), said[:100]
    assert b"\r\ncache-control: private, no-store\r\n" in said
