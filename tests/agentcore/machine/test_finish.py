"""How a turn ends and what is observed of it on the way (design §3.2, "How a turn ends", and §3.8)."""

import pytest

from agentcore import (
    ChatResponse,
    ContinuationDecision,
    ContinuationEvaluation,
    ErrorPolicy,
    ErrorType,
    NormalizedStopReason,
    StopReason,
    TurnStatus,
)
from agentcore.events import Breakpoint, CancelRequested, Interrupted, OperatorAction
from tests.agentcore.playbook import (
    Playbook,
    blocked,
    call,
    called,
    cancelled,
    cut_call,
    ended,
    error,
    finish,
    interrupted,
    lost,
    malformed_call,
    operator,
    paused,
    released,
    started,
    stopped,
    tools_returned,
    truncated,
    unknown,
    woke_up,
)
from tests.together import together

R, S, T = NormalizedStopReason, StopReason, TurnStatus
RETRY = ErrorPolicy.retry_all(1)
SCHEMA = {"type": "object", "required": ["answer"]}


def told(*events, policy=None, **asked):
    story = Playbook(error_policy=policy or ErrorPolicy(), **asked) >> started()
    for event in events:
        story = story >> event
    return story


#: The table of design §3.2, row by row.
ENDS = {
    "natural end": (told(ended("a")), T.COMPLETED, S.COMPLETED, "completed", ""),
    "valid envelope": (told(ended('{"answer": 1}'), envelope_schema=SCHEMA), T.COMPLETED, S.COMPLETED, "completed", ""),
    "nothing said": (told(ended("")), T.PARTIAL, S.COMPLETED, "empty_output", "without saying anything"),
    "continuations": (told(truncated("a"), max_continuations=0), T.PARTIAL, S.RETRY_LIMIT, "retry_limit", "0 of 0"),
    "token total": (
        told(truncated("a"), max_total_completion_tokens=10), T.PARTIAL, S.TOKEN_LIMIT, "budget_exhausted", "10 of 10"
    ),
    "characters": (told(ended("abc"), max_total_output_chars=2), T.PARTIAL, S.GUARD, "output_cap", "2 characters"),
    "nothing new twice": (told(truncated(), truncated()), T.PARTIAL, S.GUARD, "repetition", "nothing new"),
    "repair failed": (
        told(cut_call("a"), cut_call()), T.PARTIAL, S.RETRY_LIMIT, "tool_repair_failed", "did not run"
    ),
    "a criterion forbade": (told(truncated("a"), max_seconds=0.5), T.PARTIAL, S.TIME_LIMIT, "forbidden", "0.5 s"),
    "no step left": (told(called(call()), max_steps=1), T.PARTIAL, S.STEPS_LIMIT, "forbidden", "calculator"),
    "error with text": (told(error(partial="a")), T.PARTIAL, S.ERROR, "provider_error", "It broke."),
    "error without": (told(error()), T.FAILED, S.ERROR, "provider_error", ""),
    "retries ran out": (told(error(), policy=RETRY), T.FAILED, S.RETRY_LIMIT, "provider_error", ""),
    "block": (told(blocked("x")), T.ABORTED, S.FINISH_REASON, "safety_blocked", "blocked"),
    "context": (
        told(stopped(R.CONTEXT_WINDOW_EXCEEDED, "x", "a")),
        T.ABORTED, S.FINISH_REASON, "context_window_exceeded", "no longer fits",
    ),
    "provider's cancel": (
        told(stopped(R.CANCELLED, "x", "a")), T.ABORTED, S.FINISH_REASON, "cancelled", "provider cancelled"
    ),
    "fatal unknown": (told(unknown("x")), T.ABORTED, S.FINISH_REASON, "unknown_fatal", "do not know"),
    "envelope exhausted": (
        told(ended("{}"), envelope_schema=SCHEMA, schema_rounds=0), T.FAILED, S.RETRY_LIMIT, "envelope_invalid", ""
    ),
    "envelope cut": (
        told(truncated("{"), envelope_schema=SCHEMA, schema_rounds=0),
        T.FAILED, S.RETRY_LIMIT, "envelope_truncation_unrecoverable", "",
    ),
    "envelope refused": (
        told(blocked("x"), envelope_schema=SCHEMA), T.FAILED, S.FINISH_REASON, "envelope_refusal", ""
    ),
    "cancel": (told(cancelled("a")), T.CANCELLED, S.USER_REQUESTED, "cancelled", "ada"),
}  # fmt: skip


