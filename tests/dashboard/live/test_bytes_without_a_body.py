"""Servers that send bytes without end, none of which belongs to the body of their answer."""

import asyncio
import time
from typing import Any

import pytest

from dashboard.live.transport import Transport, TransportError
from tests.dashboard.raw_server import raw_server

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
#: What comes first, and what comes without end after it.
ENDLESS = {
    "the extension of a chunk": (CHUNKED + b"5;", b"a" * 65_536),
    "the extensions of many chunks": (CHUNKED, b"1;x=" + b"e" * 60_000 + b"\r\na\r\n"),
    "spaces behind a length": (CHUNKED + b"5", b" " * 65_536),
    "zeros before a length": (CHUNKED, b"0" * 65_536),
    "trailers": (CHUNKED + b"1\r\na\r\n0\r\n", b"X-T: abc\r\n" * 6_000),
    "the value of a trailer": (CHUNKED + b"1\r\na\r\n0\r\nX-T: ", b"a" * 65_536),
    "headers": (b"HTTP/1.1 200 OK\r\n", b"X-T: abc\r\n" * 6_000),
    "the value of a header": (b"HTTP/1.1 200 OK\r\nX-T: ", b"a" * 65_536),
    "empty lines before an answer": (b"", b"\r\n" * 32_768),
}


@pytest.mark.parametrize("form", ENDLESS)
async def test_a_server_that_endlessly_sends_no_body_is_given_up(form: str):
    first, more = ENDLESS[form]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(first)
        while True:
            writer.write(more)
            await writer.drain()

    begun = time.monotonic()
    async with raw_server(serve) as port, Transport() as transport:
        with pytest.raises(TransportError, match=r"more around its answer than in it|not valid HTTP"):
            await transport.first_bytes(f"http://127.0.0.1:{port}/", headers={}, body=b"", seconds=30, most=1 << 20)
    assert time.monotonic() - begun < 30, "before its own time was over"


async def test_an_answer_in_one_byte_chunks_is_complete():
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(CHUNKED)
        for _ in range(40):
            writer.write(b"00001;x=1\r\na\r\n" * 10_000)
            await writer.drain()
        writer.write(b"0\r\n\r\n")

    async with raw_server(serve) as port, Transport() as transport:
        _, body = await transport.first_bytes(
            f"http://127.0.0.1:{port}/", headers={}, body=b"", seconds=60, most=1 << 20
        )
    assert len(body) == 400_000


async def test_bytes_outside_a_body_count_as_silence(settings: Any):
    settings.SILENCE_SECONDS = 0.5

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(CHUNKED + b"1\r\na\r\n5;x=")
        while True:
            writer.write(b"a")
            await asyncio.sleep(0.05)

    begun = time.monotonic()
    async with raw_server(serve) as port, Transport() as transport:
        with pytest.raises(TransportError, match=r"sent nothing for 0\.5 s") as caught:
            await transport.first_bytes(f"http://127.0.0.1:{port}/", headers={}, body=b"", seconds=20, most=4_096)
    assert caught.value.timed_out
    assert time.monotonic() - begun < 20
