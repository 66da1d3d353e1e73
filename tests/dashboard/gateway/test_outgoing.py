"""Headers hold a sentence whatever is in it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.gateway.outgoing import header_words


@given(st.text())
def test_any_sentence_is_printable_ascii_on_one_line(words):
    told = header_words(words)
    assert all(" " <= letter <= "~" for letter in told)
    assert len(told) <= 500


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("The provider said “stop”.", 'The provider said "stop".'),
        ("max_tokens ≥ 1\u202f214", "max_tokens >= 1 214"),
        ("one\r\nx-evil: two", "one x-evil: two"),
        ("Köln", "K?ln"),
    ],
)
def test_what_headers_cannot_say_is_said_plainly(words, told):
    assert header_words(words) == told
