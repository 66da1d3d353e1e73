"""The shortest way between two sequences, where it is short."""

from hypothesis import given
from hypothesis import strategies as st

from dashboard.replay.comparison.edit_script import few_edits
from tests.dashboard.replay.comparison.test_alignment import LISTS, common


@given(left=LISTS, right=LISTS)
def test_what_stays_is_the_longest_that_both_have_in_order(left: list[int], right: list[int]):
    matches = few_edits(left, right, len(left) + len(right), 100_000)
    assert matches is not None
    assert all(left[x] == right[y] for x, y in matches)
    assert matches == sorted(matches)
    assert len({x for x, _ in matches}) == len({y for _, y in matches}) == len(matches) == common(left, right)


@given(left=LISTS, right=LISTS, most=st.integers(0, 80))
def test_it_is_given_up_exactly_where_the_way_is_longer(left: list[int], right: list[int], most: int):
    edits = len(left) + len(right) - 2 * common(left, right)
    assert (few_edits(left, right, most, 100_000) is None) == (edits > most)


@given(left=LISTS, right=LISTS, steps=st.integers(0, 200))
def test_who_may_take_few_steps_finds_the_same_or_nothing(left: list[int], right: list[int], steps: int):
    most = len(left) + len(right)
    assert few_edits(left, right, most, steps) in (None, few_edits(left, right, most, 100_000))
