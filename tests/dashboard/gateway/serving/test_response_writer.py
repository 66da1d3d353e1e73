"""Headers hold a sentence whatever is in it; large pieces go out in parts."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.gateway.serving.response_writer import MOST_AT_ONCE, JsonArrayStream, ResponseWriter, header_words
from tests.together import together

START = {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]}
EVENTS = b'data: {"n": 1}\n\n: ping\n\ndata: {"n": 2}\n\n'


@given(st.text())
def test_any_text_becomes_printable_ascii_on_one_line(words):
    told = header_words(words)
    assert all(" " <= letter <= "~" for letter in told)
    assert len(told) <= 500


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("The provider said “stop”.", 'The provider said "stop".'),
        ("max_tokens ≥ 1\u202fs", "max_tokens >= 1 s"),
        ("one\r\nx-evil: two", "one x-evil: two"),
        ("Köln", "K?ln"),
    ],
)
def test_text_that_headers_cannot_carry_is_simplified(words, told):
    assert header_words(words) == told


@pytest.mark.parametrize("size", [0, 1, MOST_AT_ONCE, MOST_AT_ONCE + 1, 3 * MOST_AT_ONCE])
def test_large_chunks_are_written_in_parts_with_nothing_in_between(size):
    data, sent, within = bytes(range(256)) * (size // 256) + b"x" * (size % 256), [], []

    async def told() -> None:
        async def send(message):
            sent.append(message)
            within.append(outgoing.within)

        outgoing = ResponseWriter(send)
        await outgoing.more(data)
        await outgoing.close()

    asyncio.run(told())
    pieces = sent[1:-1]
    assert b"".join(message["body"] for message in pieces) == data
    assert all(len(message["body"]) <= MOST_AT_ONCE and message["more_body"] for message in pieces)
    assert within == [False, *[True] * (len(pieces) - 1), False, False], "a keep-alive waits for the last part"


def test_the_start_of_a_stream_is_sent_before_more_of_it_is_available():
    written = []

    async def told() -> list[bytes]:
        async def send(message):  # as servers do: what is written in one turn of the loop goes out as one
            asyncio.get_running_loop().call_soon(written.append, message.get("body"))

        await ResponseWriter(send).more(b"first")
        return list(written)

    assert asyncio.run(told()) == [None, b"first"]


def test_a_complete_answer_in_parts_ends_with_the_last_part():
    sent = []

    async def send(message):
        sent.append(message)

    async def told() -> None:
        await ResponseWriter(send).whole(200, b"x" * (2 * MOST_AT_ONCE + 1))

    asyncio.run(told())
    assert [message["more_body"] for message in sent[1:]] == [True, True, False]
    assert sum(len(message["body"]) for message in sent[1:]) == 2 * MOST_AT_ONCE + 1


async def told(parts: Iterable[bytes]) -> bytes:
    sent: list[bytes] = []

    async def send(message: Mapping[str, Any]) -> None:
        sent.append(message.get("body", b""))

    array = JsonArrayStream(send)
    await array(START)
    for part in parts:
        await array({"type": "http.response.body", "body": part, "more_body": True})
    await array({"type": "http.response.body", "body": b""})
    return b"".join(sent)


@together
@pytest.mark.parametrize("size", range(1, len(EVENTS) + 1))
def test_events_become_elements_with_any_chunking(size: int):
    parts = [EVENTS[at : at + size] for at in range(0, len(EVENTS), size)]
    assert asyncio.run(told(parts)).replace(b"\n", b"").replace(b"\r", b"") == b'[{"n": 1},{"n": 2}]'


class Counted(bytes):
    """Bytes that count what is copied where they are put behind others."""

    copied = 0

    def __radd__(self, other: bytes) -> bytes:
        type(self).copied += len(other)
        return bytes(other) + bytes(self)


def test_an_event_of_many_chunks_is_joined_once():
    pieces = 2_000
    Counted.copied = 0
    asyncio.run(told([b"data: ", *(Counted(b"x" * 100) for _ in range(pieces)), b"\n\n"]))
    assert Counted.copied == 0
