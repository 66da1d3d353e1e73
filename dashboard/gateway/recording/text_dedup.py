"""Deduplicates large texts of a turn's rows: each is sent once, as a parameter of its own."""

import secrets
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic_core import to_json

from dashboard.platform.fields import MARK, storable_text

LARGE = 64 * 1024  #: characters, or bytes
#: What stands in their places; no text of a caller's is one of these.
MARKS = tuple(f"large text {n} {secrets.token_hex(8)}" for n in range(3))

#: Large texts, and the mark of each.
Marked = Mapping[str, str]


def marked(texts: Iterable[str]) -> Marked:
    """The large ones of these texts, as many as there are marks. One that Postgres does not take as it is stays."""
    found = dict.fromkeys(text for text in texts if len(text) > LARGE)
    plain = [text for text in found if MARK not in text and storable_text(text) == text]
    return dict(zip(plain, MARKS, strict=False))


def taken_out(value: Any, marks: Marked) -> Any:
    """The value, which is to be JSON, with marks where these texts stand."""
    if isinstance(value, str):
        return marks.get(value, value) if len(value) > LARGE else value
    if isinstance(value, Mapping):
        return {name: taken_out(held, marks) for name, held in value.items()}
    if isinstance(value, list | tuple):
        return [taken_out(held, marks) for held in value]
    return value


def parameters(marks: Marked) -> list[bytes | None]:
    """What the database puts in the places of the marks, as JSON; None: nothing is to be put there."""
    return [*map(to_json, marks), *[None] * (len(MARKS) - len(marks))]
