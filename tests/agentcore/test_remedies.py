"""What would have let a turn go on, and what was used up when it ended."""

from agentcore.remedies import Raise, limits_spent, remedy_of
from agentcore.resource import REPEATED
from tests.agentcore.playbook import Playbook, call, called, ended, started, truncated


def after(*events: object, **given: object):
    book = Playbook(**given) >> started()
    for event in events:
        book = book >> event
    return book.snapshot


def cut(*tokens: int) -> list[object]:
    return [truncated(text, tokens=count) for text, count in zip("abcdefgh", tokens, strict=False)]


def test_two_limits_reached_at_once_are_both_named():
    last = after(*cut(60, 60, 60, 60))
    assert limits_spent(last) == ("max_continuations", "max_total_completion_tokens")


def test_a_completed_or_running_turn_has_exhausted_no_limit():
    assert limits_spent(after(ended("done"), max_continuations=0)) == ()
    assert limits_spent(after(*cut(60))) == ()


def test_a_limit_counted_by_another_criterion_is_named_where_it_also_forbade():
    last = after(*cut(60), max_continuations=0, max_total_tokens=10)
    assert limits_spent(last) == ("max_continuations", "max_total_tokens")
    named = Raise("max_continuations", 1)
    assert remedy_of(last, named).raises == (named, Raise("max_total_tokens"))


def test_endings_that_no_limit_would_have_prevented_are_distinguished():
    last = after(*[truncated(text) for text in ("a", "", "")])
    assert remedy_of(last).stubborn == (REPEATED,)
    assert remedy_of(after(called(call()), max_steps=1)).stubborn == ()
