"""What is counted for whom, and that nothing is counted or kept once its client has gone."""

from collections.abc import Callable

from dashboard.platform import unread_responses
from dashboard.platform.unread_responses import KeptAnswer


class Thing:
    """Something large."""


def test_data_kept_after_a_disconnect_counts_for_nobody_and_is_freed():
    """An application hears of it a moment later."""
    before, gone, reader, thing = dict(unread_responses._keepers), KeptAnswer(), KeptAnswer(), Thing()
    gone.end()
    gone.keep(thing, 5)
    reader.keep(thing, 5)
    assert (gone.size, reader.size) == (0, 5)
    reader.clear()
    assert unread_responses._keepers == before


def test_an_object_kept_twice_counts_once_with_its_last_size():
    kept, text = KeptAnswer(), "x" * 100
    kept.keep(text, 100)
    kept.keep(text, 149)
    assert kept.size == 149
    kept.let_go(text)
    assert kept.size == 0


def test_releasing_an_object_may_release_others_recursively():
    does: list[Callable[[], None]] = []
    first, second, thing = KeptAnswer(lambda: does.pop()() if does else None), KeptAnswer(), Thing()
    first.keep(thing, 5)
    second.keep(thing, 5)
    does.append(second.clear)
    first.let_go(thing)
    assert (first.size, second.size) == (0, 0)
    assert id(thing) not in unread_responses._keepers
