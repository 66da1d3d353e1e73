"""One reader of records, in whichever rows they stand."""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from uuid import UUID

import pytest
from django.db import connection, transaction
from django.test import Client

import dashboard
from agentcore.events import OperatorActed
from agentcore.machine.advance import advance
from agentcore.replay import verify
from dashboard.accounts.models import User
from dashboard.gateway.recording.complete_turns import TurnStore
from dashboard.gateway.recording.recorder_messages import AnswerChunk, TurnUpdate
from dashboard.policies.backtests.recording_loader import batches, recordings
from dashboard.replay.services import turn_verify
from dashboard.turns.compression import packed, unpacked
from dashboard.turns.derived_rows import StoredTurn, derived_faults
from dashboard.turns.history import recording_of
from dashboard.turns.models import Piece, Record, Turn
from dashboard.turns.record_reader import acts_between, last_record, record_at, records_of, stamps_of
from dashboard.turns.recorder import StepRows
from dashboard.turns.row_mapping import MOST_TOGETHER, rows_of
from tests.dashboard.driving import Play
from tests.dashboard.gateway.told_turns import ODD, Story, cut, ended
from tests.together import together as all_cases

pytestmark = pytest.mark.django_db(transaction=True)
#: Who writes rows, who compares them as they are, and a bench of what the database itself takes.
ROWS = {
    *("turns/record_reader", "turns/derived_rows", "turns/recorder", "seals/seal_check", "turn_files/services"),
    *("bench/turn", "bench/what_if", "bench/long_turn"),
}
ANSWERS = [cut(f"first {ODD}"), cut("second "), ended("third")]


def numbers(records) -> list[int]:
    return [record.seq for record in records]


@pytest.fixture
def together() -> Turn:
    """A turn whose four records were committed at once, a second apart."""
    story = Story(ANSWERS)
    pieces, entries = zip(*story.steps(), strict=True)
    chunks = [AnswerChunk(n, entries[n].at, [raw], [text]) for n, raw, text in filter(None, pieces)]
    with TurnStore() as store:
        store.store([(story.id, TurnUpdate(0.0, story.new_turn(), list(entries), chunks))])
    return Turn.objects.get(id=story.id)


def test_records_are_read_in_order_from_any_position_and_backwards(play: Play, together: Turn):
    assert Record.objects.filter(turn_id=together.id).count() == 1
    for turn in (play("sim-essay", max_tokens=60), together):
        last = turn.last_seq
        assert numbers(records_of(turn.id)) == list(range(1, last + 1))
        assert numbers(records_of(turn.id, after=1, upto=3)) == [2, 3]
        assert numbers(records_of(turn.id, after=1, backwards=True)) == list(range(last, 1, -1))
        assert record_at(turn.id, 2).seq == 2
        assert record_at(turn.id, last + 1) is None
        assert last_record(turn.id).seq == last
        assert stamps_of(turn.id) == [(record.at, record.core_version) for record in records_of(turn.id)]


def test_records_committed_together_read_back_unchanged(together: Turn):
    entries = [entry for _, entry in Story(ANSWERS, id=together.id).steps()]
    recording = recording_of(together)
    assert [record.event for record in recording.records] == [entry.event for entry in entries]
    assert [at for at, _ in stamps_of(together.id)] == [entry.at for entry in entries]
    assert verify(recording).verified
    assert list(derived_faults(together, recording, StoredTurn(together))) == []
    assert b"".join(map(bytes, Piece.objects.order_by("attempt").values_list("raw", flat=True))) == b"".join(
        answer.text.encode("utf-8", "surrogatepass") for answer in ANSWERS
    )
    ((_, judged),) = [found for batch in batches(Turn.objects.all()) for found in recordings(batch)]
    assert [record.event for record in judged.records] == [entry.event for entry in entries]


def test_records_of_several_turns_are_returned_turn_by_turn(play: Play, together: Turn):
    turns = sorted([play("sim-script"), together, play("sim-essay", max_tokens=60)], key=lambda turn: turn.id)
    assert [(record.turn_id, record.seq) for record in records_of({turn.id for turn in turns})] == [
        (turn.id, seq) for turn in turns for seq in range(1, turn.last_seq + 1)
    ]


def acted(turn_id: UUID) -> Iterator[StepRows]:
    """Steps of which an operator's is in the middle."""
    *before, last = (entry for _, entry in Story([cut("first "), ended("second")], id=turn_id).steps())
    yield from before
    event = OperatorActed(before[-1].event.at, "ada")
    step = advance(before[-1].step.snapshot, event, Story([]).ruling.policy)
    yield StepRows(turn_id, 3, before[-1].at, before[0].at, event, step)
    again = advance(step.snapshot, last.event, Story([]).ruling.policy)
    yield StepRows(turn_id, 4, last.at, before[0].at, last.event, again, last.ended)


