"""evaluate_error: what the error policy makes of a failed call (design §3.6)."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore import (
    AttemptKind,
    ErrorContext,
    ErrorHandlingDecision,
    ErrorPolicy,
    ErrorType,
    NormalizedStopReason,
    State,
    StopReason,
    Trigger,
    TurnStatus,
)
from agentcore.error_policy import PRESETS
from agentcore.machine.judges.evaluate_error import backoff_seconds
from agentcore.values import replace
from tests.agentcore.playbook import (
    Playbook,
    call,
    call_model,
    called,
    cut_call,
    ended,
    error,
    finish,
    paused,
    started,
    tool_failed,
    tools_returned,
    truncated,
    unknown,
    wait,
    woke_up,
)
from tests.together import together

RETRY = ErrorPolicy.retry_all()
TYPES = [t for t in ErrorType if t is not ErrorType.TOOL]


def ran_out_or_stopped(preset, type):
    """What the turn's stop reason must be once it stops."""
    retried = PRESETS[preset].configured(type) is ErrorHandlingDecision.RETRY
    return StopReason.RETRY_LIMIT if retried else StopReason.ERROR


@together
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("preset", PRESETS)
def test_a_turn_fails_after_the_number_of_failures_set_by_its_policy(preset, type):
    policy = PRESETS[preset]
    story = Playbook(error_policy=policy) >> started()
    for failures in range(1, 9):
        story = story >> error(type)
        handling = policy.evaluate(ErrorContext(type, failures, failures))
        if handling is not ErrorHandlingDecision.RETRY:
            break
        assert story.snapshot.state is State.BACKOFF
        story = story >> woke_up() << call_model(AttemptKind.ERROR_RETRY, continuation=None)
    assert story << finish("", ran_out_or_stopped(preset, type), TurnStatus.FAILED, "provider_error")
    assert story.end.error_code == type.value
    assert story.snapshot.spent.total_failures == failures


def test_an_error_recovered_by_a_retry_leaves_no_trace_in_the_answer():
    story = (
        Playbook(error_policy=RETRY)
        >> started()
        >> error(ErrorType.RATE_LIMIT, retry_after=7.0)
        << wait(7.0)
        >> woke_up()
        << call_model(AttemptKind.ERROR_RETRY, max_tokens=60)
        >> ended("fine")
        << finish("fine", StopReason.COMPLETED, TurnStatus.COMPLETED)
    )
    assert story.snapshot.spent.attempts == 2


def test_backoff_does_not_count_as_time_in_the_model():
    story = Playbook(error_policy=RETRY) >> started() >> error(retry_after=100.0) >> woke_up() >> ended("a")
    assert story.snapshot.spent.seconds == 2.0


@pytest.mark.parametrize(("seconds", "waits"), [(120.0, True), (120.5, False)])
def test_a_retry_after_beyond_the_allowed_wait_stops_the_turn_with_that_reason(seconds, waits):
    story = Playbook(error_policy=RETRY) >> started() >> error(ErrorType.RATE_LIMIT, retry_after=seconds)
    if waits:
        assert story << wait(seconds)
    else:
        assert story << finish("", StopReason.ERROR, TurnStatus.FAILED)
        assert "more than 120 s" in story.step.transitions[1].reason


def test_a_permanent_error_is_not_retried():
    story = Playbook(error_policy=RETRY) >> started() >> error(kind="auth", retryable=False)
    assert story << finish("", StopReason.ERROR, TurnStatus.FAILED, "provider_error", error_code="auth")
    assert "cannot heal" in story.step.transitions[1].reason


@together
@pytest.mark.parametrize(("failures", "most"), [(1, 1), (2, 2), (3, 4), (6, 32), (7, 60), (50, 60)])
def test_backoff_uses_full_jitter_with_the_drivers_random_draw(failures, most):
    assert backoff_seconds(failures, 0.0, None) == 0.0
    assert backoff_seconds(failures, 0.5, None) == most / 2
    assert backoff_seconds(failures, 0.999999, None) == pytest.approx(most, rel=1e-3)
    assert backoff_seconds(failures, 0.5, 33.0) == 33.0


