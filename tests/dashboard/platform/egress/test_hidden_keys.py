"""A server that sends the key back gives it to nobody: neither in its answer nor in a header, however it is cut."""

import asyncio
import random

import pytest

from dashboard.live.transport import Head, Transport
from dashboard.platform.egress.hidden_keys import KeyHider, keys_in
from tests.dashboard.raw_server import raw_server

KEY = "sk-sesame-sk-secret"


def test_headers_that_hold_keys() -> None:
    headers = {
        "Authorization": f"Bearer {KEY}",
        "x-api-key": "another-key",
        "X-Other": "not-a-key-at-all",
        "api-key": "none",
    }
    assert keys_in(headers) == (KEY, "another-key")


def test_a_key_is_hidden_wherever_the_body_is_cut() -> None:
    rolled = random.Random(31)
    body = f"a {KEY} b {KEY[:9]}{KEY}{KEY} sk-sk-s {KEY[:-1]}".encode()
    expected = body.replace(KEY.encode(), b"*" * len(KEY))
    for _ in range(500):
        hider, cuts = KeyHider([KEY]), sorted(rolled.choices(range(len(body) + 1), k=rolled.randint(0, 9)))
        pieces = [body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]
        assert b"".join([hider.piece(piece) for piece in pieces]) + hider.end() == expected


def test_nothing_is_held_back_that_begins_no_key() -> None:
    hider = KeyHider([KEY])
    assert hider.piece(b"data: {}\n\n") == b"data: {}\n\n"
    assert hider.piece(b"yes") == b"ye"
    assert hider.piece(b" and no") == b"s and no"


@pytest.mark.parametrize("header", ["Authorization", "x-api-key"])
async def test_an_answer_that_repeats_the_key_is_given_on_without_it(header: str) -> None:
    async def repeat(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        said = f"Incorrect API key: {KEY}".encode()
        head = f"HTTP/1.1 400 x\r\nx-request-id: {KEY}\r\nContent-Length: {len(said)}\r\n\r\n".encode()
        writer.write(head + said[:25])
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.write(said[25:])
        await writer.drain()

    async with raw_server(repeat) as port, Transport() as transport:
        headers = {header: f"Bearer {KEY}" if header == "Authorization" else KEY}
        asked = transport.post(f"http://127.0.0.1:{port}/", headers=headers, body=b"{}", seconds=5)
        parts = [part async for part in asked]
    assert isinstance(parts[0], Head)
    assert parts[0].headers["x-request-id"] == "*" * len(KEY)
    assert b"".join(part for part in parts if isinstance(part, bytes)) == b"Incorrect API key: " + b"*" * len(KEY)
