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


def test_two_limits_that_are_spent_at_once_are_both_named():
    last = after(*cut(60, 60, 60, 60))
    assert limits_spent(last) == ("max_continuations", "max_total_completion_tokens")


def test_a_turn_that_completed_or_runs_has_used_up_nothing():
    assert limits_spent(after(ended("done"), max_continuations=0)) == ()
    assert limits_spent(after(*cut(60))) == ()


def test_a_limit_that_another_criterion_counts_is_named_where_it_forbade_too():
    last = after(*cut(60), max_continuations=0, max_total_tokens=10)
    assert limits_spent(last) == ("max_continuations", "max_total_tokens")
    named = Raise("max_continuations", 1)
    assert remedy_of(last, named).raises == (named, Raise("max_total_tokens"))


def test_what_no_limit_would_have_mended_is_told_apart():
    last = after(*[truncated(text) for text in ("a", "", "")])
    assert remedy_of(last).stubborn == (REPEATED,)
    assert remedy_of(after(called(call()), max_steps=1)).stubborn == ()
