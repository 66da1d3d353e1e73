"""Answers that are sent compressed: a few bytes on the wire unpack to no more than is allowed."""

import asyncio
import contextlib
import gzip
import zlib

import pytest

from dashboard.live import transport as transport_module
from dashboard.live.transport import MAX_RATIO, MAX_UNPACKED_BYTES, Transport, TransportError
from tests.dashboard.live.test_transport import Answer, posted, serving
from tests.nightly import nightly

pytestmark = pytest.mark.usefixtures("no_proxy")

MIB = 2**20


@pytest.fixture
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport_module, "proxy_for", lambda _url: None)


def bomb(mebibytes: int, *, coding: str) -> bytes:
    """As many MiB, in a thousandth of their bytes."""
    packer = zlib.compressobj(9, zlib.DEFLATED, {"gzip": 31, "deflate": 15}[coding])
    return b"".join([*(packer.compress(b"a" * MIB) for _ in range(mebibytes)), packer.flush()])


def sends(body: bytes, *, coding: str = "gzip", chunked: bool = False) -> Answer:
    length = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: %d" % len(body)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: " + coding.encode() + b"\r\n" + length + b"\r\n\r\n"
    whole = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if chunked else body

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(head + whole)
        await writer.drain()

    return answer


@pytest.mark.parametrize(
    ("coding", "chunked"), [("gzip", False), ("deflate", True), nightly("gzip", True), nightly("deflate", False)]
)
async def test_a_decompression_bomb_is_given_up(coding: str, chunked: bool):
    body = bomb(200, coding=coding)
    assert len(body) < MIB / 2
    async with serving(sends(body, coding=coding, chunked=chunked)) as server, Transport() as transport:
        with pytest.raises(
            TransportError, match="compressed, and larger than 512 KiB when it is decompressed"
        ) as given:
            await posted(transport, f"http://127.0.0.1:{server.port}/x")
    assert given.value.too_large


async def test_no_more_than_the_limit_is_passed_on():
    received = 0
    async with serving(sends(bomb(200, coding="gzip"))) as server, Transport() as transport:
        with contextlib.suppress(TransportError):
            async for part in transport.post(f"http://127.0.0.1:{server.port}/x", headers={}, body=b"", seconds=5):
                received += len(part) if isinstance(part, bytes) else 0
    assert MAX_UNPACKED_BYTES / 2 < received <= MAX_UNPACKED_BYTES


async def test_an_ordinary_compressed_answer_is_read(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(transport_module, "MAX_UNPACKED_BYTES", 10_000)
    text = b"".join(b"%d " % (number * 7919 % 100_003) for number in range(5_000))
    packed = gzip.compress(text)
    assert 10_000 < len(text) < MAX_RATIO * len(packed), "large, and not packed by much"
    async with serving(sends(packed)) as server, Transport() as transport:
        assert await posted(transport, f"http://127.0.0.1:{server.port}/x") == (200, text)
