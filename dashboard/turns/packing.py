"""A record as its row holds it: compressed, but for what the database itself looks at.

Event, transitions, command and observations are texts of JSON, line by line, compressed together: an answer stands in
two of them and takes the bytes of one. Short words and numbers of event and command stand in columns too, for
statements. Rows of older releases have all of it in columns, and nothing compressed.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from itertools import chain
from typing import Any

from django.db import models

from dashboard.turns.nodes import packed, packed_one_by_one, unpacked
from dashboard.turns.shared import exact_text

PACKED = ("event", "transitions", "command", "observed")
SHORT = 64  #: characters
LARGE = 256 * 1024  #: bytes, from which on the texts do not stand side by side in memory


def packed_columns(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a record's row, of those that tell it whole."""
    return {**columns, **beside_packed(columns), "packed": _packed(columns)}


def beside_packed(columns: Mapping[str, Any]) -> dict[str, Any]:
    """What the four columns have where the record stands compressed beside them."""
    short = {"event": _short(columns["event"]), "command": _short(columns["command"])}
    return {**short, "transitions": [], "observed": []}


def _packed(columns: Mapping[str, Any]) -> bytes:
    first = exact_text(columns[PACKED[0]])
    rest = (b"\n" + exact_text(columns[name]) for name in PACKED[1:])
    return packed(b"".join([first, *rest])) if len(first) < LARGE else packed_one_by_one(chain([first], rest))


def unpacked_columns(content: bytes | memoryview) -> dict[str, Any]:
    """What the columns would hold."""
    return dict(zip(PACKED, map(json.loads, lines_of(content)), strict=True))


def lines_of(content: bytes | memoryview) -> list[bytes]:
    """The same as JSON texts, in the order of `PACKED`."""
    return unpacked(content).split(b"\n")


def _short(value: Mapping[str, Any]) -> dict[str, Any]:
    return {name: held for name, held in value.items() if _is_short(held)}


def _is_short(value: Any) -> bool:
    return len(value) <= SHORT if isinstance(value, str) else isinstance(value, int | float) or value is None


#: How compressed bytes of an answer begin. Others stand as they came, unless they begin so themselves.
MARK = b"\x9ewhystop\x9e"


def packed_raw(raw: bytes) -> bytes:
    """Bytes of an answer as a column holds them."""
    small = MARK + packed(raw)
    return small if len(small) < len(raw) or raw.startswith(MARK) else raw


def raw_of(stored: bytes | memoryview) -> bytes:
    """The bytes again; of some that were changed since, what is stored."""
    held = bytes(stored)
    if held.startswith(MARK):
        with suppress(ValueError):
            return unpacked(held[len(MARK) :])
    return held


class RawField(models.BinaryField):  # type: ignore[type-arg]
    """Bytes of an answer, compressed where that is shorter."""

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        return super().get_db_prep_value(value if value is None else packed_raw(bytes(value)), connection, prepared)

    def from_db_value(self, value: bytes | memoryview | None, *_: Any) -> bytes | None:
        return None if value is None else raw_of(value)
