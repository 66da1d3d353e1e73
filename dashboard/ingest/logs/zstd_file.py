"""A file that is packed with zstd, as `gzip.GzipFile` is for gzip: coding agents pack old transcripts so."""

from dataclasses import dataclass, field
from typing import Any, BinaryIO

import zstandard

_MOST_WINDOW = 2**26  #: bytes that zstd may look back, and so has in memory
_PIECE = 256  #: bytes that are unpacked at once: to 8 MiB at most, for four of them may stand for 128 KiB


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
