"""Whatever a file holds, it is read to its end: what can be taken is taken, the rest is told of."""

import copy
import gzip
import json
import random
import zipfile
from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.ingest.logs import json_list_reader, line_reader
from dashboard.ingest.logs.format_detection import UNEXPECTED
from dashboard.ingest.logs.line_reader import BOMB, DAMAGED, too_long
from dashboard.ingest.logs.services import NOT_MADE
from dashboard.ingest.logs.values import Episode, Fault
from dashboard.ingest.models import Ingested
from dashboard.turns.models import Attempt, Record, Turn
from tests.dashboard.ingest.logs.samples import FILES, RECORDS
from tests.dashboard.ingest.logs.writing import chat_answer, chat_request, faults_in, found_in, imported
from tests.dashboard.ingest.logs.writing import lines as written
from tests.examples import examples

ODD: list[Any] = [
    *(None, True, -1, 0, 2**70, 1e300, "", "\0", "\ud800", "stop", "2026-03-01", "x" * 9000),
    *([], {}, [None], {"a": []}, [[{}]]),
]
BYTES = (b"", b'"', b"{", b"]", b"\\", b"\n", b"\xff", b"\0", b"- ")


def places_in(value: Any) -> list[tuple[Any, Any]]:
    """Every list or object in it, with each of its keys."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    return [(value, key) for key in keys] + [place for key in keys for place in places_in(value[key])]


def broken(record: Any, chance: random.Random) -> Any:
    """The record with one to three of its values odd or gone."""
    record = copy.deepcopy(record)
    for _ in range(chance.randint(1, 3)):
        holder, key = chance.choice(places_in(record) or [([0], 0)])
        if isinstance(holder, dict) and chance.random() < 0.3:
            del holder[key]
        else:
            holder[key] = copy.deepcopy(chance.choice(ODD))
    return record


@pytest.mark.parametrize("name", RECORDS)
@settings(max_examples=examples(60), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_records_with_unusual_values_are_accepted_or_reported(name: str, seed: int) -> None:
    chance = random.Random(seed)
    found = found_in(written(*(broken(record, chance) for record in RECORDS[name])))
    assert UNEXPECTED not in {fault.words for fault in found if isinstance(fault, Fault)}


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=examples(40), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_files_with_unusual_bytes_are_read_to_their_end(name: str, seed: int) -> None:
    chance, content = random.Random(seed), bytearray(FILES[name])
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(content) + 1)
        content[at : at + chance.randint(0, 3)] = chance.choice(BYTES)
    found = found_in(bytes(content[: chance.randint(1, len(content))]))
    assert UNEXPECTED not in {fault.words for fault in found if isinstance(fault, Fault)}


@given(content=st.binary(max_size=300))
@settings(max_examples=examples(100), deadline=None)
def test_any_bytes_are_read_to_their_end(content: bytes) -> None:
    for begin in (b"", b"[", b"interactions:\n- ", b"\x1f\x8b\x08"):
        found_in(begin + content)


@pytest.mark.django_db
def test_each_unusual_record_is_stored_completely_or_not_at_all() -> None:
    chance = random.Random(18)
    for name, records in RECORDS.items():
        content = written(*(broken(record, chance) for _ in range(12) for record in records))
        _, faults = imported(content, name=name)
        assert not {NOT_MADE, UNEXPECTED} & {fault.words for fault in faults}, name
    turns = set(Turn.objects.values_list("id", flat=True))
    assert set(Ingested.objects.values_list("turn_id", flat=True)) == turns
    assert set(Record.objects.values_list("turn_id", flat=True)) == turns
    assert set(Attempt.objects.values_list("turn_id", flat=True)) == turns
    assert Turn.objects.filter(finished_at=None).count() == 0


PAIR = {"request": chat_request(), "response": chat_answer()}


def test_endless_nesting_is_reported() -> None:
    content = b"[" * 200_000 + b"\n" + b'{"a":' * 200_000 + b"\n" + written(PAIR)
    assert not any(isinstance(one, Episode) for one in found_in(content))
    ((line, words),) = faults_in(b'{"a": 1}\n' + b'{"a":' * 200_000 + b"\n" + written(PAIR))[1:]
    assert (line, words.partition(":")[0]) == (2, "It is not JSON")


@pytest.mark.parametrize(
    "broken",
    [
        written(PAIR)[:40], b'{"a": 1,', b'{"a": "', b'{"a": 1}}', b"{nonsense", b"[info] started",
        b"[2026-03-01] started", b"[1, 2", b"[" * 5000,
    ],
)  # fmt: skip
def test_lines_after_a_broken_first_line_are_read(broken: bytes) -> None:
    content = broken.rstrip() + b"\n" + written(PAIR, PAIR)
    assert [line for line, _ in faults_in(content)] == [1]
    assert sum(isinstance(one, Episode) for one in found_in(content)) == 2


@pytest.mark.parametrize("records", [{"entries": [PAIR]}, {"a": {}, "data": [PAIR, PAIR]}, [PAIR, {}]])
def test_a_multi_line_document_is_read_as_one_document(records: Any) -> None:
    content = json.dumps(records, indent=1).encode()
    assert any(isinstance(one, Episode) for one in found_in(content))
    assert "It is not JSON" not in {words.partition(":")[0] for _, words in faults_in(content)}


def test_a_line_that_is_too_long_is_skipped_and_not_kept_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_reader, "MOST_LINE", 2000)
    monkeypatch.setattr(json_list_reader, "MOST_LINE", 2000)
    long = {"request": chat_request(), "response": chat_answer("x" * 5000)}
    assert faults_in(written(PAIR, long, PAIR)) == [(2, too_long("line"))]
    listed = b"[" + b",".join(written(one) for one in (PAIR, long, PAIR)) + b"]"
    assert [line for line, _ in faults_in(listed)] == [2]
    assert sum(isinstance(one, Episode) for one in found_in(listed)) == 2


def test_a_file_of_too_many_lines_is_read_up_to_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_reader, "MOST_LINES", 3)
    monkeypatch.setattr(line_reader, "MOST_BLANK", 2)
    assert faults_in(written(*[PAIR] * 3) + b"\n \n") == []
    for many in (written(*[PAIR] * 4), b"[" + b",".join([written(PAIR)] * 4) + b"]"):
        assert faults_in(many) == [(0, line_reader.TOO_MANY)]
        assert sum(isinstance(one, Episode) for one in found_in(many)) == 3
    assert faults_in(b"\n" * 2**21 + written(PAIR)) == [(0, line_reader.TOO_BLANK)]


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_a_compressed_file_is_decompressed_within_limits(
    pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    content = pack(written(PAIR))
    assert faults_in(content) == []
    assert faults_in(content + content) == []
    assert sum(isinstance(one, Episode) for one in found_in(content + content)) == 2
    assert faults_in(content[:-20]) == [(0, DAMAGED)]
    assert faults_in(content + b"no frame")[-1:] == [(0, DAMAGED)]
    monkeypatch.setattr(line_reader, "MOST_UNPACKED", 2**20)
    bomb = pack(written(PAIR) + b" " * 2**24)
    assert faults_in(bomb) == [(0, BOMB)]


def test_for_an_archive_of_files_the_user_is_told_to_unpack_it() -> None:
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as whole:
        whole.writestr("log.jsonl", written(PAIR))
    assert not any(isinstance(one, Episode) for one in found_in(packed.getvalue()))