def test_records_that_queries_need_have_their_own_row():
    story = Story([])
    with TurnStore() as store:
        store.store([(story.id, TurnUpdate(0.0, story.new_turn(), list(acted(story.id))))])
    rows = Record.objects.order_by("seq").values_list("seq", "length")
    assert list(rows) == [(1, 2), (3, 1), (4, 1)]
    assert numbers(acts_between(story.id, story.id)) == [3]
    assert numbers(records_of(story.id)) == [1, 2, 3, 4]


def lengths(records: Iterable[dict]) -> list[int]:
    return [len(row) for row in rows_of(list(records))]


def test_the_number_of_records_per_row_is_limited():
    plain = {"event": {"type": "x"}, "command": {"type": "y"}}
    held = plain | {"command": {"type": "hold"}}
    assert lengths([plain] * (MOST_TOGETHER + 1)) == [MOST_TOGETHER, 1]
    assert lengths([plain, held, held, plain, plain]) == [1, 1, 1, 2]


@pytest.mark.parametrize("damage", ["length = 3", "packed = NULL", "packed = 'broken'", "length = 5"])
def test_an_unreadable_row_is_named_and_hides_no_other_turn(play: Play, together: Turn, damage: str):
    browser = Client()
    other = play("sim-essay", max_tokens=60)
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = 'replica'")
        cursor.execute(f"UPDATE turns_record SET {damage} WHERE turn_id = %s", [together.id])
        cursor.execute("SET session_replication_role = 'origin'")
    assert numbers(records_of({together.id, other.id}, after=1, upto=2)) == [2]
    found = {told.id: recording for batch in batches(Turn.objects.all()) for told, recording in recordings(batch)}
    assert (found[together.id], found[other.id] is None) == (None, False)
    assert not turn_verify(turn=together).verified
    browser.force_login(User.objects.create_superuser("ada"))
    assert "cannot be read any more" in browser.post(f"/turns/{together.id}/replay/verify").content.decode()
    assert turn_verify(turn=other).verified


def line(number: int, text: bytes) -> Callable[[list[bytes]], None]:
    return lambda lines: lines.__setitem__(number, text)


@pytest.fixture
def other(play: Play) -> Turn:
    return play("sim-essay", max_tokens=60)


@all_cases
@pytest.mark.parametrize(
    "change",
    [
        *(line(-1, text) for text in (b"[%d,0,0]" % 10**30, b"[1e308,0,0]", b'["x",0,0]', b"{}", b"5", b"[null,0,0]")),
        line(0, b'{"type":"started","setup":[5,{}]}'),
        line(0, b'{"type":"started","setup":["x",{}]}'),
        line(0, b'{"type":"started","setup":["x"]}'),
        line(0, b'{"type":"started","messages":"x"}'),
        line(0, b"[" * 100_000),
        line(1, b"[" * 100_000 + b"]" * 100_000),
        line(2, b"null"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("alone", [False, True])
def test_a_changed_value_within_a_row_raises_nothing_and_hides_no_other_turn(
    other: Turn, together: Turn, change: Callable[[list[bytes]], None], alone: bool
):
    row = Record.objects.filter(turn_id=other.id if alone else together.id).order_by("seq")
    seq, length, content = row.values_list("seq", "length", "packed")[0]
    assert (length == 1) == alone
    lines = unpacked(content).split(b"\n")
    change(lines)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = 'replica'")
        changed = [packed(b"\n".join(lines)), row[0].turn_id, seq]
        cursor.execute("UPDATE turns_record SET packed = %s WHERE turn_id = %s AND seq = %s", changed)
        is_read(together, other, alone=alone)
        transaction.set_rollback(True)


def is_read(together: Turn, other: Turn, *, alone: bool) -> None:
    """By all that read records; `alone`: it is the other that was changed."""
    for turn in (together, other):
        list(records_of(turn.id, backwards=True))
        assert stamps_of(turn.id)
        record_at(turn.id, 1)
        turn_verify(turn=turn)
    assert turn_verify(turn=other).verified or alone
    found = {told.id: recording for batch in batches(Turn.objects.all()) for told, recording in recordings(batch)}
    assert found[together.id if alone else other.id] is not None


def test_no_other_module_reads_the_record_rows():
    sources = Path(dashboard.__file__).parent.rglob("*.py")
    reading = {
        f"{path.parent.name}/{path.stem}" for path in sources if re.search(r"\bRecord\.objects\b", path.read_text())
    }
    assert reading == ROWS
