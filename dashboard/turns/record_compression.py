"""Stores records compressed, except for the columns that SQL looks at.

Event, transitions, command and observations are texts of JSON, line by line, compressed together: an answer stands in
two of them and takes the bytes of one. A row has one record, or several that were committed together, one after the
other, and then a line that says how many microseconds after the first each of the others was made. What statements ask
for stands in columns too: what the event is (of the first record), what the command is (of the last one), and until
when it waits. Rows of older releases have one record; the oldest have all of it in columns, and nothing compressed.

The bytes of an answer say what its record says, in the provider's words. Where both are stored at once, the bytes are
compressed after the record, and take next to nothing.
"""

import hashlib
import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from itertools import chain
from typing import Any
from uuid import UUID

from django.db import connection, models

from dashboard.turns.compression import packed, packed_after, packed_one_by_one, unpacked, unpacked_after
from dashboard.turns.event_columns import by_columns, in_order
from dashboard.turns.shared_values import UNREADABLE, exact_text

PACKED = ("event", "transitions", "command", "observed")
#: What of an event, and of a command, stands in columns too.
SHORT = ("type", "deadline")
LARGE = 256 * 1024  #: bytes, from which on the texts do not stand side by side in memory
MOST_TOGETHER = 50  #: records in a row
MICROSECOND = timedelta(microseconds=1)


Columns = Mapping[str, Any]


def packed_columns(*records: Columns) -> dict[str, Any]:
    """The columns of the row that holds these records, of those that tell each of them whole."""
    return {**records[0], **beside_packed(records), "length": len(records), "packed": _packed(records)}


def beside_packed(records: Sequence[Columns]) -> dict[str, Any]:
    """What the four columns have where the records stand compressed beside them."""
    short = {"event": _short(records[0]["event"]), "command": _short(records[-1]["command"])}
    return {**short, "transitions": [], "observed": []}


def _packed(records: Sequence[Columns]) -> bytes:
    texts, held, size = _texts(records), list[bytes](), 0
    for text in texts:
        held.append(text)
        size += len(text)
        if size >= LARGE:
            return packed_one_by_one(chain((held.pop(0) for _ in range(len(held))), texts))
    return packed(b"".join(held))


def _texts(records: Sequence[Columns]) -> Iterator[bytes]:
    """One after another: put together, a large text would be there twice."""
    for n, record in enumerate(records):
        for name in PACKED:
            yield b"\n" if n or name != PACKED[0] else b""
            yield exact_text(record[name])
    if len(records) > 1:
        yield b"\n" + exact_text([(record["at"] - records[0]["at"]) // MICROSECOND for record in records[1:]])


def unpacked_columns(content: bytes | memoryview) -> dict[str, Any]:
    """The uncompressed columns of a row's only record."""
    (columns,) = unpacked_records(content, 1)
    del columns["later"]
    return columns


def unpacked_records(content: bytes | memoryview, length: int) -> list[dict[str, Any]]:
    """The uncompressed columns of each record of a row, and `later`: how long after the row's `at` it was made. Raises
    `ValueError` where they are not as many, and any of `UNREADABLE` where the bytes were changed."""
    return [
        {**dict(zip(PACKED, map(json.loads, lines), strict=True)), "later": after * MICROSECOND}
        for lines, after in lines_of(content, length)
    ]


def lines_of(content: bytes | memoryview, length: int) -> list[tuple[list[bytes], int]]:
    """The same as JSON texts, in the order of `PACKED`, and in microseconds."""
    lines, each = unpacked(content).split(b"\n"), len(PACKED)
    later = [0, *(json.loads(lines.pop()) if length > 1 else ())]
    if len(lines) != length * each or len(later) != length:
        raise ValueError(f"A row of {length} records has {len(lines)} lines.")
    return [(lines[n * each : (n + 1) * each], after) for n, after in enumerate(later)]


def _short(value: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value[name] for name in SHORT if name in value}


#: How compressed bytes of an answer begin. Others stand as they came, unless they begin so themselves.
MARK = b"\x9ewhystop\x9e"
#: After that, of bytes that are compressed after a record: which it is.
_AFTER = struct.Struct("!c16sI")
_IS_AFTER = b"\x09"  #: none of the kinds of `compression`
_BY_COLUMNS = b"\x0a"  #: stands before either kind of bytes, where they are those of a stream (`event_columns`)
_DIGEST = 8  #: bytes of a hash of the answer, for a record may be another than it was


#: Records as they are stored: their turn, the number of the first, and `packed`.
Stored = tuple[UUID, int, bytes]


def packed_raw(raw: bytes, record: Stored | None = None) -> bytes:
    """Bytes of an answer as a column holds them. `record`: the one that tells of it, where both are stored at once.

    To be read after a record they must not be large, for then both are in memory.
    """
    columns = by_columns(raw) if len(raw) <= LARGE else None
    content = raw if columns is None else columns
    small = packed(content) if record is None else _packed_after(content, *record)
    small = MARK + (small if columns is None else _BY_COLUMNS + small)
    return small if len(small) < len(raw) or raw.startswith(MARK) else raw


def _packed_after(raw: bytes, turn_id: UUID, seq: int, record: bytes) -> bytes:
    if len(record) > LARGE or not (content := unpacked(record)):
        return packed(raw)
    return _AFTER.pack(_IS_AFTER, turn_id.bytes, seq) + _digest(raw) + packed_after(content, raw)


def raw_of(stored: bytes | memoryview) -> bytes:
    """The bytes again; of some that were changed since, or whose record was, what is stored."""
    held = bytes(stored)
    if held.startswith(MARK):
        rest = held[len(MARK) :]
        with suppress(*UNREADABLE, struct.error):
            if rest.startswith(_BY_COLUMNS):
                return in_order(_content(rest[len(_BY_COLUMNS) :]))
            return _content(rest)
    return held


def _content(stored: bytes) -> bytes:
    return _unpacked_after(stored) if stored.startswith(_IS_AFTER) else unpacked(stored)


def _unpacked_after(stored: bytes) -> bytes:
    _, turn_id, seq = _AFTER.unpack_from(stored)
    with connection.cursor() as cursor:
        cursor.execute("SELECT packed FROM turns_record WHERE turn_id = %s AND seq = %s", [UUID(bytes=turn_id), seq])
        found = cursor.fetchone()
    if found is None or found[0] is None:
        raise LookupError("The record of the answer is missing.")
    begins = _AFTER.size + _DIGEST
    raw = unpacked_after(unpacked(found[0]), stored[begins:])
    if _digest(raw) != stored[_AFTER.size : begins]:
        raise ValueError("The record of the answer was changed.")
    return raw


def _digest(raw: bytes) -> bytes:
    return hashlib.blake2b(raw, digest_size=_DIGEST).digest()


class RawField(models.BinaryField):  # type: ignore[type-arg]
    """Bytes of an answer, compressed where that is shorter."""

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        return super().get_db_prep_value(value if value is None else packed_raw(bytes(value)), connection, prepared)

    def from_db_value(self, value: bytes | memoryview | None, *_: Any) -> bytes | None:
        return None if value is None else raw_of(value)
