from hypothesis import given
from hypothesis import strategies as st

from dashboard.simulator.texts import count_tokens, tokens_of


@given(st.text())
def test_joined_tokens_give_the_text(text: str) -> None:
    tokens = list(tokens_of(text))
    assert "".join(tokens) == text
    assert len(tokens) == count_tokens(text)
    assert all(1 <= len(token) <= 6 for token in tokens)


def test_long_words_are_split() -> None:
    assert list(tokens_of("Stop reasons, 2048!")) == ["Stop", " reaso", "ns", ",", " 204", "8", "!"]
