"""A file's lines in bounded memory, also of one that is packed with gzip or zstd."""

import gzip
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import zstandard

from dashboard.ingest.logs.values import Fault, UnreadableError

MOST_LINE = 16 * 2**20  #: bytes
MOST_UNPACKED = 64 * 2**20  #: bytes that any packed file may unpack to, or, where that is more,
MOST_RATIO = 200  #: as many times its size
MOST_LINES = 1_000_000  #: of a file, or elements of its list
MOST_BLANK = 100_000  #: lines without anything
TOO_MANY = f"The file has more than {MOST_LINES:,} lines or records; split it. The records before this point were read."
TOO_BLANK = f"The file has more than {MOST_BLANK:,} blank lines; remove them. The records before this point were read."
BOMB = f"The file unpacks to more than {MOST_RATIO} times its size; unpack it first."
DAMAGED = "The file is packed with gzip or zstd and damaged: it cannot be unpacked to its end."
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_CHUNK = 2**20
_MOST_WINDOW = 2**26  #: bytes that zstd may look back, and so has in memory
_PIECE = 256  #: bytes that are unpacked at once: to 8 MiB at most, for four of them may stand for 128 KiB


def too_long(what: str) -> str:
    """The fault of a line, a record or a message that is longer than one may be."""
    return f"The {what} is longer than {MOST_LINE // 2**20} MiB."


@dataclass(slots=True)
class ZstdFile:
    """Frames one after another. The library's own reader takes a file that was cut for one that has ended."""

    file: BinaryIO
    _frame: Any = None  #: the one that is being unpacked
    _packed: bytes = b""
    _ready: bytearray = field(default_factory=bytearray)

    def read(self, size: int) -> bytes:
        """As many bytes, or fewer at the end. Raises `EOFError` where a frame is cut, `ZstdError` where it is none."""
        while len(self._ready) < size and self._unpack():
            pass
        part = bytes(self._ready[:size])
        del self._ready[:size]
        return part

    def _unpack(self) -> bool:
        """One more piece; whether there was any."""
        piece = self._packed or self.file.read(_PIECE)
        self._packed = b""
        if not piece:
            if self._frame is not None:
                raise EOFError
            return False
        if self._frame is None:
            self._frame = zstandard.ZstdDecompressor(max_window_size=_MOST_WINDOW).decompressobj()
        self._ready += self._frame.decompress(piece)
        if self._frame.eof:
            self._frame, self._packed = None, self._frame.unused_data
        return True


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
        begin = self.file.read(4)
        self.file.seek(0)
        if begin.startswith(_GZIP):
            self._inner = gzip.GzipFile(fileobj=self.file)  # type: ignore[assignment]
        elif begin == _ZSTD:
            self._inner = ZstdFile(self.file)  # type: ignore[assignment]

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
        except (EOFError, OSError, zlib.error, zstandard.ZstdError) as error:
            raise UnreadableError(DAMAGED) from error
        if self._read + len(part) > max(MOST_UNPACKED, MOST_RATIO * self.size):
            raise UnreadableError(BOMB)
        return part


def lines_of(file: Unpacked) -> Iterator[Line | Fault]:
    """Each line that holds anything; one that is too long is told of, and not held.

    Raises `UnreadableError` where there are too many."""
    blank = 0
    for number, line in enumerate(_all_lines(file), 1):
        if line is None:
            blank += 1
            if blank > MOST_BLANK:
                raise UnreadableError(TOO_BLANK)
            continue
        bound(number - blank)
        yield Line(number, line) if line else Fault(number, too_long("line"))


def bound(count: int) -> None:
    """Raises `UnreadableError` where a file has more lines or records than are read."""
    if count > MOST_LINES:
        raise UnreadableError(TOO_MANY)


def _all_lines(file: Unpacked) -> Iterator[bytes | None]:
    """Each line: None where it is blank, empty where it is too long."""
    rest, is_skipped = bytearray(), False
    while part := file.read():
        *whole, last = part.split(b"\n")
        for end in whole:
            rest += end
            yield _line(rest, is_skipped=is_skipped)
            rest, is_skipped = bytearray(), False
        rest += last
        if len(rest) > MOST_LINE:
            rest, is_skipped = bytearray(), True
    if rest or is_skipped:
        yield _line(rest, is_skipped=is_skipped)


def _line(raw: bytearray, *, is_skipped: bool) -> bytes | None:
    if is_skipped or len(raw) > MOST_LINE:
        return b""
    return bytes(raw) if raw.strip() else None
