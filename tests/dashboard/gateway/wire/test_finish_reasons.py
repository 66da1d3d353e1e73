"""The table of what is told, for every way a turn can end; read off turns that were really driven there."""

import pytest

from agentcore import ErrorType, NormalizedStopReason, TurnStatus
from agentcore.errors import ProviderError
from agentcore.messages import ChatResponse, ReasonSighting
from dashboard.gateway.wire.faults import Fault
from dashboard.gateway.wire.finish_reasons import FinishedAnswer, fault_of, finished_answer, source_of
from tests.agentcore.playbook import (
    Playbook,
    blocked,
    call,
    called,
    cancelled,
    cut_call,
    ended,
    error,
    responded,
    started,
    stopped,
    truncated,
    unknown,
)
from tests.together import together

R = NormalizedStopReason
NO_MORE = {"max_continuations": 0, "max_tool_repair_attempts": 0}
SCHEMA = {"type": "object", "required": ["ok"]}

#: How a turn went → what is told of it: a reason with its text, or a status.
ENDS = {
    "natural": ([ended("Hello.")], ("stop", "Hello.")),
    "nothing said": ([ended("")], ("stop", "")),
    "calls": ([called(call())], ("tool_calls", None)),
    "calls and text": ([called(call(), text="Look:")], ("tool_calls", "Look:")),
    "cut": ([truncated("Half")], ("length", "Half")),
    "cut without a word": ([truncated("")], 400),
    "broken call, text": ([cut_call("Half")], ("length", "Half")),
    "broken call": ([cut_call()], 502),
    "full": ([stopped(R.CONTEXT_WINDOW_EXCEEDED, "full", "Half")], ("length", "Half")),
    "full without a word": ([stopped(R.CONTEXT_WINDOW_EXCEEDED, "full")], 400),
    "blocked": ([blocked("Secret")], ("content_filter", None)),
    "blocked by an error": ([error(kind="content_filter", stop_reason=R.SAFETY_BLOCKED)], ("content_filter", None)),
    "provider's cancel": ([stopped(R.CANCELLED, "abort", "Half")], ("length", "Half")),
    "provider's cancel without a word": ([stopped(R.CANCELLED, "abort")], 502),
    "odd word": ([unknown("odd", "Hello.")], ("length", "Hello.")),
    "odd word without a word": ([unknown("odd")], 502),
    "odd word with blanks": ([unknown("odd", "  ")], 502),
    "no word": ([unknown(None, "Hello.")], ("length", "Hello.")),
    "error word": ([unknown("error", "Half")], ("length", "Half")),
    "error": ([error(kind="server")], 502),
    "error with text": ([error(kind="server", partial="Half")], ("length", "Half")),
    "our key": ([error(kind="auth", status=401)], 502),
    "rate": ([error(ErrorType.RATE_LIMIT, kind="rate_limit", status=429)], 429),
    "late": ([error(ErrorType.TIMEOUT, kind="timeout")], 504),
}


def told(moves, **setup):
    book = Playbook(client_tools=True, **NO_MORE, **setup) >> started()
    for move in moves:
        book = book >> move
    assert book.end
    return book.snapshot


def outcome(found):
    return found.status if isinstance(found, Fault) else (found.finish_reason, found.text)


@together
@pytest.mark.parametrize("end", ENDS)
def test_finish_reasons_of_each_ending(end):
    moves, wanted = ENDS[end]
    assert outcome(finished_answer(told(moves))) == wanted


@together
@pytest.mark.parametrize("end", ENDS)
def test_finish_reasons_of_each_ending_of_an_observed_answer(end):
    """The same, but that a broken call is told as it came, and a cut answer without a word is just that."""
    other = {"cut without a word": ("length", ""), "broken call": ("length", ""), "full without a word": ("length", "")}
    moves, wanted = ENDS[end]
    found = finished_answer(told(moves), observed=True)
    assert outcome(found) == other.get(end, wanted)
    if end.startswith("broken call"):
        assert isinstance(found, FinishedAnswer)
        assert [broken.raw for broken in found.calls] == ['{"expression": "1']


def test_the_reason_of_the_last_call_counts():
    book = Playbook(client_tools=True) >> started() >> truncated("Half ") >> unknown("odd", "of it.")
    assert outcome(finished_answer(book.snapshot)) == ("length", "Half of it.")


def test_legacy_functions_are_answered_by_one_call_under_their_own_reason():
    found = finished_answer(told([called(call(), call("clock", "b"))]), legacy=True)
    assert isinstance(found, FinishedAnswer)
    assert (found.finish_reason, [made.name for made in found.calls]) == ("function_call", ["calculator"])


def test_the_text_of_a_refusal_is_returned_separately():
    refusal = responded(ChatResponse(refusal="I will not.", stop_reason=R.SAFETY_BLOCKED, raw_stop_reason="stop"))
    for setup in ({}, {"envelope_schema": SCHEMA}):
        found = finished_answer(told([refusal], **setup))
        assert found == FinishedAnswer("content_filter", None, "I will not.")


def test_an_invalid_structured_answer_is_an_error_and_a_truncated_one_is_length():
    invalid, cut = told([ended("{}")], envelope_schema=SCHEMA, schema_rounds=0), truncated('{"ok')
    assert outcome(finished_answer(invalid)) == 502
    assert outcome(finished_answer(told([cut], envelope_schema=SCHEMA, schema_rounds=0))) == ("length", '{"ok')


def test_a_cancelled_turn_returns_nothing():
    assert told([cancelled("Half")]).end.status is TurnStatus.CANCELLED


@pytest.mark.parametrize(
    "kind", ["auth", "quota", "rate_limit", "overloaded", "unavailable", "timeout", "not_found", "odd"]
)
def test_the_responsible_party_of_an_error_decides_its_status(kind):
    statuses = {"auth": 502, "quota": 429, "rate_limit": 429, "overloaded": 503, "unavailable": 503, "timeout": 504}
    found = fault_of(ProviderError(ErrorType.MODEL, kind, "It broke.", 418))
    assert found.status == {**statuses, "not_found": 404}.get(kind, 502)
    assert ("It broke." in found.message) is (kind != "auth"), "what is said of our key is not the client's"
    assert found.headers == ()


def test_the_retry_time_and_permanent_errors_are_returned():
    for seconds, told in ((2.4, "3"), (0.2, "1"), (0.0, "0")):  # whoever came sooner would be turned away again
        error = ProviderError(ErrorType.RATE_LIMIT, "rate_limit", "", retry_after=seconds)
        assert fault_of(error).headers == (("retry-after", told),)
    assert fault_of(ProviderError(ErrorType.MODEL, "auth", "", retryable=False)).headers == (
        ("x-should-retry", "false"),
    )


def test_the_source_of_a_reason_is_the_most_severe_one_received():
    trail = (ReasonSighting("chunk", "stop", R.END_TURN, 10), ReasonSighting("native", "length", R.MAX_TOKENS, 30))
    assert source_of(ChatResponse(reason_trail=trail)) == "native"
    assert source_of(None) == source_of(ChatResponse()) == "machine"
