"""Stored bytes: compressed after what is known, where that is shorter; what was stored before is read as it is."""

import hashlib
import json
from pathlib import Path

import pytest
import zstandard

from dashboard.turns import compression
from dashboard.turns.compression import packed, packed_one_by_one, unpacked

TEXTS = [b"", b"short", b"word " * 2_000, bytes(range(256)) * 40, b'{"criterion":"StepsLimit"}']
#: Never another: what is stored was compressed after it.
KNOWN = "a3c6d8437393b07b22cdd21773ffdd4559363da03cc8463bf2ad967c502b8cac"


@pytest.mark.parametrize("text", TEXTS)
def test_long_values_are_compressed_and_values_that_would_grow_are_not(text: bytes):
    assert unpacked(packed(text)) == text
    assert unpacked(packed_one_by_one([text[:3], text[3:]])) == text
    assert len(packed(text)) <= len(text) + 1


@pytest.mark.parametrize("text", TEXTS)
def test_independently_compressed_values_are_read(text: bytes):
    assert unpacked(b"\x01" + zstandard.ZstdCompressor().compress(text)) == text


MORE = [packed(b"word " * 2_000) + more for more in (b"\0", b"forged", packed(b"word " * 2_000)[1:])]


@pytest.mark.parametrize(
    "stored", [b"", b"\x09abc", b"\x01no zstd", b"\x02no zstd", packed(b"word " * 2_000)[:-2], *MORE]
)
def test_bytes_in_another_format_are_refused(stored: bytes):
    with pytest.raises(ValueError, match="Stored bytes"):
        unpacked(stored)


def test_the_dictionary_never_changes_and_takes_no_room():
    known = Path(compression.__file__).with_name("known_json.txt").read_bytes()
    assert hashlib.sha256(known).hexdigest() == KNOWN
    evaluation = {"criterion": "EnvelopeCriterion", "decision": "allow", "reason": "no envelope is being judged"}
    text = json.dumps(evaluation | {"context": {}}, separators=(",", ":")).encode()
    assert len(packed(text)) < len(text) / 4
