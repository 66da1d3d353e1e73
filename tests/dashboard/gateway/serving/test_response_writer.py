"""Headers hold a sentence whatever is in it; large pieces go out in parts."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.gateway.serving.response_writer import MOST_AT_ONCE, ResponseWriter, header_words


@given(st.text())
def test_any_sentence_is_printable_ascii_on_one_line(words):
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
def test_what_headers_cannot_say_is_said_plainly(words, told):
    assert header_words(words) == told


@pytest.mark.parametrize("size", [0, 1, MOST_AT_ONCE, MOST_AT_ONCE + 1, 3 * MOST_AT_ONCE])
def test_large_pieces_go_out_in_parts_and_nothing_stands_between_them(size):
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


def test_the_first_of_a_stream_is_on_its_way_before_more_of_it_is_said():
    written = []

    async def told() -> list[bytes]:
        async def send(message):  # as servers do: what is written in one turn of the loop goes out as one
            asyncio.get_running_loop().call_soon(written.append, message.get("body"))

        await ResponseWriter(send).more(b"first")
        return list(written)

    assert asyncio.run(told()) == [None, b"first"]


def test_a_whole_answer_in_parts_ends_with_the_last():
    sent = []

    async def send(message):
        sent.append(message)

    async def told() -> None:
        await ResponseWriter(send).whole(200, b"x" * (2 * MOST_AT_ONCE + 1))

    asyncio.run(told())
    assert [message["more_body"] for message in sent[1:]] == [True, True, False]
    assert sum(len(message["body"]) for message in sent[1:]) == 2 * MOST_AT_ONCE + 1
