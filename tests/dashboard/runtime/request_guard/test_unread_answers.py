"""What all clients together have not read is bounded: who leaves much of it unread for longest is dropped."""

import asyncio
import contextlib
import logging
import socket
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from dashboard.runtime.request_guard.unread_answer import UnreadAnswer
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


def test_unread_answers_are_kept_within_the_limit_and_a_reader_gets_everything(full: Server):
    begun.clear()
    with contextlib.ExitStack() as clients:
        for number in range(1, 7):
            clients.enter_context(full.dial(ASKED, receives=4096))
            until(lambda number=number: len(begun) == number, PATIENCE)
        until(lambda: len(full.census) <= 2, PATIENCE)
        assert len(full.told(ASKED)) > len(LARGE)


def test_sockets_that_do_not_read_are_told_so_and_closed_and_others_get_everything(full: Server):
    """Their messages go in pieces: none of what is not sent stays in memory."""
    frame = b"\x81\x84\x00\x00\x00\x00much"
    with contextlib.ExitStack() as opened_ones:
        clients = [opened_ones.enter_context(opened(full)) for _ in range(6)]
        for client in clients:
            client.sendall(frame)
            time.sleep(0.1)
        assert len(full.told(ASKED)) > len(LARGE)
        with ThreadPoolExecutor(len(clients)) as threads:
            told = list(threads.map(lambda client: response_to(client), clients))
    closed = [said for said in told if said[0] == TRY_LATER]
    assert 3 <= len(closed) <= 5
    assert {why for _, why, _ in closed} == {UNREAD}
    assert {size for code, _, size in told if code != TRY_LATER} == {len(LARGE)}


def response_to(client: socket.socket) -> tuple[int, str, int]:
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


def test_a_stream_drops_its_buffer_and_says_so_to_a_client_that_reads_later(full: Server):
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


def test_data_shared_by_streams_counts_once(full: Server):
    begun.clear()
    with contextlib.ExitStack() as opened_ones:
        clients = [opened_ones.enter_context(full.dial(SHARED)) for _ in range(6)]
        until(lambda: len(begun) == 6, PATIENCE)
        with ThreadPoolExecutor(len(clients)) as threads:
            told = list(threads.map(rest, clients))
    assert all(len(said) > len(LARGE) for said in told)


def test_an_answer_counts_with_everything_its_application_holds(full: Server):
    """Django hands on an answer in small pieces, and has all of it until the last one is taken."""
    begun.clear()
    with contextlib.ExitStack() as clients:
        for number in range(1, 7):
            clients.enter_context(full.dial(PIECES, receives=4096))
            until(lambda number=number: len(begun) == number, PATIENCE)
        until(lambda: len(full.census) <= 2, PATIENCE)
        assert len(full.told(PIECES)) > len(LARGE)


def test_data_already_read_does_not_count_for_the_next_answer(full: Server):
    open_end = b"GET /stream HTTP/1.1\r\nhost: x\r\n\r\n"
    with full.dial(PIECES.replace(b"connection: close\r\n", b"") + open_end, receives=4096) as client:
        until(lambda: full.census.unread._total > len(LARGE) / 2, PATIENCE)
        said = 0
        while said < len(LARGE):
            said += len(client.recv(1_000_000))
        until(lambda: full.census.unread._total == 0, PATIENCE)


def test_a_socket_whose_message_was_read_no_longer_counts(full: Server):
    with opened(full) as client:
        client.sendall(b"\x81\x84\x00\x00\x00\x00much")
        until(lambda: full.census.unread._total > len(LARGE) / 2, PATIENCE)
        assert response_to(client) == (0, "", len(LARGE))
        until(lambda: full.census.unread._total == 0, PATIENCE)


def test_a_socket_closed_during_a_long_message_is_not_an_error(full: Server, caplog: pytest.LogCaptureFixture):
    with opened(full) as client:
        client.sendall(b"\x81\x84\x00\x00\x00\x00much")
        until(lambda: full.census.unread._total > len(LARGE) / 2, PATIENCE)
        client.sendall(b"\x88\x80\x00\x00\x00\x00")
        assert len(rest(client)) < len(LARGE)
    until(lambda: len(full.census) == 0, PATIENCE)
    assert [line.getMessage() for line in caplog.records if line.levelno >= logging.ERROR] == []


def test_a_closing_socket_is_sent_nothing_more_when_the_total_is_exceeded(full: Server):
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


def test_data_buffered_by_the_system_counts_while_its_application_holds_it():
    """Answers of which the system's buffers take the greater part."""
    asked, begun[:] = PIECES.replace(b"/pieces", b"/pieces?6000000"), []
    with served(replace(BOUNDS, unread_bytes=14_000_000)) as server, contextlib.ExitStack() as clients:
        for number in range(1, 7):
            clients.enter_context(server.dial(asked))
            until(lambda number=number: len(begun) == number, PATIENCE)
        until(lambda: len(server.census) <= 2, PATIENCE)
        assert server.told(asked).endswith(LARGE[:6_000_000])


def answered(*messages: dict[str, Any]) -> tuple[list[dict[str, Any]], list[int]]:
    """What is sent of these, and how much counts in between."""
    sent, sizes = [], list[int]()

    async def application(_scope: object, _receive: object, send: Any) -> None:
        for message in messages:
            await send(message)

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)
        sizes.append(answer.size(None, 0))

    answer = UnreadAnswer(lambda: sizes.append(answer.size(None, 0)))
    asyncio.run(answer.of(application)({}, None, send))
    return sent, sizes


def test_an_answer_of_known_length_counts_from_start_to_end():
    head = {"type": "http.response.start", "status": 200, "headers": [(b"Content-Length", b"100000")]}
    parts = [{"type": "http.response.body", "body": LARGE[:50_000], "more_body": more} for more in (True, False)]
    sent, sizes = answered(head, *parts)
    assert sent == [head, *parts]
    assert sizes == [*[100_000] * 4, 0]


def test_a_long_part_of_an_answer_is_written_in_chunks_and_counts_until_the_last():
    head = {"type": "http.response.start", "status": 200, "headers": []}
    sent, sizes = answered(head, {"type": "http.response.body", "body": LARGE[:150_000]})
    assert [(len(message["body"]), message["more_body"]) for message in sent[1:]] == [
        (65_536, True),
        (65_536, True),
        (18_928, False),
    ]
    assert sizes == [0, *[150_000] * 4, 0]


def test_data_written_at_once_counts_only_as_written():
    head = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"65536")]}
    sent, sizes = answered(head, {"type": "http.response.body", "body": LARGE[:65_536]})
    assert (len(sent), sizes) == (2, [0, 0])


def test_a_slow_reader_gets_everything_even_if_only_the_system_buffer_shows_it():
    """The system takes more of an answer only when a third of its buffer is free."""
    bounds = replace(BOUNDS, stalled_seconds=3, stalled_bytes=8_192)
    asked = PIECES.replace(b"/pieces", b"/pieces?6000000")
    with served(bounds) as server, server.dial(asked, receives=4096) as client:
        enough, said = time.monotonic() + 7, b""
        while time.monotonic() < enough:
            said += client.recv(2_048)
            time.sleep(0.1)
        said += rest(client)
    assert said.endswith(LARGE[:6_000_000])
