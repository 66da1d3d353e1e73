from uuid import UUID

from dashboard.policies.backtests.answer_lengths import one_per_family
from dashboard.policies.backtests.survival import Length


def of_turns(*turns):
    """Turns as `(number, number of the turn it runs again, tokens, whether it ended)`, the oldest first."""
    rows = [(UUID(int=n), UUID(int=parent) if parent else None, Length(*told)) for n, parent, *told in turns]
    return one_per_family(rows[::-1], lambda length: length)


def test_a_re_run_that_ended_counts_in_place_of_the_truncated_turn():
    assert of_turns((1, None, 100, False), (2, 1, 300, True)) == [Length(300, True)]


def test_the_first_that_ended_counts_despite_later_re_runs():
    assert of_turns((1, None, 100, False), (2, 1, 300, True), (3, 1, 320, True), (4, 2, 90, False)) == [
        Length(300, True)
    ]


def test_the_longest_counts_where_all_turns_were_truncated():
    assert of_turns((1, None, 100, False), (2, 1, 300, False), (3, 2, 200, False)) == [Length(300, False)]


def test_re_runs_of_an_excluded_turn_are_one_family():
    assert of_turns((2, 1, 100, False), (3, 1, 300, True), (4, None, 7, True)) == [Length(300, True), Length(7, True)]
