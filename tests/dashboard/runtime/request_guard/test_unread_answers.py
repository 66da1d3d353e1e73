"""What all clients together have not read is bounded: who leaves much of it unread for longest is dropped."""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.dashboard.website import until

from .conftest import LARGE, PATIENCE, QUICK, Server, begun, served
from .test_websocket_guard import opened

#: Room for two answers that nobody reads.
BOUNDS = replace(QUICK, head_seconds=60, stalled_seconds=60, unread_bytes=45_000_000)
ASKED = b"GET /large HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"


@pytest.fixture
def full() -> Iterator[Server]:
    with served(BOUNDS) as server:
        yield server


def test_answers_that_nobody_reads_are_kept_within_the_bound_and_a_reader_gets_all(full: Server):
    begun.clear()
    with contextlib.ExitStack() as clients:
        for number in range(1, 7):
            clients.enter_context(full.dial(ASKED, receives=4096))
            until(lambda number=number: len(begun) == number, PATIENCE)
        until(lambda: len(full.census) <= 2, PATIENCE)
        assert len(full.told(ASKED)) > len(LARGE)


def test_messages_of_sockets_that_nobody_reads_are_too(full: Server):
    frame = b"\x81\x84\x00\x00\x00\x00much"
    with contextlib.ExitStack() as clients:
        for _ in range(6):
            client = clients.enter_context(opened(full))
            with contextlib.suppress(ConnectionError):
                client.sendall(frame)
            time.sleep(0.1)
        until(lambda: len(full.census) <= 2, PATIENCE)
        assert len(full.told(ASKED)) > len(LARGE)