@given(st.floats(0, 1, exclude_max=True), st.integers(1, 10_000))
def test_backoff_is_never_longer_than_its_cap(draw, failures):
    assert 0 <= backoff_seconds(failures, draw, None) <= 60


def test_the_random_draw_is_part_of_the_event():
    story = Playbook(error_policy=RETRY) >> started() >> error(draw=0.25) << wait(0.25)
    assert story >> woke_up() >> error(draw=0.75) << wait(1.5)


def test_partial_text_is_kept_and_the_retry_requests_the_rest():
    story = Playbook(error_policy=RETRY) >> started() >> error(partial="half an answer ") >> woke_up()
    assert story << call_model(AttemptKind.ERROR_RETRY, continues="half an answer ")
    assert story.snapshot.spent.continuations == 0
    assert story >> ended("half an answer is enough") << finish("half an answer is enough")


def test_partial_text_of_a_failed_turn_is_its_partial_answer_and_its_usage_counts():
    story = Playbook() >> started() >> error(partial="half")
    assert story << finish("half", StopReason.ERROR, TurnStatus.PARTIAL, "provider_error")
    assert story.snapshot.spent.output_tokens == 4


def test_a_failed_resume_with_text_requests_the_rest_without_duplication():
    story = Playbook(error_policy=RETRY) >> started() >> paused("one ") >> error(partial="two ") >> woke_up()
    assert story << call_model(AttemptKind.ERROR_RETRY, continues="one two ")
    assert story.command.request.messages == story.steps[0].command.request.messages
    assert story >> ended("three") << finish("one two three")


def test_a_failed_resume_without_text_is_repeated_unchanged():
    story = Playbook(error_policy=RETRY) >> started() >> paused("one ", echo=[1]) >> error() >> woke_up()
    assert story << call_model(AttemptKind.ERROR_RETRY, continuation=None)
    assert story.command.request.messages[-1].echo == [1]


def test_a_failed_continuation_is_retried_as_a_continuation():
    story = Playbook(error_policy=RETRY) >> started() >> truncated("a ") >> error() >> woke_up()
    assert story.moves[-1] == (State.BACKOFF, Trigger.RETRY_CONTINUATION, State.REQUEST_CONTINUATION)
    assert story << call_model(AttemptKind.ERROR_RETRY, continues="a ")
    assert story >> ended("b") << finish("a b")


def test_an_ignored_error_leaves_nothing_to_continue_with():
    policy = ErrorPolicy.ignore_tool_errors()
    story = Playbook(error_policy=policy) >> started() >> error(ErrorType.VALIDATION)
    assert story << finish("", StopReason.ERROR, TurnStatus.FAILED, "provider_error")
    story = Playbook(error_policy=policy) >> started() >> error(ErrorType.VALIDATION, partial="a")
    assert story << finish("a", StopReason.ERROR, TurnStatus.PARTIAL, "provider_error")


@pytest.mark.parametrize(
    ("reason", "terminal"),
    [
        (NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED, "context_window_exceeded"),
        (NormalizedStopReason.SAFETY_BLOCKED, "safety_blocked"),
    ],
)
def test_an_error_that_means_a_stop_reason_is_handled_as_one_under_any_policy(reason, terminal):
    story = Playbook(error_policy=RETRY) >> started() >> error(stop_reason=reason)
    assert story << finish("", StopReason.FINISH_REASON, TurnStatus.ABORTED, terminal)


def test_an_error_inside_a_complete_answer_keeps_its_text_and_is_judged_like_any_error():
    story = Playbook(error_policy=RETRY) >> started() >> unknown("error", "half ") >> woke_up()
    assert story << call_model(AttemptKind.ERROR_RETRY, continues="half ")
    assert story >> ended("done") << finish("half done")


