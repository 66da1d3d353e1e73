"""Two sequences aligned: the stretches cover both, what is called the same is the same, and it is quick."""

from collections.abc import Callable, Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.replay.comparison.alignment import Stretch, align, few_edits
from tests.agentcore.time_growth import grows_linearly
from tests.together import together

LISTS = st.lists(st.integers(0, 4), max_size=40)


def common(left: Sequence[int], right: Sequence[int]) -> int:
    """The length of the longest common subsequence, by the book."""
    row = [0] * (len(right) + 1)
    for one in left:
        before = 0
        for k, other in enumerate(right, start=1):
            before, row[k] = row[k], before + 1 if one == other else max(row[k], row[k - 1])
    return row[-1]


@given(LISTS, LISTS)
def test_the_blocks_cover_both_sides_in_order_and_are_correct(left: list[int], right: list[int]):
    at = (0, 0)
    before: bool | None = None
    for stretch in align(left, right):
        assert (stretch.i, stretch.k) == at
        assert stretch.same is not before
        assert (left[stretch.i : stretch.j] == right[stretch.k : stretch.l]) is stretch.same
        at, before = (stretch.j, stretch.l), stretch.same
    assert at == (len(left), len(right))


@given(LISTS)
def test_equal_texts_are_one_block(items: list[int]):
    assert align(items, items) == ([Stretch(True, 0, len(items), 0, len(items))] if items else [])


@given(LISTS, LISTS)
def test_both_directions_have_equally_much_in_common(left: list[int], right: list[int]):
    there, back = align(left, right), align(right, left)
    assert sum(s.j - s.i for s in there if s.same) <= common(left, right)
    assert bool([s for s in there if s.same]) == bool([s for s in back if s.same])


@together
@pytest.mark.parametrize("seed", range(20))
def test_a_few_changes_are_found_as_a_few_changes(seed: int):
    chance = Random(seed)
    left = [chance.randrange(6) for _ in range(60)]
    right = list(left)
    del right[30]
    right.insert(10, 9)
    assert sum(s.j - s.i for s in align(left, right) if s.same) == common(left, right)


def test_without_a_budget_repeats_count_as_different():
    left, right = [1, 2] * 50, [2, 1] * 50
    assert [s.same for s in align(left, right, budget=0)] == [False]
    assert sum(s.j - s.i for s in align(left, right) if s.same) == 99


@pytest.mark.parametrize("words", [lambda _size: 2, lambda _size: 300, lambda size: size], ids=["two", "some", "many"])
def test_ten_times_as_many_words_take_about_ten_times_as_long(words: Callable[[int], int]):
    def work(size: int) -> None:
        chance = Random(size)
        left, right = ([chance.randrange(words(size)) for _ in range(size)] for _ in range(2))
        align(left, right, budget=size)

    assert grows_linearly(work, 3_000)


@given(left=LISTS, right=LISTS)
def test_the_common_part_is_the_longest_common_subsequence(left: list[int], right: list[int]):
    matches = few_edits(left, right, len(left) + len(right), 100_000)
    assert matches is not None
    assert all(left[x] == right[y] for x, y in matches)
    assert matches == sorted(matches)
    assert len({x for x, _ in matches}) == len({y for _, y in matches}) == len(matches) == common(left, right)


@given(left=LISTS, right=LISTS, most=st.integers(0, 80))
def test_it_gives_up_exactly_where_the_path_exceeds_the_limit(left: list[int], right: list[int], most: int):
    edits = len(left) + len(right) - 2 * common(left, right)
    assert (few_edits(left, right, most, 100_000) is None) == (edits > most)


@given(left=LISTS, right=LISTS, steps=st.integers(0, 200))
def test_with_few_steps_it_finds_the_same_or_nothing(left: list[int], right: list[int], steps: int):
    most = len(left) + len(right)
    assert few_edits(left, right, most, steps) in (None, few_edits(left, right, most, 100_000))
