from datetime import UTC, datetime

import pytest
from django.db import IntegrityError, connection, transaction

from dashboard.platform.ids import first_id_at
from dashboard.turns import partitions
from dashboard.turns.models import Record

pytestmark = pytest.mark.django_db

LATER = datetime(2031, 12, 15, tzinfo=UTC)


def record(moment: datetime, seq: int = 1) -> None:
    Record.objects.create(turn_id=first_id_at(moment), seq=seq, at=moment, event={}, command={}, core_version="1")


def piece_of(moment: datetime) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT tableoid::regclass::text FROM turns_record WHERE turn_id = %s", [first_id_at(moment)])
        (name,) = cursor.fetchone()
    return name


def test_after_a_migration_the_partitions_of_this_month_and_the_next_two_exist(django_assert_num_queries):
    with django_assert_num_queries(1):
        assert partitions.ensure() == []
    assert len(partitions.ensure(ahead=3)) in (0, 3)
    record(datetime.now(UTC))
    assert Record.objects.count() == 1


def test_a_year_ends_and_another_begins():
    made = partitions.ensure(now=LATER, ahead=1)
    assert [name for name in made if name.startswith("turns_record")] == [
        "turns_record_p203112",
        "turns_record_p203201",
    ]
    assert partitions.ensure(now=LATER, ahead=1) == []


def test_a_row_goes_to_the_partition_of_its_turns_month():
    partitions.ensure(now=LATER)
    first, last = datetime(2031, 12, 1, tzinfo=UTC), datetime(2031, 12, 31, 23, 59, 59, 999000, tzinfo=UTC)
    record(first)
    record(last)
    assert {piece_of(first), piece_of(last)} == {"turns_record_p203112"}


def test_rows_stored_before_their_partition_existed_move_into_it():
    record(LATER)
    record(datetime(2033, 1, 1, tzinfo=UTC))
    assert piece_of(LATER) == "turns_record_default"
    partitions.ensure(now=LATER, ahead=0)
    assert piece_of(LATER) == "turns_record_p203112"
    assert piece_of(datetime(2033, 1, 1, tzinfo=UTC)) == "turns_record_default"


def test_a_new_partition_is_as_protected_as_its_table():
    record(LATER)
    partitions.ensure(now=LATER, ahead=0)
    for refused in ("UPDATE turns_record SET seq = 2", "DELETE FROM turns_record", "DELETE FROM turns_record_p203112"):
        with pytest.raises(IntegrityError, match="was refused"), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(refused)


def test_the_same_turn_and_seq_cannot_be_written_twice_after_the_move():
    record(LATER)
    partitions.ensure(now=LATER, ahead=0)
    with pytest.raises(IntegrityError, match="duplicate key"), transaction.atomic():
        record(LATER)


def test_only_an_empty_partition_of_a_past_month_is_dropped():
    """A late row of that month is kept by the default piece, and refuses changes as before."""
    partitions.ensure(now=LATER, ahead=3)
    full = datetime(2032, 1, 5, tzinfo=UTC)
    record(full)
    soon = datetime(2032, 4, 1, tzinfo=UTC)
    dropped = [name for name in partitions.drop_empty(now=soon) if name.startswith("turns_record_p203")]
    assert dropped == ["turns_record_p203112", "turns_record_p203202"]
    assert piece_of(full) == "turns_record_p203201"
    assert partitions.drop_empty(now=soon) == []
    record(LATER)
    assert piece_of(LATER) == "turns_record_default"
    record(datetime(2032, 3, 5, tzinfo=UTC))
    assert piece_of(datetime(2032, 3, 5, tzinfo=UTC)) == "turns_record_p203203"


def test_a_row_written_before_the_drop_keeps_its_partition(monkeypatch):
    partitions.ensure(now=LATER, ahead=0)
    asked: list[str] = []
    really = partitions._empty

    def empty(database, piece: str) -> bool:
        """The first look is over when the row comes; the second has the table to itself."""
        found = really(database, piece)
        if piece == "turns_record_p203112" and piece not in asked:
            record(LATER)
        asked.append(piece)
        return found

    monkeypatch.setattr(partitions, "_empty", empty)
    dropped = partitions.drop_empty(now=datetime(2032, 4, 1, tzinfo=UTC))
    assert "turns_record_p203112" not in dropped
    assert asked.count("turns_record_p203112") == 2
    assert piece_of(LATER) == "turns_record_p203112"
