"""Counts the values of a JSON text before parsing it, as each takes up to a kilobyte of memory.

15 MB of it take some 0.2 s at most, and no more than a few times a piece's own memory. It is looked at in pieces, so
that other threads have the interpreter between them.
"""

from collections.abc import Iterator

PIECE = 512 * 1024  #: bytes
_BEFORE_A_VALUE = b",[{"
_OTHERS = bytes(set(range(256)) - {*b'"', *_BEFORE_A_VALUE})


def holds_more_values(content: bytes, most: int) -> bool:
    """Whether the text would become more than `most` values; an empty list or object counts as two."""
    # What stands in strings is counted too: so there are no more, and most texts are looked at no closer.
    return len(content) >= most and sum(map(_marks, _pieces(content))) >= most and _holds_more(content, most)


def _holds_more(content: bytes, most: int) -> bool:
    """Whether it does when strings are left out."""
    marks, quotes = 0, 0
    for piece in _pieces(content):
        unescaped = piece.replace(rb"\\", b"").replace(rb"\"", b"") if b"\\" in piece else piece
        parts = unescaped.translate(None, _OTHERS).split(b'"')
        marks += _marks(b"".join(parts[quotes % 2 :: 2]))
        quotes += len(parts) - 1
        # Each value is one string at most, and has one for its name. What has more is no JSON, or has more values too.
        if quotes > 4 * most or marks >= most:
            return True
    return False


def _pieces(content: bytes) -> Iterator[bytes]:
    """The text in pieces, none of which ends between a backslash and what it escapes."""
    begin = 0
    while begin < len(content):
        piece = content[begin : begin + PIECE]
        if (len(piece) - len(piece.rstrip(b"\\"))) % 2 and len(piece) > 1:
            piece = piece[:-1]
        begin += len(piece)
        yield piece


def _marks(content: bytes) -> int:
    return sum([content.count(mark) for mark in _BEFORE_A_VALUE])
