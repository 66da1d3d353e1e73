"""One reader of records."""

import re
from pathlib import Path

import pytest

import dashboard
from dashboard.turns.record_reader import last_record, record_at, records_of, stamps_of
from tests.dashboard.driving import Play

pytestmark = pytest.mark.django_db(transaction=True)
#: Who writes rows, who compares them as they are, and a bench of what the database itself takes.
ROWS = {"record_reader", "derived_rows", "recorder", "rows", "turn", "what_if", "long_turn"}


def numbers(records) -> list[int]:
    return [record.seq for record in records]


def test_records_are_read_in_order_from_any_place_and_backwards(play: Play):
    turn = play("truncated-3")
    last = turn.last_seq
    assert numbers(records_of(turn.id)) == list(range(1, last + 1))
    assert numbers(records_of(turn.id, after=1, upto=3)) == [2, 3]
    assert numbers(records_of(turn.id, after=1, backwards=True)) == list(range(last, 1, -1))
    assert record_at(turn.id, 2).seq == 2
    assert record_at(turn.id, last + 1) is None
    assert last_record(turn.id).seq == last
    assert stamps_of(turn.id) == [(record.at, record.core_version) for record in records_of(turn.id)]


def test_of_several_turns_they_come_turn_by_turn(play: Play):
    turns = sorted([play("sim-script"), play("truncated-3")], key=lambda turn: turn.id)
    assert [(record.turn_id, record.seq) for record in records_of({turn.id for turn in turns})] == [
        (turn.id, seq) for turn in turns for seq in range(1, turn.last_seq + 1)
    ]


def test_nobody_else_reads_their_rows():
    sources = Path(dashboard.__file__).parent.rglob("*.py")
    reading = {path.stem for path in sources if re.search(r"\bRecord\.objects\b", path.read_text())}
    assert reading == ROWS
