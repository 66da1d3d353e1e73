"""A body whose framing breaks in its middle ends in an error, though aiohttp itself would wait for ever."""

import asyncio

import pytest

from dashboard.live.transport import Transport, TransportError
from tests.dashboard.live.test_transport import posted, serving

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"


async def breaks(writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD)
    await writer.drain()
    await asyncio.sleep(0.05)
    writer.write(b"zz\r\n")
    await writer.drain()


async def is_slow(writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD)
    await writer.drain()
    await asyncio.sleep(1.2)
    writer.write(b"0\r\n\r\n")
    await writer.drain()


async def test_a_chunk_without_a_length_ends_the_call():
    async with serving(breaks) as server, Transport() as transport:
        with pytest.raises(TransportError, match="closed before the answer was whole"):
            await posted(transport, f"http://127.0.0.1:{server.port}/x", seconds=20)


async def test_a_slow_answer_is_waited_for():
    async with serving(is_slow) as server, Transport() as transport:
        assert await posted(transport, f"http://127.0.0.1:{server.port}/x") == (200, b"hello")
