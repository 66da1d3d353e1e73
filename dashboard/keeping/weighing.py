"""How many values a JSON text holds, counted before any of them is made: each takes up to a kilobyte of memory."""

import re

from django.core.exceptions import ValidationError

MAX_VALUES = 1_000_000
TOO_MANY_VALUES = f"A turn file may hold {MAX_VALUES:,} values; this one holds more."

_BEFORE_A_VALUE = (b",", b"[", b"{")
_STRING = re.compile(rb'"[^"\\]*+(?:\\[\s\S][^"\\]*+)*+"')


def check_values(content: bytes) -> None:
    """Raises `ValidationError` where the text would become more than `MAX_VALUES` values."""
    # What stands in strings is counted too: so there are no more, and most texts are looked at no closer.
    if 1 + _counted(content, 0, len(content)) > MAX_VALUES and _holds_more(content):
        raise ValidationError(TOO_MANY_VALUES)


def _holds_more(content: bytes) -> bool:
    """Whether it does when strings are left out; read no further than necessary."""
    count, end = 1, 0
    for string in _STRING.finditer(content):
        count += _counted(content, end, string.start())
        if count > MAX_VALUES:
            return True
        end = string.end()
    return count + _counted(content, end, len(content)) > MAX_VALUES


def _counted(content: bytes, begin: int, end: int) -> int:
    return sum([content.count(mark, begin, end) for mark in _BEFORE_A_VALUE])
