"""Bytes as they are stored: compressed where that is shorter, with zstd, after what most of them have in common.

The words of records and answers are mostly the same: names of fields, of criteria and of states. They stand in
`known_json.txt`, which both sides have, so a stored record takes little more than what is new in it. The file never
changes: what was compressed after it could not be read any more. Another one would be another kind of bytes.
"""

import threading
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import zstandard

_LEVEL = 3  #: of zstd; higher ones take longer and save little in texts this short
#: How stored bytes begin: as they are, compressed, or compressed after what is known.
_PLAIN, _PACKED, _KNOWN = b"\0", b"\1", b"\2"
_AT_THREAD = threading.local()
_KNOWN_JSON = Path(__file__).with_name("known_json.txt")


def packed(content: bytes) -> bytes:
    """The content as it is stored: compressed where that is shorter."""
    small: bytes = _compressor().compress(content)
    return _KNOWN + small if len(small) < len(content) else _PLAIN + content


def packed_one_by_one(contents: Iterable[bytes]) -> bytes:
    """The same of many one after another, each of which is let go before the next is made."""
    writing = _compressor().compressobj()
    return b"".join([_KNOWN, *map(writing.compress, contents), writing.flush()])  # `map` holds none of them


def packed_after(other: bytes, content: bytes) -> bytes:
    """The content compressed after another one, of which it repeats the most; `unpacked_after` reads it."""
    known = zstandard.ZstdCompressionDict(other, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    small: bytes = zstandard.ZstdCompressor(level=_LEVEL, dict_data=known).compress(content)
    return small


def unpacked_after(other: bytes, stored: bytes) -> bytes:
    """The content again. Raises `ValueError` where the other one is not what it was compressed after."""
    known = zstandard.ZstdCompressionDict(other, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    return _decompressed(stored, zstandard.ZstdDecompressor(dict_data=known))


def unpacked(stored: bytes | memoryview) -> bytes:
    """The content again. Raises `ValueError` if it is none, or more than one."""
    kind, rest = bytes(stored[:1]), bytes(stored[1:])
    if kind == _PLAIN:
        return rest
    if kind not in (_PACKED, _KNOWN):
        raise ValueError(f"Stored bytes begin with {kind!r}.")
    return _decompressed(rest, _decompressor() if kind == _KNOWN else zstandard.ZstdDecompressor())


def _decompressed(stored: bytes, decompressor: zstandard.ZstdDecompressor) -> bytes:
    try:
        reading = decompressor.decompressobj()
        content: bytes = reading.decompress(stored)
    except zstandard.ZstdError as error:
        raise ValueError(f"Stored bytes cannot be decompressed: {error}.") from error
    if not reading.eof:
        raise ValueError("Stored bytes are cut off.")
    if reading.unused_data:  # nobody would read them, and so nobody would see that they came
        raise ValueError("Stored bytes continue after their end.")
    return content


@cache
def _known() -> zstandard.ZstdCompressionDict:
    known = zstandard.ZstdCompressionDict(_KNOWN_JSON.read_bytes(), dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    known.precompute_compress(level=_LEVEL)
    return known


def _compressor() -> zstandard.ZstdCompressor:
    """One for each thread: it may not be used by two at once, and takes long to make."""
    made = getattr(_AT_THREAD, "compressor", None)
    if made is None:
        made = _AT_THREAD.compressor = zstandard.ZstdCompressor(level=_LEVEL, dict_data=_known())
    return made


def _decompressor() -> zstandard.ZstdDecompressor:
    """One for each thread, too."""
    made = getattr(_AT_THREAD, "decompressor", None)
    if made is None:
        made = _AT_THREAD.decompressor = zstandard.ZstdDecompressor(dict_data=_known())
    return made
