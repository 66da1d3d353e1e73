"""Stores records compressed, except for the columns that SQL looks at.

Event, transitions, command and observations are texts of JSON, line by line, compressed together: an answer stands in
two of them and takes the bytes of one. A row has one record, or several that were committed together, one after the
other, and then a line that says how many microseconds after the first each of the others was made. What statements ask
for stands in columns too: what the event is (of the first record), what the command is (of the last one), and until
when it waits. Rows of older releases have one record; the oldest have all of it in columns, and nothing compressed.

The bytes of an answer say what its record says, in the provider's words. Where both are stored at once, the bytes are
compressed after the record, and take next to nothing.

Also holds the events of a streamed answer, column by column, so that they compress better.

Most events of a stream differ in a few words alone. What stands before and after these words is kept once; then come
how long the words of each event are, the words one after another, and the events that are otherwise, whole. The words
together are the answer's text, so after the record that has it they take next to nothing.
"""

import hashlib
import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from itertools import accumulate, chain, compress, pairwise
from typing import Any
from uuid import UUID

from django.db import connection, models

from dashboard.turns.compression import packed, packed_after, packed_one_by_one, unpacked, unpacked_after
from dashboard.turns.shared_values import UNREADABLE, exact_text

_HEAD = struct.Struct("!IIII")  #: bytes before and after the words, events, bytes of all words
_BETWEEN = b"\n\n"  #: events
_FEWEST = 16  #: events of which it is worth it
_SAMPLE = 4  #: events before and after the middle of the stream, by which it is known what most have in common
_LEAST = 24  #: bytes of an event on the average; the work goes by events, and providers send none that short
_MOST = 254  #: bytes of words; the length of longer ones would take more than a byte
_WHOLE = 0  #: stands for the length of an event that is otherwise


def by_columns(raw: bytes) -> bytes | None:
    """The bytes in another order; None where few events are alike, or there are more than their bytes warrant."""
    if not _FEWEST <= raw.count(_BETWEEN) + 1 <= len(raw) // _LEAST:
        return None
    before, after = _alike(raw.split(_BETWEEN))
    if not before and not after:
        return None
    # Between the first and the last one, events that are all alike are told apart by one search.
    first, *middle, last = raw.split(after + _BETWEEN + before)
    if not middle or _BETWEEN in b"".join(middle) or max(map(len, middle)) > _MOST:
        parts = [_told_apart(raw, before, after)]
    else:
        plain = bytes([len(word) + 1 for word in middle]), b"".join(middle), list[bytes]()
        parts = [_told_apart(first + after, before, after), plain, _told_apart(before + last, before, after)]
    lengths, said = b"".join(part[0] for part in parts), b"".join(part[1] for part in parts)
    if lengths.count(_WHOLE) > len(lengths) // 4:
        return None
    others = _BETWEEN.join(event for part in parts for event in part[2])
    head = _HEAD.pack(len(before), len(after), len(lengths), len(said))
    return b"".join((head, before, after, lengths, said, others))


def _told_apart(raw: bytes, before: bytes, after: bytes) -> tuple[bytes, bytes, list[bytes]]:
    """The length of the words of each event, the words, and the events that are otherwise."""
    events, around = raw.split(_BETWEEN), len(before) + len(after)
    sizes = range(around, around + _MOST + 1)
    alike = [event.startswith(before) and event.endswith(after) and len(event) in sizes for event in events]
    lengths = bytes([len(event) - around + 1 if like else _WHOLE for event, like in zip(events, alike, strict=True)])
    words = [event[len(before) : len(event) - len(after)] for event in compress(events, alike)]
    return lengths, b"".join(words), [event for event, like in zip(events, alike, strict=True) if not like]


def _alike(events: list[bytes]) -> tuple[bytes, bytes]:
    """What most events begin and end with, up to the quotes around the words: what these may share is theirs."""
    middle = len(events) // 2
    sample = events[middle - _SAMPLE : middle + _SAMPLE]
    before = _up_to_quote(sample)
    return before, _up_to_quote([event[len(before) :][::-1] for event in sample])[::-1]


def _up_to_quote(sample: list[bytes]) -> bytes:
    first, last = min(sample), max(sample)  # what these have in common, all between them have too
    size = next((n for n, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
    return first[: first.rfind(b'"', 0, size) + 1]


def in_order(columns: bytes) -> bytes:
    """The bytes again. Raises `struct.error` or `ValueError` where these are no such columns."""
    ends = accumulate(_HEAD.unpack_from(columns), initial=_HEAD.size)
    return _BETWEEN.join(_events(*(columns[begin:end] for begin, end in pairwise((*ends, len(columns))))))


def _events(before: bytes, after: bytes, lengths: bytes, said: bytes, others: bytes) -> Iterator[bytes]:
    whole, at = iter(others.split(_BETWEEN) if _WHOLE in lengths else ()), 0
    if len(said) != sum(lengths) - len(lengths) + lengths.count(_WHOLE) or (others and _WHOLE not in lengths):
        raise ValueError("There are other words than the events say.")
    for length in lengths:
        if length == _WHOLE:
            event = next(whole, None)
            if event is None:
                raise ValueError("An event is missing.")
            yield event
        else:
            yield before + said[at : at + length - 1] + after
            at += length - 1
    if next(whole, None) is not None:
        raise ValueError("There is an event too many.")


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
_BY_COLUMNS = b"\x0a"  #: stands before either kind of bytes, where they are those of a stream, column by column
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
