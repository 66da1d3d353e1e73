"""Servers that say “100 Continue” before their answer, once or without end."""

import asyncio
import time

import pytest

from dashboard.live.transport import Transport, TransportError
from tests.dashboard.raw_server import raw_server

INTERIM = b"HTTP/1.1 100 Continue\r\n\r\n"


async def _given_up_or(answer: bytes, *, without_end: bool) -> bytes:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        while without_end:
            await writer.drain()
            writer.write(answer)

    async with raw_server(serve) as port, Transport() as transport:
        head, body = await transport.first_bytes(
            f"http://127.0.0.1:{port}/", headers={}, body=b"", seconds=15, most=4096
        )
    return b"%d " % head.status + body


async def test_an_answer_after_a_few_interim_responses_is_read():
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
    assert await _given_up_or(3 * INTERIM + answer, without_end=False) == b"200 ok"


async def test_endless_interim_responses_are_given_up():
    begun = time.monotonic()
    with pytest.raises(TransportError, match="interim answers without end"):
        await _given_up_or(1000 * INTERIM, without_end=True)
    assert time.monotonic() - begun < 15, "before its own time was over"
