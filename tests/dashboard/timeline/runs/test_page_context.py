"""The turns of a run as one path: it leads to the newest, and what was tried beside it stands before it, set in."""

from uuid import UUID

from dashboard.timeline.runs.page_context import path_of
from dashboard.turns.models import Turn


def turns(**follows):
    """Turns by the order of their names, each with the one that it goes on from."""
    return [Turn(id=UUID(int=ord(name)), follows=UUID(int=ord(of)) if of else None) for name, of in follows.items()]


def told(steps):
    return [(chr(step.turn.id.int), step.number, step.depth, step.after, step.branches) for step in steps]


def test_a_path_without_branches():
    assert told(path_of(turns(a="", b="a", c="b"))) == [
        ("a", 1, 0, None, 0),
        ("b", 2, 0, None, 0),
        ("c", 3, 0, None, 0),
    ]


def test_an_abandoned_branch_is_listed_before_the_continued_one():
    assert told(path_of(turns(a="", b="a", c="b", d="a", e="d"))) == [
        ("a", 1, 0, None, 1),
        ("b", 2, 1, None, 0),
        ("c", 3, 1, None, 0),
        ("d", 4, 0, 1, 0),
        ("e", 5, 0, None, 0),
    ]


def test_the_path_leads_to_the_newest_turn_even_on_an_older_branch():
    assert [name for name, *_ in told(path_of(turns(a="", b="a", c="a", d="b")))] == ["a", "c", "b", "d"]


def test_retried_starts_and_a_turn_without_its_predecessor_are_shown():
    assert told(path_of(turns(b="a", c=""), first=3)) == [("b", 3, 1, None, 0), ("c", 4, 0, None, 0)]


def test_a_run_may_have_any_length():
    line = [Turn(id=UUID(int=n), follows=UUID(int=n - 1) if n > 1 else None) for n in range(1, 3_001)]
    assert [step.number for step in path_of(line)] == list(range(1, 3_001))
