"""A file's lines in bounded memory, also of one that is packed with gzip."""

import gzip
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from dashboard.logs.values import Fault, UnreadableError

MOST_LINE = 16 * 2**20  #: bytes
MOST_UNPACKED = 64 * 2**20  #: bytes that any gzip file may unpack to, or, where that is more,
MOST_RATIO = 200  #: as many times its size
TOO_LONG = f"The line is longer than {MOST_LINE // 2**20} MiB."
BOMB = f"The file unpacks to more than {MOST_RATIO} times its size; unpack it first."
DAMAGED = "The file is packed with gzip and damaged: it cannot be unpacked to its end."
_GZIP = b"\x1f\x8b"
_CHUNK = 2**20


@dataclass(frozen=True, slots=True)
class Line:
    number: int
    raw: bytes


@dataclass(slots=True)
class Unpacked:
    """Reads a file, unpacked where it is packed. `told`: is told how many bytes of the file itself were read."""

    file: BinaryIO
    size: int
    told: Callable[[int], None]
    _inner: BinaryIO | None = None
    _read: int = 0

    def __post_init__(self) -> None:
        begin = self.file.read(2)
        self.file.seek(0)
        self._inner = gzip.GzipFile(fileobj=self.file) if begin == _GZIP else None  # type: ignore[assignment]

    def read(self, size: int = _CHUNK) -> bytes:
        """Raises `UnreadableError` where it cannot be unpacked, or unpacks to too much."""
        part = self.file.read(size) if self._inner is None else self._unpack(size)
        self._read += len(part)
        self.told(self.file.tell())
        return part

    def _unpack(self, size: int) -> bytes:
        assert self._inner is not None, "the file is packed"
        try:
            part = self._inner.read(size)
        except (EOFError, OSError, zlib.error) as error:
            raise UnreadableError(DAMAGED) from error
        if self._read + len(part) > max(MOST_UNPACKED, MOST_RATIO * self.size):
            raise UnreadableError(BOMB)
        return part


def lines_of(file: Unpacked) -> Iterator[Line | Fault]:
    """Each line that holds anything; one that is too long is told of, and not held."""
    number, rest, is_skipped = 1, bytearray(), False
    while part := file.read():
        *whole, last = part.split(b"\n")
        for end in whole:
            rest += end
            if is_skipped or len(rest) > MOST_LINE:
                yield Fault(number, TOO_LONG)
            elif rest.strip():
                yield Line(number, bytes(rest))
            rest, is_skipped, number = bytearray(), False, number + 1
        rest += last
        if len(rest) > MOST_LINE:
            rest, is_skipped = bytearray(), True
    if is_skipped:
        yield Fault(number, TOO_LONG)
    elif rest.strip():
        yield Line(number, bytes(rest))
