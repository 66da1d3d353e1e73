"""Two versions of a record side by side: only what differs, and what stands around it."""

from hypothesis import given
from hypothesis import strategies as st

from dashboard.replay.verification_view import AROUND, compared

VALUES = st.dictionaries(st.sampled_from("abcdefghij"), st.integers(0, 3))


def test_equal_parts_far_from_a_difference_are_counted_and_not_shown():
    left = {f"key {n:02}": n for n in range(40)}
    lines = list(compared(left, {**left, "key 20": "other"}))
    assert [line.word for line in lines] == ["skipped", *["same"] * AROUND, "changed", *["same"] * AROUND, "skipped"]
    changed = next(line for line in lines if line.word == "changed")
    assert ("20" in changed.left, "other" in changed.right) == (True, True)
    assert sum(int(line.left) for line in lines if line.word == "skipped") + 2 * AROUND + 1 == 42


def test_a_record_on_one_side_only_is_removed_or_added():
    assert {line.word for line in compared({"a": 1}, None)} == {"gone"}
    assert {line.word for line in compared(None, {"a": 1})} == {"new"}


def test_the_order_of_keys_is_not_a_difference():
    one, other = {"a": [{"b": 1, "c": 2}], "d": 3}, {"d": 3, "a": [{"c": 2, "b": 1}]}
    assert {line.word for line in compared(one, other)} <= {"same", "skipped"}


@given(VALUES, VALUES)
def test_no_difference_is_ever_hidden(left, right):
    lines = list(compared(left, right))
    shown = {line.left for line in lines} | {line.right for line in lines}
    if left == right:
        assert {line.word for line in lines} <= {"same", "skipped"}
    else:
        assert any(line.word in ("changed", "gone", "new") for line in lines)
    for key in left.keys() ^ right.keys():
        assert any(f'"{key}"' in text for text in shown)
