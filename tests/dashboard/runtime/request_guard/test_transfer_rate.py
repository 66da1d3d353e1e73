"""A client is dropped for being slow only after it was watched for as long as the bounds say."""

import socket
from dataclasses import replace

from dashboard.runtime.request_guard.resource_limits import ResourceLimits
from dashboard.runtime.request_guard.transfer_rate import Reader
from tests.dashboard.runtime.request_guard.conftest import QUICK, served
from tests.dashboard.website import until

BOUNDS = ResourceLimits(stalled_seconds=30.0, stalled_bytes=100)
HELLO = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"


def test_data_unread_at_the_first_check_does_not_mark_a_client_as_stalled():
    reader = Reader(BOUNDS)
    assert not reader.is_deaf(1_000.0, 500)
    assert not reader.is_deaf(1_030.0, 500)
    assert reader.is_deaf(1_030.1, 500)


def test_a_client_that_has_read_everything_is_measured_anew():
    reader = Reader(BOUNDS)
    reader.begin(1_000.0, 500)
    assert not reader.is_deaf(1_020.0, 0)
    assert not reader.is_deaf(1_040.0, 500)
    reader.end()
    assert not reader.is_deaf(1_080.0, 500)


def test_a_client_that_reads_fast_enough_may_continue():
    reader = Reader(BOUNDS)
    reader.begin(1_000.0, 500)
    assert not reader.is_deaf(1_029.0, 400)
    assert not reader.is_deaf(1_058.0, 301)
    assert reader.is_deaf(1_059.1, 301)


def test_an_answer_about_to_be_sent_at_the_check_is_sent():
    """The server looks in each turn of its loop: so it looks between the writing and the sending of every answer."""
    with served(replace(QUICK, sweep_seconds=0.0, head_seconds=60.0)) as server:
        with server.dial() as client:
            for _ in range(300):
                client.sendall(HELLO)
                assert answer(client).endswith(LAST_CHUNK), "the connection was closed before the answer was whole"
        until(lambda: len(server.census) == 0)


def answer(client: socket.socket) -> bytes:
    said = b""
    while not said.endswith(LAST_CHUNK) and (piece := client.recv(65536)):
        said += piece
    return said
