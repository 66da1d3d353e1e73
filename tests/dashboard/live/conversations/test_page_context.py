"""Which turn is shown in full, which in short, which wait; and which parts of the page a change touches."""

from itertools import count, product
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from agentcore.reasons import TurnStatus
from dashboard.live.conversations.page_context import PARTS, changed, turn_layout
from dashboard.live.conversations.selectors import TurnPlace
from dashboard.turns.models import UNFINISHED

STATUSES = [status.value for status in TurnStatus]


def placed(*standing: tuple[str, int]) -> list[TurnPlace]:
    return [TurnPlace(UUID(int=n), n, seq, status, 10) for n, (status, seq) in zip(count(1), standing, strict=False)]


def positions(*standing: tuple[str, int]) -> tuple[list[int], int | None, list[int]]:
    turns = turn_layout(placed(*standing))
    newest = turns.newest.position if turns.newest else None
    return [p.position for p in turns.said], newest, [p.position for p in turns.line]


def test_an_empty_conversation_shows_nothing():
    assert positions() == ([], None, [])


def test_without_a_running_turn_the_last_ended_one_is_the_newest():
    assert positions(("completed", 9), ("failed", 5)) == ([1], 2, [])


def test_the_running_turn_is_the_newest_and_later_ones_wait():
    assert positions(("completed", 9), ("running", 2), ("queued", 0), ("queued", 0)) == ([1], 2, [3, 4])
    assert positions(("completed", 9), ("held", 2), ("queued", 0)) == ([1], 2, [3])


def test_a_turn_that_never_started_is_not_shown_in_full():
    assert positions(("completed", 9), ("cancelled", 0)) == ([2], 1, [])
    assert positions(("aborted", 0)) == ([1], None, [])


@given(st.lists(st.tuples(st.sampled_from(STATUSES), st.integers(0, 3)), max_size=8))
def test_every_turn_has_exactly_one_place(standing: list[tuple[str, int]]):
    said, newest, line = positions(*standing)
    assert sorted([*said, *line, *([newest] if newest else [])]) == list(range(1, len(standing) + 1))
    assert all(standing[position - 1][0] in UNFINISHED for position in line)


def test_a_page_is_sent_the_differences_in_page_order():
    for known in product((True, False), repeat=len(PARTS)):
        now = dict.fromkeys(PARTS, "now")
        before = {part: "now" for part, same in zip(PARTS, known, strict=True) if same}
        assert changed(before, now) == [part for part, same in zip(PARTS, known, strict=True) if not same]
