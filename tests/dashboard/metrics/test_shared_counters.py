"""Several processes settle together which values of a label there are."""

from pathlib import Path

from dashboard.metrics.shared_counters import agreed

Known = set[tuple[str, ...]]


def test_two_processes_share_the_limit_and_the_values(tmp_path: Path):
    here: Known = set()
    there: Known = set()
    for number in range(4):
        for known, letter in ((here, "a"), (there, "b")):
            agreed(tmp_path, "model", ("openai", f"{letter}{number}"), most=3, known=known)
    assert {("openai", "a0"), ("openai", "b0"), ("openai", "a1")} == here == there
    assert agreed(tmp_path, "model", ("openai", "b0"), most=3, known=set())
    assert not agreed(tmp_path, "model", ("openai", "new"), most=3, known=set())


def test_labels_are_checked_independently_and_may_hold_any_text(tmp_path: Path):
    odd = 'a line\nand "quotes" \u2028'
    assert agreed(tmp_path, "model", ("openai", odd), most=1, known=set())
    assert agreed(tmp_path, "reason", ("stop",), most=1, known=set())
    assert agreed(tmp_path, "model", ("openai", odd), most=1, known=set())
    assert not agreed(tmp_path, "model", ("openai", "other"), most=1, known=set())
