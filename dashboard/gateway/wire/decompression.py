"""Decompresses a request body within a bound on memory, whatever the body claims."""

import io
import zlib
from collections.abc import Callable, Mapping

import brotli
import zstandard

MOST_PACKED = 16 * 1024 * 1024  #: bytes of one body as it is sent
MOST_UNPACKED = 32 * 1024 * 1024  #: bytes of one body
MOST_RATIO = 200  #: as many times the bytes that were sent; what is small may be packed better
SMALL = 1024 * 1024  #: bytes that any body may unpack to
_MOST_WINDOW = 8 * 1024 * 1024  #: bytes that zstd may look back, as RFC 8878 asks every receiver to allow
_PIECE = 64 * 1024  #: bytes that are unpacked at once


class PackedError(ValueError):
    """Why a body cannot be unpacked, in a sentence."""


class TooLargeError(PackedError):
    """It would unpack to more than it may."""


def unpacked(body: bytes, coding: str, *, most: int = MOST_UNPACKED) -> bytes:
    """The body without its `Content-Encoding`, of `most` bytes at most.

    Several codings, separated by commas, were applied in that order. Raises `PackedError`, and `KeyError` for a coding
    that is not known.
    """
    codings = [name.strip().casefold() for name in coding.split(",")]
    if len(codings) > 2:
        raise PackedError("The body is compressed more than twice.")
    unpacking = [_UNPACKING[name] for name in codings]
    for name, unpack in zip(reversed(codings), reversed(unpacking), strict=True):
        body = _within(body, name, unpack, min(most, max(SMALL, MOST_RATIO * len(body))))
    return body


def _within(body: bytes, name: str, unpack: "_Unpack", most: int) -> bytes:
    try:
        content, at_end = unpack(body, most + 1)
    except (zlib.error, brotli.error, zstandard.ZstdError) as error:
        raise PackedError(f"The body is not {name}: it cannot be decompressed.") from error
    if len(content) > most:
        raise TooLargeError(f"The body unpacks to more than {most:,} bytes. Send less at a time.")
    if not at_end:
        raise PackedError(f"The body is incomplete: its {name} does not end.")
    return content


#: A body and how much of it to unpack → what it is, and whether its end was reached.
_Unpack = Callable[[bytes, int], tuple[bytes, bool]]


def _plain(body: bytes, _most: int) -> tuple[bytes, bool]:
    return body, True


def _zlib(window: int) -> _Unpack:
    def unpack(body: bytes, most: int) -> tuple[bytes, bool]:
        unpacking = zlib.decompressobj(window)
        content = unpacking.decompress(body, most)
        _nothing_behind(unpacking.unused_data)
        return content, unpacking.eof

    return unpack


def _brotli(body: bytes, most: int) -> tuple[bytes, bool]:
    unpacking = brotli.Decompressor()
    pieces, size, piece = [], 0, body
    while size < most and not unpacking.is_finished():
        content = unpacking.process(piece, output_buffer_limit=_PIECE)
        if not content and unpacking.can_accept_more_data():
            break  # all was read, and the end has not come
        pieces.append(content)
        size, piece = size + len(content), b""
    return b"".join(pieces), unpacking.is_finished()


def _zstd(body: bytes, most: int) -> tuple[bytes, bool]:
    source = io.BytesIO(body)
    unpacking = zstandard.ZstdDecompressor(max_window_size=_MOST_WINDOW).decompressobj()
    pieces, size = [], 0
    while size < most and not unpacking.eof and (piece := source.read(_ZSTD_PIECE)):
        content = unpacking.decompress(piece)
        pieces.append(content)
        size += len(content)
    if unpacking.eof:
        _nothing_behind(unpacking.unused_data + source.read(1))
    return b"".join(pieces), unpacking.eof


def _nothing_behind(rest: bytes) -> None:
    if rest:
        raise PackedError("Data follows the end of the compressed body; nothing was accepted.")


#: Bytes of zstd at once: a block takes three of them at least and unpacks to 128 KiB at most, so this is some 3 MiB.
_ZSTD_PIECE = 64
_UNPACKING: Mapping[str, _Unpack] = {
    "": _plain,
    "identity": _plain,
    "gzip": _zlib(16 + zlib.MAX_WBITS),
    "x-gzip": _zlib(16 + zlib.MAX_WBITS),
    "deflate": _zlib(zlib.MAX_WBITS),
    "br": _brotli,
    "zstd": _zstd,
}
KNOWN = "gzip, deflate, br or zstd"
