"""Differences in two texts, word by word."""

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.replay.comparison.word_comparison import WordDiff, word_diff, words_of
from tests.together import together

FAMILY, WAVE, FLAG, ACUTE, KEYCAP = "👩‍👩‍👧", "👋🏽", "🇩🇪", "e\u0301", "1\ufe0f\u20e3"
PARTS = ["a", "b", " ", "\n", FAMILY, WAVE, FLAG, ACUTE, KEYCAP, "漢", "ש", "."]
TEXTS = st.lists(st.sampled_from(PARTS), max_size=60).map("".join)


def side(diff: WordDiff, kind: str) -> str:
    return "".join(piece.text + piece.hidden + piece.after for piece in diff.pieces if piece.kind in ("same", kind))


@given(st.text(max_size=200))
def test_the_tokens_of_any_text_join_to_the_text(text: str):
    assert "".join(words_of(text)) == text


@given(TEXTS, TEXTS)
def test_both_texts_can_be_reconstructed_from_the_difference(left: str, right: str):
    diff = word_diff(left, right)
    assert side(diff, "left") == left
    assert side(diff, "right") == right
    assert diff.same is (left == right)


@together
@pytest.mark.parametrize("one", [FAMILY, WAVE, FLAG, ACUTE, KEYCAP, "न्हा", "각", " \u0301", "👩\u200d🚀"])
def test_a_grapheme_is_never_split(one: str):
    for before, after in [("", ""), ("a ", " b"), ("a", "b"), (one, one), (f"{one} ", ".")]:
        text = f"{before}{one}{after}"
        cuts = set(accumulate(len(word) for word in words_of(text)))
        assert not cuts & set(range(len(before) + 1, len(before) + len(one)))


def test_changed_words_are_marked_and_the_rest_is_not():
    diff = word_diff("The quick brown fox.", "The slow brown fox!")
    assert [(piece.kind, piece.text) for piece in diff.pieces] == [
        ("same", "The "),
        ("left", "quick"),
        ("right", "slow"),
        ("same", " brown fox"),
        ("left", "."),
        ("right", "!"),
    ]
    assert (diff.left, diff.right, diff.apart) == (6, 5, False)


def test_long_equal_passages_are_collapsed():
    same = " ".join(f"word{n}" for n in range(500))
    first, _, _ = word_diff(f"{same} left", f"{same} right").pieces
    assert len(first.hidden) > len(first.text) + len(first.after)
    assert first.text.startswith("word0 ")
    assert first.after.endswith("word499 ")


def test_scripts_without_spaces_are_compared_by_character():
    diff = word_diff("私は東京に住んでいます", "私は京都に住んでいます")
    assert [piece.text for piece in diff.pieces if piece.kind != "same"] == ["東", "都"]


def test_texts_with_almost_nothing_in_common_are_shown_separately():
    assert word_diff("one two three four", "a b c d").apart
    assert not word_diff("", "").apart
    assert word_diff("", "something").apart
