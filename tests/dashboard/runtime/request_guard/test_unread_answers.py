"""What all clients together have not read is bounded: who leaves much of it unread for longest is dropped."""

import contextlib
import logging
import socket
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from dashboard.runtime.request_guard.websocket_guard import TRY_LATER, UNREAD
from tests.dashboard.website import until

from .conftest import LARGE, PATIENCE, QUICK, Server, begun, rest, served
from .test_websocket_guard import opened

#: Room for two answers that nobody reads.
BOUNDS = replace(QUICK, head_seconds=60, stalled_seconds=60, unread_bytes=45_000_000)
ASKED = b"GET /large HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
KEPT, SHARED = ASKED.replace(b"/large", b"/kept"), ASKED.replace(b"/large", b"/kept?shared")
PIECES = ASKED.replace(b"/large", b"/pieces")
CLOSING = 8  #: the kind of a frame


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


def test_sockets_that_read_nothing_are_told_so_and_closed_and_others_get_all(full: Server):
    """Their messages go in pieces: none of what is not sent stays in memory."""
    frame = b"\x81\x84\x00\x00\x00\x00much"
    with contextlib.ExitStack() as opened_ones:
        clients = [opened_ones.enter_context(opened(full)) for _ in range(6)]
        for client in clients:
            client.sendall(frame)
            time.sleep(0.1)
        assert len(full.told(ASKED)) > len(LARGE)
        with ThreadPoolExecutor(len(clients)) as threads:
            told = list(threads.map(lambda client: told_to(client), clients))
    closed = [said for said in told if said[0] == TRY_LATER]
    assert 3 <= len(closed) <= 5
    assert {why for _, why, _ in closed} == {UNREAD}
    assert {size for code, _, size in told if code != TRY_LATER} == {len(LARGE)}


def told_to(client: socket.socket) -> tuple[int, str, int]:
    """The code and reason with which it is closed (0: not yet), and the bytes of the messages before."""
    size = 0
    with client.makefile("rb") as said:
        while size < len(LARGE):
            kind, short = said.read(1)[0] & 0x0F, said.read(1)[0]
            length = int.from_bytes(said.read({126: 2, 127: 8}[short])) if short > 125 else short
            data = said.read(length)
            if kind == CLOSING:
                return int.from_bytes(data[:2]), data[2:].decode(), size
            size += length
    return 0, "", size


def test_a_stream_gives_up_what_it_keeps_and_says_so_to_a_client_that_reads_later(full: Server):
    begun.clear()
    with contextlib.ExitStack() as opened_ones:
        clients = []
        for number in range(1, 7):
            clients.append(opened_ones.enter_context(full.dial(KEPT)))
            until(lambda number=number: len(begun) == number, PATIENCE)
        with ThreadPoolExecutor(len(clients)) as threads:
            told = list(threads.map(rest, clients))
    slow = [said for said in told if b"TOO SLOW" in said]
    assert 3 <= len(slow) <= 5
    assert all(len(said) < len(LARGE) for said in slow)
    assert all(len(said) > len(LARGE) for said in told if said not in slow)


def test_what_streams_share_counts_once(full: Server):
    begun.clear()
    with contextlib.ExitStack() as opened_ones:
        clients = [opened_ones.enter_context(full.dial(SHARED)) for _ in range(6)]
        until(lambda: len(begun) == 6, PATIENCE)
        with ThreadPoolExecutor(len(clients)) as threads:
            told = list(threads.map(rest, clients))
    assert all(len(said) > len(LARGE) for said in told)


def test_of_an_answer_all_counts_that_its_application_has_and_not_only_what_is_written(full: Server):
    """Django hands on an answer in small pieces, and has all of it until the last one is taken."""
    begun.clear()
    with contextlib.ExitStack() as clients:
        for number in range(1, 7):
            clients.enter_context(full.dial(PIECES, receives=4096))
            until(lambda number=number: len(begun) == number, PATIENCE)
        until(lambda: len(full.census) <= 2, PATIENCE)
        assert len(full.told(PIECES)) > len(LARGE)


def test_what_a_connection_has_read_counts_no_more_for_its_next_answer(full: Server):
    open_end = b"GET /stream HTTP/1.1\r\nhost: x\r\n\r\n"
    with full.dial(PIECES.replace(b"connection: close\r\n", b"") + open_end, receives=4096) as client:
        until(lambda: full.census.unread._total > len(LARGE) / 2, PATIENCE)
        said = 0
        while said < len(LARGE):
            said += len(client.recv(1_000_000))
        until(lambda: full.census.unread._total == 0, PATIENCE)


def test_a_socket_whose_message_was_read_counts_no_more(full: Server):
    with opened(full) as client:
        client.sendall(b"\x81\x84\x00\x00\x00\x00much")
        until(lambda: full.census.unread._total > len(LARGE) / 2, PATIENCE)
        assert told_to(client) == (0, "", len(LARGE))
        until(lambda: full.census.unread._total == 0, PATIENCE)


def test_a_socket_that_closes_in_the_middle_of_a_long_message_is_no_fault(
    full: Server, caplog: pytest.LogCaptureFixture
):
    with opened(full) as client:
        client.sendall(b"\x81\x84\x00\x00\x00\x00much")
        until(lambda: full.census.unread._total > len(LARGE) / 2, PATIENCE)
        client.sendall(b"\x88\x80\x00\x00\x00\x00")
        assert len(rest(client)) < len(LARGE)
    until(lambda: len(full.census) == 0, PATIENCE)
    assert [line.getMessage() for line in caplog.records if line.levelno >= logging.ERROR] == []


def test_a_socket_that_closes_already_is_told_nothing_more_where_all_have_too_much(full: Server):
    """Its application said so, and the client has still to answer."""
    with opened(full) as client:
        client.sendall(b"\x81\x83\x00\x00\x00\x00bye")
        assert client.recv(4096) == b"\x88\x02\x03\xe8"
        (member,) = full.census._members
        ended = Future[bool]()
        member.loop.call_soon_threadsafe(lambda: _abandoned(member, ended))
        assert ended.result(PATIENCE) is False
        assert rest(client) == b""


def _abandoned(member: Any, ended: "Future[bool]") -> None:
    try:
        ended.set_result(member.abandon())
    except Exception as error:
        ended.set_exception(error)
