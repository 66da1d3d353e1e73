"""What is compressed comes back as it was, and what was stored before is read as it is."""

from datetime import UTC, datetime

import pytest
from django.db import connection

from dashboard.platform.ids import new_id
from dashboard.turns.models import AttemptChunk, Record
from dashboard.turns.record_compression import MARK, packed_columns, packed_raw, raw_of, unpacked_columns
from tests.dashboard.gateway.told_turns import ODD

AT = datetime(2026, 11, 20, 12, tzinfo=UTC)
EVENT = {"type": "model_responded", "at": 1.5, "response": {"text": f"{ODD}\n" * 50}}
COMMAND = {"type": "finish", "output_text": f"{ODD}\n" * 50}
WHOLE = {"event": EVENT, "transitions": [{"reason": ODD}], "command": COMMAND, "observed": [{"type": "x"}]}
ANSWERS = [
    b"",
    b"{}",
    b"data: {}\n\n" * 500,
    bytes(range(256)),
    MARK,
    MARK + b"x" * 100,
    MARK + b"\x00no frame",
    MARK + b"\x0a",
]


def test_a_record_is_restored_unchanged():
    columns = packed_columns(WHOLE)
    assert unpacked_columns(columns["packed"]) == WHOLE
    assert columns["event"] == {"type": "model_responded"}, "what statements ask for"
    assert columns["command"] == {"type": "finish"}
    assert len(columns["packed"]) < len(ODD) * 50, "what stands in two places takes the bytes of one"


@pytest.mark.django_db
@pytest.mark.parametrize("raw", ANSWERS)
def test_the_bytes_of_an_answer_are_restored_unchanged(raw: bytes):
    AttemptChunk.objects.create(turn_id=new_id(), attempt=1, n=1, raw=raw, at=AT)
    assert AttemptChunk.objects.get().raw == raw
    assert AttemptChunk.objects.values_list("raw", flat=True).get() == raw
    assert raw_of(packed_raw(raw)) == raw


@pytest.mark.django_db
def test_a_stream_takes_few_bytes_after_the_record_of_its_text():
    turn_id, words = new_id(), [f"w{n * n} " for n in range(300)]
    raw = b"".join(b'data: {"id": "x", "delta": {"content": "%b"}}\n\n' % word.encode() for word in words)
    columns = packed_columns(WHOLE | {"event": EVENT | {"response": {"text": "".join(words)}}})
    Record.objects.create(turn_id=turn_id, seq=2, at=AT, core_version="3", **columns)
    stored = packed_raw(raw, (turn_id, 2, columns["packed"]))
    assert raw_of(stored) == raw
    assert len(stored) < 300 < len(packed_raw(raw))
    assert raw_of(packed_raw(raw)) == raw, "before its record is there"


@pytest.mark.django_db
def test_bytes_stored_by_earlier_releases_are_read():
    turn_id, raw = new_id(), b"data: {}\n\n" * 500
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO turns_attemptchunk (turn_id, attempt, n, raw, text, at) VALUES (%s, 1, 1, %s, '', %s)",
            [turn_id, raw, AT],
        )
    assert AttemptChunk.objects.get().raw == raw
    assert len(packed_raw(raw)) < 100


@pytest.mark.django_db
def test_bytes_after_a_record_take_almost_no_space_and_are_read_with_it():
    turn_id, words = new_id(), " ".join(map(str, range(500)))
    raw = b'{"choices": [{"message": {"content": "%b"}}]}' % words.encode()
    columns = packed_columns(WHOLE | {"event": EVENT | {"response": {"text": words}}})
    record = Record(turn_id=turn_id, seq=2, at=AT, core_version="3", **columns)
    stored = packed_raw(raw, (turn_id, 2, columns["packed"]))
    assert len(stored) < 120 < len(packed_raw(raw)) / 4
    assert raw_of(stored) == stored, "its record is not there"
    record.save(force_insert=True)
    assert raw_of(stored) == raw
    other = packed_columns(WHOLE | {"event": EVENT | {"response": {"text": words[::-1]}}})["packed"]
    changed = packed_raw(raw[::-1], (turn_id, 2, other))
    assert raw_of(changed) == changed, "its record is another than it was"