@together
@pytest.mark.parametrize("row", ENDS)
def test_every_row_of_the_endings_table_is_covered(row):
    story, status, stop_reason, terminal, notice = ENDS[row]
    assert story << finish(None, stop_reason, status, terminal)
    assert notice in story.end.notice
    assert bool(story.end.notice) is bool(notice)
    assert story.end.error_code == (terminal if terminal.startswith("envelope") else story.end.error_code)


#: One way to every word in which the continuing of a cut answer may end.
TERMINATIONS = {
    "completed": told(truncated("a "), ended("b")),
    "retry_limit": told(truncated("a"), max_continuations=0),
    "budget_exhausted": told(truncated("a"), max_total_completion_tokens=10),
    "output_cap": told(truncated("abc"), max_total_output_chars=1),
    "safety_blocked": told(truncated("a "), blocked("b")),
    "repetition": told(truncated(), truncated()),
    "provider_error": told(truncated("a "), error()),
    "context_window_exceeded": told(truncated("a "), error(stop_reason=R.CONTEXT_WINDOW_EXCEEDED)),
    "forbidden": told(truncated("a"), max_seconds=0.5),
    "tool_repair_failed": told(truncated("a "), cut_call(), cut_call()),
    "cancelled": told(truncated("a "), cancelled("b")),
}


@together
@pytest.mark.parametrize("word", TERMINATIONS)
def test_the_end_of_continuing_is_reported_once_with_a_documented_value(word):
    seen = TERMINATIONS[word].observed("continuation_terminated")
    assert seen == [{"terminal_reason": word, "turn_id": "turn", "iteration": 1}]


def test_every_truncated_iteration_reports_its_ending_and_other_iterations_report_none():
    story = told(truncated("a "), called(call()), tools_returned(), called(call("clock")), tools_returned())
    story = story >> truncated("b ") >> ended("c")
    seen = story.observed("continuation_terminated")
    assert [(s["iteration"], s["terminal_reason"]) for s in seen] == [(1, "completed"), (3, "completed")]


@pytest.mark.parametrize("envelope", ['{"answer": 1}', "refused", "invalid"])
def test_a_pause_before_an_envelope_also_ends_with_a_documented_value(envelope):
    answer = blocked("x") if envelope == "refused" else ended(envelope)
    story = told(paused("so far "), answer, envelope_schema=SCHEMA, schema_rounds=0)
    word = {"refused": "safety_blocked", "invalid": "retry_limit"}.get(envelope, "completed")
    assert [s["terminal_reason"] for s in story.observed("continuation_terminated")] == [word]


#: An attempt that ends so, and the normalized and the raw reason that are observed of it.
OBSERVED = {
    "answered": (ended("a"), "end_turn", "stop"),
    "cut": (truncated("a"), "max_tokens", "length"),
    "unknown word": (unknown("strange", "a"), "unknown", "strange"),
    "no word": (unknown(None, "a"), "unknown", None),
    "failed": (error(), "unknown", None),
    "failed with text": (error(partial="a"), "unknown", None),
    "really a stop reason": (error(stop_reason=R.CONTEXT_WINDOW_EXCEEDED), "context_window_exceeded", None),
    "taken over": (interrupted(), "unknown", None),
    "taken over with text": (interrupted("a"), "unknown", None),
    "lost": (lost(), "unknown", None),
    "lost with text": (lost("a"), "unknown", None),
    "cancelled": (cancelled(), "cancelled", None),
    "cancelled with text": (cancelled("a"), "cancelled", None),
}


@together
@pytest.mark.parametrize("name", OBSERVED)
def test_a_stop_reason_is_observed_once_per_attempt_with_exactly_its_fields(name):
    event, normalized, raw = OBSERVED[name]
    (seen,) = told(event).observed("stop_reason_observed")
    assert seen == {
        "provider": "openai",
        "model": "m",
        "normalized_reason": normalized,
        "raw_reason": raw,
        "turn_id": "turn",
        "iteration": 1,
    }


