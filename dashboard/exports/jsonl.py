"""One line of JSON a turn; ASCII, so that whatever a model said goes through any editor and any wire."""

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from dashboard.exports.turn_rows import Row

PIECE = 64 * 1024  #: bytes sent at once, at least


def jsonl(rows: Iterable[Row]) -> Iterator[bytes]:
    """The file, piece by piece."""
    held, size = list[bytes](), 0
    for row in rows:
        line = json_text(row).encode("ascii") + b"\n"
        held.append(line)
        size += len(line)
        if size >= PIECE:
            yield b"".join(held)
            held, size = [], 0
    yield b"".join(held)


def json_text(value: Any) -> str:
    return json.dumps(value, default=_plain, separators=(",", ":"))


def _plain(value: Any) -> str:
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else str(value)
