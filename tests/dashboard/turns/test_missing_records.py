import pytest

from agentcore.replay import Record
from dashboard.turns.missing_records import missing_records
from tests.agentcore.playbook import ended


def records(*seqs: int) -> list[Record]:
    return [Record(seq, ended("done"), (), {}) for seq in seqs]


@pytest.mark.parametrize(
    ("seqs", "last", "first", "words"),
    [
        ([1, 2, 4], 4, 3, "record 3 of 4 is missing"),
        ([2], 2, 1, "record 1 of 2 is missing"),
        ([1, 5], 5, 2, "records 2 to 4 of 5 are missing"),
        ([1, 3, 5], 6, 2, "records 2, 4, 6 of 6 are missing"),
        ([2, 4, 6], 8, 1, "records 1, 3, 5 … of 8 are missing"),
        ([], 2, 1, "records 1 to 2 of 2 are missing"),
        ([1], 2_000_000_000, 2, "records 2 to 2,000,000,000 of 2,000,000,000 are missing"),
        ([1, 2_000_000_000], 1, 2, "records 2 to 1,999,999,999 of 2,000,000,000 are missing"),
    ],
)
def test_runs_of_missing_records_are_told_by_their_ends(seqs: list[int], last: int, first: int, words: str):
    found = missing_records(records(*seqs), last)
    assert found is not None
    assert (found.first, found.words) == (first, words)


@pytest.mark.parametrize(("seqs", "last"), [([], 0), ([1, 2], 2), ([1, 2, 2, 3], 3)])
def test_a_history_that_has_all_lacks_nothing(seqs: list[int], last: int):
    assert missing_records(records(*seqs), last) is None
