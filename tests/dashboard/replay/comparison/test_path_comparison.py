"""Transition beside transition."""

from dashboard.replay.comparison.turn_comparison import path_diff
from dashboard.turns.turn_view import recording_view
from tests.dashboard.turns.histories import answered, cut_twice, recorded, started, with_a_tool


def moments(recording):
    return recording_view(recording).moments


def test_a_turn_compared_with_itself_takes_the_same_path_and_is_collapsed():
    diff = path_diff(moments(cut_twice()), moments(cut_twice()))
    assert diff.same
    assert [run.folded for run in diff.runs] == [False, True, False]
    assert not any(run.first for run in diff.runs)


def test_the_first_divergence_is_marked_once_and_the_endings_meet_again():
    short = moments(recorded(started(), answered(1.0, "All of it.")))
    diff = path_diff(moments(cut_twice()), short)
    parted = [run for run in diff.runs if run.first]
    assert len(parted) == 1
    assert not parted[0].same
    assert diff.runs[0].same
    assert diff.runs[-1].same


def test_every_transition_of_both_turns_appears_once_and_in_order():
    left, right = moments(cut_twice()), moments(with_a_tool())
    pairs = [pair for run in path_diff(left, right).runs for pair in run.pairs]
    assert [pair.left for pair in pairs if pair.left] == list(left)
    assert [pair.right for pair in pairs if pair.right] == list(right)


def test_the_same_transition_with_other_numbers_is_the_same_with_other_details():
    left = moments(recorded(started(max_tokens=60), answered(1.0, "The quick", "max_tokens"), answered(2.0, " fox.")))
    right = moments(recorded(started(max_tokens=50), answered(1.0, "The quick", "max_tokens"), answered(2.0, " fox.")))
    diff = path_diff(left, right)
    assert diff.same
    assert any(pair.otherwise for run in diff.runs for pair in run.pairs)


def test_the_inherited_part_of_a_fork_is_shown_once_and_the_paths_compared_from_there():
    parent = moments(cut_twice())
    taken = [moment for moment in parent if moment.seq <= 2]
    fork = tuple(moment for moment in parent if moment.seq > 2)
    one = path_diff(parent, fork, forked_at=(2, 0))
    assert [pair.left for pair in one.before.pairs] == taken
    assert not any(pair.right for pair in one.before.pairs)
    assert one.same
    other = path_diff(fork, parent, forked_at=(0, 2))
    assert [pair.right for pair in other.before.pairs] == taken
    assert other.same
