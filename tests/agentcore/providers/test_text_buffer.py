"""A text is what its pieces say, however many there are, and takes little more than itself."""

import sys

from hypothesis import given
from hypothesis import strategies as st

from agentcore.providers.wire.text_buffer import MANY, TextPieces


@given(st.lists(st.text(), max_size=20), st.integers(1, MANY))
def test_the_text_is_its_pieces_and_can_be_read_in_between(pieces, times):
    text = TextPieces()
    said = [text.take(piece) for piece in [*pieces, *["ab"] * times, *pieces]]
    assert str(text) == "".join(said) == "".join([*pieces, *["ab"] * times, *pieces])
    text.take("more")
    assert str(text) == "".join(said) + "more"


def test_a_character_in_two_halves_is_one_and_a_half_alone_is_none():
    text = TextPieces()
    assert text.take("a\ud83d") == "a"
    assert str(text) == "a\ufffd"
    assert text.take("\ude00") == "😀"
    assert str(text) == "a😀"


def test_a_text_of_words_takes_little_more_than_its_letters():
    text = TextPieces()
    for number in range(20 * MANY):
        text.take(f"{number % 1000:04}")
    held = sum(sys.getsizeof(piece) for piece in (*text._blocks, *text._pieces))
    assert held < 1.5 * 4 * 20 * MANY
