"""A kept connection that its server closes without saying so costs no call; a fresh one that is closed is a failure."""

import asyncio
import contextlib
import random
import struct
from collections.abc import AsyncIterator
from typing import Any

import pytest

from dashboard.live.transport import Head, Transport, TransportError
from tests.dashboard.raw_server import raw_server

OK = b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok"


class Moody:
    """A server that promises to keep its connections, and closes them by chance after an answer. `fresh`: it closes
    every connection once it has the request."""

    def __init__(self, *, fresh: bool = False) -> None:
        self.chance, self.fresh = random.Random(7), fresh
        self.answered = self.taken = self.connections = 0

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        while True:
            await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(2)
            self.taken += 1
            if self.fresh:
                return
            writer.write(OK)
            await writer.drain()
            self.answered += 1
            if self.chance.random() < 0.5:
                await asyncio.sleep(self.chance.choice([0, 0, 0.001, 0.002]))
                self.reset(writer)
                return

    def reset(self, writer: asyncio.StreamWriter) -> None:
        """Now and then not closed but reset, as a server does that was stopped."""
        if self.chance.random() < 0.5:
            writer.get_extra_info("socket").setsockopt(1, 13, struct.pack("ii", 1, 0))  # SO_LINGER


@contextlib.asynccontextmanager
async def serving(server: Moody) -> AsyncIterator[str]:
    async with raw_server(server.handle) as port:
        yield f"http://127.0.0.1:{port}/x"


async def posted(transport: Transport, url: str) -> bytes:
    parts = [part async for part in transport.post(url, headers={}, body=b"{}", seconds=5.0)]
    assert isinstance(parts[0], Head)
    return b"".join(part for part in parts[1:] if isinstance(part, bytes))


async def test_three_hundred_calls_to_a_server_that_closes_kept_connections_all_succeed():
    server = Moody()
    async with serving(server) as url, Transport() as transport:
        for number in range(300):
            assert await posted(transport, url) == b"ok"
            await asyncio.sleep(0 if number % 3 else 0.0015)
    assert server.answered == server.taken == 300, "no request was answered twice, and none was lost"


async def test_a_fresh_connection_closed_with_the_request_is_a_failure_without_a_retry():
    server = Moody(fresh=True)
    async with serving(server) as url, Transport() as transport:
        with pytest.raises(TransportError, match="closed before the answer was whole"):
            await posted(transport, url)
    assert (server.taken, server.connections) == (1, 1)


async def test_parallel_calls_are_each_retried_at_most_once():
    server = Moody()
    async with serving(server) as url, Transport() as transport:
        answers = await asyncio.gather(*(posted(transport, url) for _ in range(50)))
        more = await asyncio.gather(*(posted(transport, url) for _ in range(50)))
    assert [*answers, *more] == [b"ok"] * 100


@pytest.mark.parametrize("part", [b"HTTP/1.1 2", b"HTTP/1.1 200 OK\r\nContent-Ty", b"HTTP/1.1 100 Continue\r\n\r\n"])
async def test_a_request_with_a_partial_answer_is_never_sent_again(part: bytes):
    taken = 0

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal taken
        for answer in (OK, part):
            await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(2)
            taken += 1
            writer.write(answer)
            await writer.drain()

    async with raw_server(handle) as port, Transport() as transport:
        url = f"http://127.0.0.1:{port}/x"
        assert await posted(transport, url) == b"ok"
        with pytest.raises(TransportError):
            await posted(transport, url)
    assert taken == 2


async def test_a_server_that_never_reads_a_large_request_is_given_up_as_silent(settings: Any, monkeypatch: Any):
    settings.SILENCE_SECONDS = 0.3
    monkeypatch.setattr("dashboard.live.transport.SLOWEST_UPLOAD", 1 << 30)

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    async with raw_server(handle, limit=1024) as port, Transport() as transport:
        url = f"http://127.0.0.1:{port}/x"
        with pytest.raises(TransportError, match=r"sent nothing for 0\.3 s") as caught:
            async for _ in transport.post(url, headers={}, body=b"x" * 30_000_000, seconds=None):
                pass
        assert caught.value.timed_out