def test_partial_output_of_a_lost_call_may_include_its_stop_reason():
    said = ChatResponse("a", stop_reason=R.MAX_TOKENS, raw_stop_reason="length")
    for event in (Interrupted(1.0, said), CancelRequested(1.0, "ada", said)):
        (seen,) = told(event).observed("stop_reason_observed")
        assert (seen["normalized_reason"], seen["raw_reason"]) == ("max_tokens", "length")


@pytest.mark.parametrize(
    "story",
    [
        told(called(call()), interrupted()),
        told(called(call()), cancelled()),
        told(error(), interrupted(), cancelled(), policy=ErrorPolicy.retry_all()),
    ],
    ids=["tools", "tools cancelled", "backoff"],
)
def test_no_end_of_a_call_is_observed_where_none_is_in_flight(story):
    assert len(story.observed("stop_reason_observed")) == 1


def test_a_continuation_is_announced_with_exactly_its_fields():
    story = told(truncated("abc", tokens=10), truncated("de", tokens=20), max_tokens=60)
    place = {"turn_id": "turn", "iteration": 1}
    assert story.observed("continuation_attempt") == [
        {"attempt": 1, "cumulative_output_tokens": 10, "cumulative_output_chars": 3, "budget_remaining": 230} | place,
        {"attempt": 2, "cumulative_output_tokens": 30, "cumulative_output_chars": 5, "budget_remaining": 210} | place,
    ]


def test_a_judgement_is_observed_in_the_iteration_it_judges():
    story = told(called(call()), tools_returned(), ended("a"))
    assert [(s["step"], s["iteration"]) for s in story.observed("continuation_evaluated")] == [(1, 1), (1, 1), (2, 2)]


RETRIES = ErrorPolicy.retry_all()
REPAIRS = {
    "a whole call": ((called(call()),), True),
    "plain text": ((ended("no"),), False),
    "cut text": ((truncated("no"),), False),
    "broken again": ((cut_call(),), False),
    "blocked": ((blocked("x"),), False),
    "unknown": ((unknown("x"),), False),
    "context full by error": ((error(stop_reason=R.CONTEXT_WINDOW_EXCEEDED),), False),
    "cut by error": ((error(stop_reason=R.MAX_TOKENS),), False),
    "fails for good": ((error(kind="auth", retryable=False),), False),
    "fails, then whole": ((error(ErrorType.TIMEOUT), woke_up(), called(call())), True),
    "cancelled": ((cancelled(),), False),
    "cancelled in backoff": ((error(), cancelled()), False),
}


@together
@pytest.mark.parametrize("name", REPAIRS)
def test_every_repair_reports_its_result_once(name):
    events, success = REPAIRS[name]
    seen = told(cut_call("a "), *events, policy=RETRIES).observed("tool_payload_repair")
    fields = {"issue": "truncated", "repair_attempted": True, "success": success}
    assert seen == [fields | {"turn_id": "turn", "iteration": 1}]


def test_a_repair_answered_and_then_held_is_not_reported_again_by_a_cancel():
    story = Playbook() >> started(breakpoints=(Breakpoint(state="repair_pending"),)) >> cut_call("a ") >> released()
    story = story >> cut_call() >> cancelled()
    assert len(story.observed("tool_payload_repair")) == 1


def test_an_operators_action_is_observed_with_who_and_what():
    story = told(operator(OperatorAction.HOLD))
    fields = {"by": "ada", "action": "hold", "turn_id": "turn", "iteration": 1}
    assert story.observed("operator_acted") == [fields]


def test_a_malformed_complete_call_is_not_a_truncated_iteration():
    story = told(malformed_call("a "), malformed_call())
    assert story << finish("a ", terminal="tool_repair_failed")
    assert story.observed("continuation_terminated") == []


class Once:
    """Asks for one iteration more."""

    def explain(self, state):
        decision = ContinuationDecision.REQUEST if state.iteration == 1 else ContinuationDecision.ALLOW
        return ContinuationEvaluation("Once", decision, message="More.")


def test_a_requested_iteration_starts_without_a_truncation():
    story = told(truncated("a "), ended("b"), ended("c"), criteria=(Once(),))
    assert [s["iteration"] for s in story.observed("continuation_terminated")] == [1]
