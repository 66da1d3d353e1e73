"""A packed body, unpacked within a bound: whatever it says of itself, no more than that is ever in memory."""

import zlib

MOST_PACKED = 16 * 1024 * 1024  #: bytes of one body as it is sent
MOST_UNPACKED = 32 * 1024 * 1024  #: bytes of one body
MOST_RATIO = 200  #: as many times the bytes that were sent; what is small may be packed better
SMALL = 1024 * 1024  #: bytes that any body may unpack to
_WINDOWS = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}


class PackedError(ValueError):
    """Why a body cannot be unpacked, in a sentence."""


class TooLargeError(PackedError):
    """It would unpack to more than it may."""


def unpacked(body: bytes, coding: str) -> bytes:
    """The body without its coding. Raises `PackedError`, and `KeyError` for a coding that is not known."""
    if coding in {"", "identity"}:
        return body
    unpacking = zlib.decompressobj(_WINDOWS[coding])
    most = min(MOST_UNPACKED, max(SMALL, MOST_RATIO * len(body)))
    try:
        content = unpacking.decompress(body, most + 1)
    except zlib.error as error:
        raise PackedError(f"The body is not {coding}: it cannot be unpacked.") from error
    if len(content) > most:
        raise TooLargeError(f"The body unpacks to more than {most:,} bytes. Send fewer spans at once.")
    if not unpacking.eof:
        raise PackedError(f"The body is cut off: its {coding} does not end.")
    if unpacking.unused_data:
        raise PackedError(f"Something stands behind the end of the body's {coding}; nothing of it was taken.")
    return content
