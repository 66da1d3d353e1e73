"""A number and its unit stay in one line, on pages alone."""

import pytest

from dashboard.turns.templatetags.formatting import unbroken
from dashboard.turns.templatetags.glossary import keys_in_code


@pytest.mark.parametrize("words", ["95 %", "1 s", "20 ms", "3 min", "4.1 kB"])
def test_no_line_breaks_between_a_number_and_its_unit(words: str):
    assert unbroken(f"About {words}.") == f"About {words.replace(' ', chr(0x202F))}."


def test_other_words_after_a_number_may_start_a_line():
    assert unbroken("3 steps, 2 days, 10 blocks, v2 % x") == "3 steps, 2 days, 10 blocks, v2\u202f% x"


def test_a_percentage_in_a_sentence_with_keys_does_not_wrap():
    assert "95\u202f%" in keys_in_code("max_tokens 60 for 95 %")
