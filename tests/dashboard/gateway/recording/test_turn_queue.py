"""What is said of turns is written once, in bounded groups, and what is counted of it adds up."""

import pytest

from dashboard.gateway.recording import turn_queue
from dashboard.gateway.recording.pending_turn import PendingTurn
from dashboard.gateway.recording.turn_queue import TurnQueue
from dashboard.platform.ids import new_id


def due(queue: TurnQueue, size: int) -> PendingTurn:
    """A turn of which so many bytes are said, and for which somebody waits."""
    turn = PendingTurn(new_id())
    queue.turns[turn.id] = turn
    queue.update(turn, size)
    queue.hurry(turn)
    return turn


def taken(queue: TurnQueue, *waiting: PendingTurn) -> list[object]:
    """The turns of the next group, while these wait for what is being written of them."""
    return [turn_id for turn_id, *_ in queue.next_group(lambda turn_id: turn_id in {turn.id for turn in waiting})]


async def test_a_turn_updated_while_being_written_is_due_again():
    queue = TurnQueue()
    turn = due(queue, 10)
    assert taken(queue) == [turn.id]
    queue.update(turn, 5)
    queue.hurry(turn)
    queue.due.clear()  # a group took it while its turn was being written
    queue.stored(turn)
    assert (list(queue.due), turn.is_stored, queue.bytes) == ([turn.id], True, 15)


async def test_an_ended_and_stored_turn_is_removed_from_the_queue():
    queue = TurnQueue()
    turn = due(queue, 10)
    assert taken(queue) == [turn.id]
    turn.has_ended = True
    queue.stored(turn)
    assert not queue.turns


async def test_an_item_that_waits_for_one_being_written_stays():
    queue = TurnQueue()
    turn, other = due(queue, 10), due(queue, 10)
    assert taken(queue, turn) == [other.id]
    assert turn.part is not None
    queue.stored(turn)
    assert taken(queue) == [turn.id]


async def test_a_group_is_bounded_by_turns_and_by_bytes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(turn_queue, "GROUP_TURNS", 3)
    monkeypatch.setattr(turn_queue, "GROUP_BYTES", 100)
    queue = TurnQueue()
    for size in (1, 1, 1, 1, 200, 1):
        due(queue, size)
    assert [len(taken(queue)) for _ in range(4)] == [3, 2, 1, 0]


async def test_dropped_items_are_neither_counted_nor_written():
    queue = TurnQueue()
    turn = due(queue, 10)
    part = turn.part
    assert queue.drop(turn) is part
    assert (queue.drop(turn), queue.bytes, taken(queue)) == (None, 0, [])
