"""Answers in very small chunks, each of which takes as much time as a large one."""

import asyncio
from typing import Any

from dashboard.live import body_reader
from dashboard.live.transport import Transport
from tests.dashboard.raw_server import raw_server

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
MANY = 100_000


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(CHUNKED + b"1\r\na\r\n" * MANY + b"0\r\n\r\n")


async def parts_of(port: int) -> list[bytes]:
    async with Transport() as transport:
        posted = transport.post(f"http://127.0.0.1:{port}/", headers={}, body=b"", seconds=60)
        return [part async for part in posted if isinstance(part, bytes)]


async def test_few_one_byte_chunks_are_read_at_once():
    async with raw_server(serve) as port:
        parts = await parts_of(port)
    assert sum(map(len, parts)) == MANY
    assert max(map(len, parts)) <= body_reader.FIRST_BYTES


async def test_many_chunks_leave_most_of_the_time_to_others(monkeypatch: Any):
    rests: list[float] = []
    monkeypatch.setattr(body_reader, "REST", 7)
    slept = asyncio.sleep

    async def sleep(seconds: float) -> None:
        rests.append(seconds)
        await slept(0)

    monkeypatch.setattr(body_reader.asyncio, "sleep", sleep)
    monkeypatch.setattr(body_reader.time, "thread_time", iter(range(10_000_000)).__next__)
    async with raw_server(serve) as port:
        await parts_of(port)
    told = "a read takes one second by this clock, and is followed by seven"
    assert rests.count(7) > MANY / body_reader.FIRST_BYTES / 2, told


async def test_an_answer_in_large_chunks_is_read_in_large_parts(monkeypatch: Any):
    async def serve_whole(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4000000\r\n\r\n" + b"a" * 4_000_000)

    async with raw_server(serve_whole) as port:
        parts = await parts_of(port)
    assert sum(map(len, parts)) == 4_000_000
    assert max(map(len, parts)) == body_reader.CHUNK_BYTES
