"""A text is what its pieces say, however many there are, and takes little more than itself."""

import sys

from hypothesis import given
from hypothesis import strategies as st

from agentcore.providers.openai.content import MANY, TextPieces


@given(st.lists(st.text(), max_size=20), st.integers(1, MANY))
def test_the_text_is_its_pieces_joined_and_can_be_read_at_any_time(pieces, times):
    text = TextPieces()
    said = [text.take(piece) for piece in [*pieces, *["ab"] * times, *pieces]]
    assert str(text) == "".join(said) == "".join([*pieces, *["ab"] * times, *pieces])
    text.take("more")
    assert str(text) == "".join(said) + "more"


def test_two_surrogate_halves_make_one_character_and_a_lone_half_makes_none():
    text = TextPieces()
    assert text.take("a\ud83d") == "a"
    assert str(text) == "a\ufffd"
    assert text.take("\ude00") == "😀"
    assert str(text) == "a😀"


def test_a_text_of_words_takes_little_more_memory_than_its_characters():
    text = TextPieces()
    for number in range(20 * MANY):
        text.take(f"{number % 1000:04}")
    held = sum(sys.getsizeof(piece) for piece in (*text._blocks, *text._pieces))
    assert held < 1.5 * 4 * 20 * MANY
