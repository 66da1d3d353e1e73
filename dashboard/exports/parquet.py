"""One row a turn, in row groups that are written as soon as they are full: memory does not grow with the file."""

import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from dashboard.exports.columns import ATTEMPT, NO_REASONING, TOKENS, TURN, Column, schema
from dashboard.exports.jsonl import json_text
from dashboard.exports.turn_rows import Row

MOST_WHOLE = 2**63  #: of what Parquet holds as a whole number
GROUP_TURNS = 5_000  #: of a row group, at most
GROUP_CHARACTERS = 8_000_000  #: of the texts of one, about


def parquet(rows: Iterable[Row]) -> Iterator[bytes]:
    """The file, piece by piece."""
    from pyarrow import RecordBatch
    from pyarrow.parquet import ParquetWriter

    sink = _Sink()
    with ParquetWriter(sink, schema(), compression="zstd") as writer:
        for group in _groups(rows):
            writer.write_batch(RecordBatch.from_pylist(group, schema=schema()))
            yield sink.taken()
    yield sink.taken()


class _Sink(io.RawIOBase):
    """What was written and not yet taken."""

    def __init__(self) -> None:
        super().__init__()
        self._held = bytearray()
        self._told = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._told

    def write(self, data: Any) -> int:
        self._held += data
        self._told += len(data)
        return len(data)

    def taken(self) -> bytes:
        taken, self._held = bytes(self._held), bytearray()
        return taken


def _groups(rows: Iterable[Row]) -> Iterator[list[Row]]:
    held, size = list[Row](), 0
    for row in rows:
        held.append(_flat(row, TURN))
        size += _size(held[-1])
        if len(held) == GROUP_TURNS or size >= GROUP_CHARACTERS:
            yield held
            held, size = [], 0
    if held:
        yield held


def _flat(row: Row, columns: Sequence[Column]) -> Row:
    return {column.name: _value(column.kind, row[column.name]) for column in columns}


def _value(kind: str, value: Any) -> Any:
    if value is None:
        return None
    match kind:
        case "text":
            return str(value)
        case "json":
            return json_text(value)
        case "texts":
            return [str(text) for text in value] if isinstance(value, list | tuple) else None
        case "usage":
            return _usage(value) if isinstance(value, dict) else None
        case "calls":
            return [_flat(attempt, ATTEMPT) for attempt in value]
        case _:
            return value


def _usage(value: Row) -> Row:
    """The row may have been changed or damaged since: what is no number of tokens is left out."""
    tokens = {name: value.get(name) for name in TOKENS}
    whole = {name: held if type(held) is int and abs(held) < MOST_WHOLE else None for name, held in tokens.items()}
    said = value.get(NO_REASONING)
    return {**whole, NO_REASONING: said if isinstance(said, bool) else None}


def _size(row: Row) -> int:
    own = sum(len(value) for value in row.values() if isinstance(value, str))
    return own + sum(_size(attempt) for attempt in row.get("attempt_list", ()))
