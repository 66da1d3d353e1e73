"""The tokenizer of every simulated model: pieces of a few characters, so that a cut often falls inside a word."""

import re
from collections.abc import Iterator

_TOKEN = re.compile(r"\s?[^\W\d_]{1,5}|\s?\d{1,3}|\s?[^\w\s]|\s|_")


def tokens_of(text: str) -> Iterator[str]:
    """The tokens of `text` in order; joined they are `text` again."""
    return (match.group() for match in _TOKEN.finditer(text))


def count_tokens(text: str) -> int:
    return sum(1 for _ in _TOKEN.finditer(text))
