"""Packed bodies: the same bytes again, or a sentence, and never more of them in memory than may be."""

import contextlib
import gzip
import tracemalloc
import zlib
from collections.abc import Callable, Mapping

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from dashboard.gateway.wire.decompression import SMALL, PackedError, TooLargeError, unpacked

PACK: Mapping[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": lambda body: bytes(brotli.compress(body, quality=1)),
    "zstd": zstandard.ZstdCompressor().compress,
}
every_coding = pytest.mark.parametrize("coding", PACK)


@every_coding
@given(content=st.binary(max_size=2000), times=st.integers(1, 40))
def test_compressed_bytes_are_restored(coding: str, content: bytes, times: int) -> None:
    body = content * times
    assert unpacked(PACK[coding](body), coding) == body


def test_two_codings_are_decoded_from_the_last_to_the_first() -> None:
    assert unpacked(brotli.compress(gzip.compress(b"{}")), " GZIP , br") == b"{}"
    with pytest.raises(PackedError, match="more than twice"):
        unpacked(b"", "gzip, gzip, gzip")


@every_coding
def test_a_truncated_body_or_one_with_trailing_data_is_refused(coding: str) -> None:
    whole = PACK[coding](b"why does it stop? " * 100)
    for cut in range(1, len(whole)):
        with pytest.raises(PackedError):
            unpacked(whole[:cut], coding)
    with pytest.raises(PackedError):
        unpacked(whole + b"more", coding)


@every_coding
@given(body=st.binary(max_size=300))
def test_other_bytes_raise_only_the_decompression_error(coding: str, body: bytes) -> None:
    with contextlib.suppress(PackedError):
        assert PACK[coding](unpacked(body, coding))  # bytes that happen to be packed ones


@every_coding
def test_an_oversized_decompression_is_refused_within_its_memory_limit(coding: str) -> None:
    bomb = PACK[coding](bytes(16 * SMALL))
    tracemalloc.start()
    try:
        with pytest.raises(TooLargeError):
            unpacked(bomb, coding, most=SMALL)
        assert tracemalloc.get_traced_memory()[1] < 8 * SMALL
    finally:
        tracemalloc.stop()


def test_an_unknown_coding_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        unpacked(b"", "compress")
