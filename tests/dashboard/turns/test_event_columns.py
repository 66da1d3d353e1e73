"""Events come back in order and byte for byte, whatever stands in a stream."""

import struct
from random import Random

import pytest

from dashboard.turns.record_compression import by_columns, in_order
from tests.together import together

EVENT = b'data: {"id": "x", "delta": {"content": "%b"}, "finish": null}'
WORDS = [
    b"the ",
    b"of",
    b"",
    b'\\"',
    b"\\n\\n",
    "ä\U0001f642 ".encode(),
    b"\x00\xff",
    b"w" * 254,
    b"w" * 255,
    b"w" * 9_000,
]
ODD = [b"", b": ping", b"data: [DONE]", EVENT % b"", EVENT[:20], EVENT[20:], b"\n", b"\r\n", b'"']


def stream(words: list[bytes]) -> bytes:
    return b"".join(EVENT % word + b"\n\n" for word in words)


def test_the_words_of_a_stream_are_stored_together():
    columns = by_columns(stream([b"the ", b"tools ", b"they ", b"took "] * 8))
    assert columns is not None
    assert b"the tools they took the tools " in columns, "what they have in common by chance is theirs"
    assert columns.count(b"delta") == 1


@together
@pytest.mark.parametrize("words", [WORDS, WORDS[:8], WORDS[:3]], ids=["odd", "of a byte's length", "plain"])
@pytest.mark.parametrize("seed", range(30))
def test_streams_are_restored_byte_for_byte(seed: int, words: list[bytes]):
    chance = Random(seed)
    events = [EVENT % chance.choice(words) for _ in range(chance.randint(16, 60))]
    for _ in range(chance.choice((0, 1, 3))):
        events.insert(chance.randrange(len(events) + 1), chance.choice(ODD))
    raw = b"\n\n".join(events)
    columns = by_columns(raw)
    assert columns is None or in_order(columns) == raw


@pytest.mark.parametrize(
    "raw",
    [b"", b"{}", stream([b"few"] * 15), b"\r\n\r\n".join([EVENT % b"x"] * 40), bytes(range(256)) * 40, b"\n" * 500],
)
def test_a_stream_of_dissimilar_events_is_restored_or_stored_unchanged(raw: bytes):
    columns = by_columns(raw)
    assert columns is None or in_order(columns) == raw


def test_most_of_these_streams_are_stored_by_columns():
    assert by_columns(stream([b"the ", b"of ", b"\\n"] * 10) + b"data: [DONE]\n\n") is not None
    assert by_columns(b"\n\n".join(b'data: {"n": "%d"}' % n if n % 2 else b"x%d" % n for n in range(40))) is None


@pytest.mark.parametrize("event", [b"", b'"a"', b'data: "a"'])
def test_a_stream_too_short_to_benefit_is_stored_unchanged(event: bytes):
    assert by_columns((event + b"\n\n") * 20_000) is None


def test_truncated_or_changed_columns_are_refused():
    columns = by_columns(stream([b"word "] * 20))
    assert columns is not None
    with pytest.raises(struct.error):
        in_order(columns[:10])
    with pytest.raises(ValueError, match="other words"):
        in_order(columns[:16] + bytes(len(columns) - 16))


def test_columns_with_undeclared_content_are_refused():
    odd = by_columns(stream([b"word "] * 20) + b": ping\n\n")
    plain = by_columns(stream([b"word "] * 20)[:-2])
    assert odd is not None
    assert plain is not None
    before, after, events, words = struct.unpack_from("!IIII", plain)
    more_words = struct.pack("!IIII", before, after, events, words + 3) + plain[16:] + b"abc"
    for columns in (odd + b"\n\nforged", plain + b"forged", more_words):
        with pytest.raises(ValueError, match="There"):
            in_order(columns)
