"""Large texts of a turn's rows, which are sent beside them and once: an answer stands in four rows and in its piece."""

import secrets
from collections.abc import Iterable

from pydantic_core import PydanticSerializationError, to_json

LARGE = 64 * 1024  #: characters, or bytes
#: What stands in their places; no text of a caller's can hold one as a whole string.
MARKS = tuple(f'"large text {n} {secrets.token_hex(8)}"' for n in range(3))
NONE: tuple[bytes, ...] = ()


def literals_of(texts: Iterable[str]) -> tuple[bytes, ...]:
    """The large ones of these texts as rows have them, JSON with its quotes: as many as there are marks, each once.

    One that is written otherwise in a row, for what Postgres does not take, stays where it is.
    """
    found = dict.fromkeys(text for text in texts if len(text) > LARGE)
    return tuple(_literal(text) for text in list(found)[: len(MARKS)])


def taken_out(row: bytes, literals: tuple[bytes, ...]) -> bytes:
    """The row with marks where these texts stand."""
    if len(row) > LARGE:
        for mark, literal in zip(MARKS, literals, strict=False):
            row = row.replace(literal, mark.encode())
    return row


def parameters(literals: tuple[bytes, ...]) -> list[bytes | None]:
    """What the database puts where the marks stand; None: nothing is to be put there."""
    return [*literals, *[None] * (len(MARKS) - len(literals))]


def _literal(text: str) -> bytes:
    try:
        return to_json(text)
    except PydanticSerializationError:  # a lone surrogate
        return MARKS[0].encode()
