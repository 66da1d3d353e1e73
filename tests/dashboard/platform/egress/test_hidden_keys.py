"""A server that sends the key back gives it to nobody: neither in its answer nor in a header, however it is cut."""

import asyncio
import random

import pytest

from dashboard.live.transport import Head, Transport, TransportError
from dashboard.platform.egress.hidden_keys import KeyHider, keys_in, unquoted
from tests.dashboard.raw_server import raw_server

KEY = "sk-sesame-sk-secret"


def test_headers_that_hold_keys() -> None:
    headers = {
        "Authorization": f"Bearer {KEY}",
        "Proxy-Authorization": f"Basic {KEY}=",
        "x-api-key": "another key of words",
        "X-Other": "not-a-key-at-all",
        "api-key": "none",
        "x-goog-api-key": "lm-studio",
        "x-token": "not-needed",
    }
    assert keys_in(headers) == (KEY, f"{KEY}=", "another key of words")


def test_a_key_is_hidden_for_any_chunking_of_the_body() -> None:
    rolled = random.Random(31)
    body = f"a {KEY} b {KEY[:9]}{KEY}{KEY} sk-sk-s {KEY[:-1]}".encode()
    expected = body.replace(KEY.encode(), b"*" * len(KEY))
    for _ in range(500):
        hider, cuts = KeyHider([KEY]), sorted(rolled.choices(range(len(body) + 1), k=rolled.randint(0, 9)))
        pieces = [body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]
        assert b"".join([hider.piece(piece) for piece in pieces]) + hider.end() == expected


def test_text_that_does_not_start_a_key_is_not_held_back() -> None:
    hider = KeyHider([KEY])
    assert hider.piece(b"data: {}\n\n") == b"data: {}\n\n"
    assert hider.piece(b"yes") == b"ye"
    assert hider.piece(b" and no") == b"s and no"


@pytest.mark.parametrize("header", ["Authorization", "x-api-key"])
async def test_an_answer_that_repeats_the_key_is_returned_without_it(header: str) -> None:
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


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Bad status line:\n  Invalid status code:\n\n  b'HTTP/1.1 key'\n   ^", "Bad status line: Invalid status code"),
        ("illegal header line: bytearray(b'key')", "illegal header line"),
        ('Illegal header value b"key"', "Illegal header value"),
        ("Bad status line 'key'", "Bad status line"),
        ("Can't receive data when peer state is ERROR", "Can't receive data when peer state is ERROR"),
        (
            "peer closed connection (received 5 bytes, expected 9)",
            "peer closed connection (received 5 bytes, expected 9)",
        ),
    ],
)
def test_a_message_is_reported_without_the_values_it_quotes(said: str, told: str) -> None:
    assert unquoted(said) == told


MALFORMED = [f"HTTP/1.1 {KEY} no", f"HTTP/1.1 200 OK\r\n{KEY}", f"HTTP/1.1 200 OK\r\nContent-Length: {KEY}"]


@pytest.mark.parametrize("head", MALFORMED)
@pytest.mark.parametrize("sent", [KEY, f"{KEY}-and-more"])
async def test_a_key_in_malformed_http_is_not_quoted_even_in_part(head: str, sent: str) -> None:
    async def repeat(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"{head}\r\n\r\n".encode())
        await writer.drain()

    async with raw_server(repeat) as port, Transport() as transport:
        asked = transport.post(f"http://127.0.0.1:{port}/", headers={"api-key": sent}, body=b"{}", seconds=5)
        with pytest.raises(TransportError, match=r"its response is not valid HTTP \(\w+") as caught:
            await anext(asked)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("closes", [True, False])
async def test_held_back_text_is_returned_when_a_call_breaks_off(closes: bool) -> None:
    async def break_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\nask {KEY[:9]}".encode())
        await writer.drain()
        await asyncio.sleep(0.1 if closes else 5)

    async with raw_server(break_off) as port, Transport() as transport:
        asked = transport.post(f"http://127.0.0.1:{port}/", headers={"api-key": KEY}, body=b"{}", seconds=1)
        parts = [await anext(asked) for _ in range(3)]
        with pytest.raises(TransportError) as caught:
            await anext(asked)
    assert parts[1:] == [b"ask ", KEY[:9].encode()]
    assert caught.value.timed_out is not closes
