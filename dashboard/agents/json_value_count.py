"""Counts the values of a JSON text before parsing it, as each takes up to a kilobyte of memory.

15 MB of it take half a second at most, and no more than a few times a piece's own memory. It is looked at in pieces, so
that other threads have the interpreter between them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

PIECE = 512 * 1024  #: bytes
_BEFORE_A_VALUE = b",[{"
_OTHERS = bytes(set(range(256)) - {*b'"\r\n', *_BEFORE_A_VALUE})
#: A string without what it escapes. A line ends it, for JSON has no line break in a string: so a quotation mark in a
#: line that is no JSON, such as a comment of an event stream, cannot make values look like a string.
_STRING = re.compile(rb'"[^"\r\n]*+"?')


@dataclass(slots=True)
class ValueCount:
    """Counts what stands before values, in a text that comes in pieces of any size."""

    marks: int = 0  #: lists, objects and commas outside of strings
    quotes: int = 0
    _is_in_string: bool = False
    _held: bytes = b""  #: a backslash, whose escaped character is in the next piece

    def add(self, piece: bytes) -> int:
        """Count another piece; returns how many marks are in it."""
        piece = self._held + piece
        self._held = b"\\" * ((len(piece) - len(piece.rstrip(b"\\"))) % 2)
        if b"\\" in piece:
            piece = piece.removesuffix(self._held).replace(rb"\\", b"").replace(rb"\"", b"")
        begun = b'"' if self._is_in_string else b""
        punctuation = begun + piece.translate(None, _OTHERS)
        last = punctuation[max(punctuation.rfind(b"\n"), punctuation.rfind(b"\r")) + 1 :]
        self._is_in_string = last.count(b'"') % 2 == 1
        self.quotes += punctuation.count(b'"') - len(begun)
        marks = _marks(_STRING.sub(b"", punctuation))
        self.marks += marks
        return marks


def holds_more_values(content: bytes, most: int) -> bool:
    """Whether the text would become more than `most` values; an empty list or object counts as two."""
    # What stands in strings is counted too: so there are no more, and most texts are looked at no closer.
    return len(content) >= most and sum(map(_marks, _pieces(content))) >= most and _holds_more(content, most)


def _holds_more(content: bytes, most: int) -> bool:
    """Whether it does when strings are left out."""
    count = ValueCount()
    for piece in _pieces(content):
        count.add(piece)
        # Each value is one string at most, and has one for its name. What has more is no JSON, or has more values too.
        if count.quotes > 4 * most or count.marks >= most:
            return True
    return False


def _pieces(content: bytes) -> Iterator[bytes]:
    return (content[begin : begin + PIECE] for begin in range(0, len(content), PIECE))


def _marks(content: bytes) -> int:
    return sum([content.count(mark) for mark in _BEFORE_A_VALUE])