def test_each_failed_attempt_counts_and_only_an_iteration_without_failures_resets_the_count():
    story = Playbook(error_policy=ErrorPolicy.retry_all(9), max_steps=9) >> started() >> error() >> woke_up() >> error()
    assert story.snapshot.spent.consecutive_failures == 2
    story = story >> woke_up() >> called(call()) >> tools_returned(tool_failed())
    assert story.snapshot.spent.consecutive_failures == 3
    story = story >> called(call(id="b")) >> tools_returned(tool_failed("b"))
    assert story.snapshot.spent.consecutive_failures == 4
    story = story >> called(call(id="c")) >> tools_returned()
    assert (story.snapshot.spent.consecutive_failures, story.snapshot.spent.total_failures) == (0, 4)


def test_two_failed_tools_of_one_iteration_are_one_failure():
    story = Playbook(error_policy=RETRY) >> started() >> called(call(), call(id="b"))
    story = story >> tools_returned(tool_failed(), tool_failed("b"))
    assert story.snapshot.spent.consecutive_failures == 1


def test_tools_that_keep_failing_end_the_turn_at_max_retries():
    story = Playbook(error_policy=ErrorPolicy.retry_tool_errors(2)) >> started()
    for name in ("a", "b"):
        story = story >> called(call(id=name), text="try ") >> tools_returned(tool_failed(name))
    assert story << finish("try ", StopReason.RETRY_LIMIT, TurnStatus.PARTIAL, "forbidden")


def test_an_iteration_with_a_successful_retry_does_not_reset_the_failure_count():
    story = Playbook(error_policy=RETRY) >> started() >> error() >> woke_up() >> called(call()) >> tools_returned()
    assert story.snapshot.spent.consecutive_failures == 1


def test_a_timeout_at_the_time_limit_names_the_time_limit():
    story = Playbook(error_policy=RETRY, max_seconds=1.0) >> started() >> error(ErrorType.TIMEOUT, partial="half")
    assert story << finish("half", StopReason.TIME_LIMIT, TurnStatus.PARTIAL, "provider_error")


def by_the_specs_php(policy, type, consecutive):
    """`ErrorPolicy::evaluate` of spec/continuation-and-error-policy, transcribed line by line."""
    if consecutive == 0:
        return "ignore"
    decision = {
        "tool": policy["onToolError"],
        "model": policy["onModelError"],
        "validation": policy["onValidationError"],
        "rate_limit": policy["onRateLimitError"],
        "timeout": policy["onTimeoutError"],
        "unknown": policy["onUnknownError"],
    }[type]
    if decision == "retry" and consecutive >= policy["maxRetries"]:
        return "stop"
    return decision


def php(tool, model, validation, rate_limit, timeout, unknown, max_retries):
    names = ("onToolError", "onModelError", "onValidationError", "onRateLimitError", "onTimeoutError", "onUnknownError")
    decisions = (tool, model, validation, rate_limit, timeout, unknown)
    return {**dict(zip(names, decisions, strict=True)), "maxRetries": max_retries}


SPEC = {
    "stop_on_any_error": php("stop", "stop", "stop", "stop", "stop", "stop", 0),
    "retry_tool_errors": php("retry", "stop", "retry", "retry", "retry", "stop", 3),
    "ignore_tool_errors": php("ignore", "stop", "ignore", "retry", "retry", "ignore", 0),
    "retry_all": php("retry", "retry", "retry", "retry", "retry", "retry", 5),
}


def test_every_preset_handles_every_error_as_specified():
    for preset, kind, failures in product(SPEC, ErrorType, range(7)):
        context = ErrorContext(kind, failures, failures)
        assert PRESETS[preset].evaluate(context).value == by_the_specs_php(SPEC[preset], kind.value, failures)


def test_presets_with_a_parameter_accept_it():
    for n, kind, failures in product(range(7), ErrorType, range(7)):
        context = ErrorContext(kind, failures, failures)
        lenient = SPEC["retry_all"] | {"maxRetries": n}
        assert ErrorPolicy.retry_all(n).evaluate(context).value == by_the_specs_php(lenient, kind.value, failures)
        changed = SPEC["stop_on_any_error"] | {"onToolError": "retry", "maxRetries": n}
        modified = ErrorPolicy.stop_on_any_error().with_tool_error_handling(ErrorHandlingDecision.RETRY)
        assert modified.with_max_retries(n).evaluate(context).value == by_the_specs_php(changed, kind.value, failures)


