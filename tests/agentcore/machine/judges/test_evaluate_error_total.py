"""evaluate_error and the token total: a retry keeps to what failed attempts have left of it (design §3.3)."""

from functools import partial

import pytest

from agentcore import (
    AttemptKind,
    ChatResponse,
    ErrorPolicy,
    NormalizedStopReason,
    State,
    StopReason,
    TokenUsage,
    TurnStatus,
)
from agentcore.resource import resource_of
from agentcore.verdict import verdict
from agentcore.why import derive
from tests.agentcore.playbook import call_model, ended, error, responded, truncated, woke_up
from tests.agentcore.playbook import play as played

TOTAL = {
    "error_policy": ErrorPolicy.retry_all(20),
    "revision": 1,
    "max_tokens": 300,
    "max_total_completion_tokens": 400,
}


def broke_off(text: str, tokens: int):
    return error(kind="incomplete_stream", partial=text, tokens=tokens)


play = partial(played, **TOTAL)


@pytest.mark.parametrize("text", ["A text of some length, and more of it. ", ""])
def test_a_retry_requests_no_more_than_failed_attempts_left_over(text):
    book = play(broke_off(text, 295), woke_up())
    assert book << call_model(AttemptKind.ERROR_RETRY)
    assert book.command.request.max_tokens == 105


@pytest.mark.parametrize(("text", "status"), [("So far. ", TurnStatus.PARTIAL), ("", TurnStatus.FAILED)])
def test_no_retry_is_made_once_the_total_is_spent(text, status):
    book = play(broke_off(text, 295), woke_up(), broke_off("", 105))
    assert (book.end.status, book.end.stop_reason) == (status, StopReason.TOKEN_LIMIT)
    assert book.snapshot.spent.output_tokens == 400
    assert resource_of(book.snapshot) == "max_total_completion_tokens"
    assert (
        "because Max completion tokens per turn (max_total_completion_tokens) was reached (400 of 400 completion "
        "tokens used)" in verdict(book.snapshot)
    )
    found = derive(book.recording)
    assert (found.resource, found.clause) == ("max_total_completion_tokens", "limits.max_total_completion_tokens")


def test_tokens_spent_over_many_failures_stay_within_the_total():
    book = play()
    while book.snapshot.end is None and book.snapshot.spent.attempts < 20:
        given = book.command.request.max_tokens
        book = book >> broke_off(f"part {book.snapshot.spent.attempts}. ", min(295, given))
        book = book >> woke_up() if book.snapshot.state is State.BACKOFF else book
    assert book.snapshot.spent.output_tokens == 400


def test_a_failed_continuation_also_stays_within_the_total():
    book = play(truncated("one two three ", tokens=300), broke_off("four five six ", 60), woke_up())
    assert book.command.request.max_tokens == 40


def test_an_answer_with_an_embedded_error_stays_within_the_total():
    said = {"stop_reason": NormalizedStopReason.UNKNOWN, "incomplete_stream": True}
    book = play(responded(ChatResponse("", usage=TokenUsage(10, 295), **said)), woke_up())
    assert book.command.request.max_tokens == 105


def test_a_failed_call_without_usage_is_retried_unchanged():
    book = play(error(), woke_up())
    assert book.command.request.max_tokens == 300
    assert book >> ended("done")


def test_an_error_policy_that_stops_is_named_instead_of_the_total():
    book = play(broke_off("So far. ", 400), error_policy=ErrorPolicy.stop_on_any_error())
    assert (book.end.stop_reason, resource_of(book.snapshot)) == (StopReason.ERROR, None)


def test_turns_recorded_before_rules_were_numbered_retry_as_they_did():
    book = play(broke_off("So far. ", 295), woke_up(), revision=None)
    assert book.command.request.max_tokens == 300