def test_no_error_is_ignored():
    for policy in PRESETS.values():
        assert policy.evaluate(ErrorContext.none()) is ErrorHandlingDecision.IGNORE


def test_a_turn_ended_by_too_long_a_wait_reports_that():
    story = Playbook(error_policy=RETRY, max_retry_after=10.0) >> started() >> error(retry_after=11.0, partial="a")
    assert "more than 10 s" in story.end.error_message
    assert "more than 10 s" in story.end.notice


def test_a_wait_in_the_past_counts_as_no_wait():
    failed = error(retry_after=3.0)
    stored = replace(failed, error=replace(failed.error, retry_after=-3.0))
    assert Playbook(error_policy=RETRY) >> started() >> stored << wait(0.0)


@together
@pytest.mark.parametrize("error_event", [error(kind="auth", retryable=False), error(retry_after=999.0)])
@pytest.mark.parametrize("preset", PRESETS)
def test_a_permanent_error_is_the_stop_reason_only_where_a_retry_was_otherwise_due(preset, error_event):
    story = Playbook(error_policy=PRESETS[preset]) >> started() >> error_event
    spoken = story.step.transitions[1].outcome.get_evaluation_for("ErrorPolicyCriterion")
    assert spoken.context["handling"] == "stop"
    hopeless = "cannot heal" in spoken.reason or "asks to wait" in spoken.reason
    assert hopeless is (preset == "retry_all")
    assert story << finish("", StopReason.ERROR, TurnStatus.FAILED, "provider_error")


@together
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("type", ErrorType)
def test_a_failed_tool_ends_the_turn_or_is_reported_to_the_model_as_the_policy_says(preset, type):
    policy = PRESETS[preset]
    story = Playbook(error_policy=policy, max_steps=20) >> started()
    for failures in range(1, 8):
        story = story >> called(call(id=str(failures))) >> tools_returned(tool_failed(str(failures), type))
        handling = policy.evaluate(ErrorContext(type, failures, failures))
        if handling is ErrorHandlingDecision.STOP:
            assert story << finish("", ran_out_or_stopped(preset, type), TurnStatus.PARTIAL, "forbidden")
            return
        assert story << call_model(AttemptKind.AFTER_TOOLS)
        assert story.snapshot.spent.consecutive_failures == failures
    assert policy.configured(type) is ErrorHandlingDecision.IGNORE


def test_an_ignored_failure_still_counts_as_a_failure():
    story = Playbook(error_policy=ErrorPolicy.ignore_tool_errors()) >> started() >> called(call())
    story = story >> tools_returned(tool_failed()) >> called(call(id="b")) >> tools_returned()
    assert (story.snapshot.spent.consecutive_failures, story.snapshot.spent.total_failures) == (0, 1)


@pytest.mark.parametrize("kind", ["initial", "continuation", "resume", "repair"])
def test_an_error_without_text_repeats_the_failed_request_unchanged(kind):
    into = {"initial": (), "continuation": (truncated("a "),), "resume": (paused("a "),), "repair": (cut_call("a "),)}
    story = Playbook(error_policy=RETRY) >> started()
    for event in into[kind]:
        story = story >> event
    asked = story.command.request
    story = story >> error() >> woke_up() << call_model(AttemptKind.ERROR_RETRY)
    assert story.command.request == asked


def test_an_error_retry_is_counted_by_the_error_policy_and_not_as_a_continuation():
    story = Playbook(error_policy=RETRY, max_continuations=0) >> started() >> error(partial="a ") >> woke_up()
    story = story >> error(partial="b ") >> woke_up() << call_model(AttemptKind.ERROR_RETRY, continues="a b ")
    assert story >> ended("c") << finish("a b c", StopReason.COMPLETED)
    assert (story.snapshot.spent.continuations, story.snapshot.spent.consecutive_failures) == (0, 2)
    assert story.observed("continuation_terminated") == []
