"""continue_pending: a cut answer is gone on with, within limits (design §3.3)."""

import pytest

from agentcore import AttemptKind, ErrorPolicy, ErrorType, NormalizedStopReason, State, StopReason, Trigger, TurnStatus
from agentcore.machine.judges.continue_pending import HINT
from tests.agentcore.playbook import (
    Playbook,
    blocked,
    call,
    call_model,
    called,
    ended,
    error,
    finish,
    operator,
    paused,
    run_tools,
    started,
    tools_returned,
    truncated,
    woke_up,
)

LONG = "the quick brown fox jumps over the lazy dog"


def test_a_truncated_answer_is_continued_until_it_ends():
    story = (
        Playbook(max_tokens=10)
        >> started("tell me")
        << call_model(AttemptKind.INITIAL, max_tokens=10)
        >> truncated("part 1 ")
        << call_model(AttemptKind.CONTINUATION, continues="part 1 ", max_tokens=10)
        >> ended("part 2")
        << finish("part 1 part 2", StopReason.COMPLETED, TurnStatus.COMPLETED, "completed", notice="")
    )
    assert story.snapshot.spent.continuations == 1
    assert story.snapshot.spent.output_tokens == 15


def test_the_hint_is_the_spec_text_and_never_enters_the_history():
    story = Playbook() >> started() >> truncated("part 1 ")
    assert story.command.request.continuation.hint == HINT
    assert story.snapshot.messages == story.records[0].event.messages


def test_after_three_continuations_the_retry_limit_ends_the_turn_as_partial_with_a_separate_notice():
    story = Playbook(max_tokens=10) >> started()
    for part in ("one ", "two ", "three ", "four "):
        story = story >> truncated(part)
    assert story << finish("one two three four ", StopReason.RETRY_LIMIT, TurnStatus.PARTIAL, "retry_limit")
    assert story.moves[-2:] == [
        (State.CONTINUE_PENDING, Trigger.RETRY_LIMIT, State.ABORT_PARTIAL),
        (State.ABORT_PARTIAL, Trigger.RETURN_PARTIAL_WITH_NOTICE, State.COMPLETE),
    ]
    assert "3 of 3 continuations" in story.end.notice
    assert [seen["attempt"] for seen in story.observed("continuation_attempt")] == [1, 2, 3]
    assert [seen["terminal_reason"] for seen in story.observed("continuation_terminated")] == ["retry_limit"]


def test_a_truncation_without_allowed_continuations_still_reports_its_end():
    story = Playbook(max_continuations=0) >> started() >> truncated("a")
    assert story << finish("a", StopReason.RETRY_LIMIT, terminal="retry_limit")
    assert len(story.observed("continuation_terminated")) == 1


def test_a_continuation_is_clamped_to_the_rest_of_the_completion_total_and_then_stopped_by_it():
    story = (
        Playbook(max_tokens=50, max_total_completion_tokens=70)
        >> started()
        << call_model(AttemptKind.INITIAL, max_tokens=50)
        >> truncated("a ", tokens=50)
        << call_model(AttemptKind.CONTINUATION, max_tokens=20)
        >> truncated("b ", tokens=20)
        << finish("a b ", StopReason.TOKEN_LIMIT, TurnStatus.PARTIAL, "budget_exhausted")
    )
    assert "70 of 70" in story.end.notice


def test_the_default_completion_total_is_four_times_the_first_max_tokens():
    story = Playbook(max_tokens=10, max_continuations=9) >> started()
    for part in ("a", "b", "c", "d"):
        story = story >> truncated(part, tokens=10)
    assert story << finish("abcd", StopReason.TOKEN_LIMIT, terminal="budget_exhausted")


@pytest.mark.parametrize(("left", "goes_on"), [(16, True), (15, False)])
def test_a_remainder_below_the_minimum_of_the_dialect_counts_as_exhausted(left, goes_on):
    story = Playbook(max_tokens=50, max_total_completion_tokens=50 + left, output_floor=16) >> started()
    story = story >> truncated("a", tokens=50)
    assert (story.snapshot.state is State.REQUEST_CONTINUATION) is goes_on


def test_the_total_of_input_and_output_tokens_also_stops_a_continuation():
    story = Playbook(max_total_tokens=20) >> started() >> truncated("a", tokens=10)
    assert story << finish("a", StopReason.TOKEN_LIMIT, TurnStatus.PARTIAL, "budget_exhausted")


def test_the_time_limit_forbids_a_continuation():
    story = Playbook(max_seconds=1.0) >> started() << call_model(AttemptKind.INITIAL)
    assert story.command.seconds_left == 1.0
    assert story >> truncated("a") << finish("a", StopReason.TIME_LIMIT, TurnStatus.PARTIAL, "forbidden")


@pytest.mark.parametrize(
    ("limits", "named"),
    [
        ({"max_continuations": 0, "max_total_completion_tokens": 10, "max_total_output_chars": 1}, "retry_limit"),
        ({"max_total_completion_tokens": 10, "max_total_output_chars": 1}, "budget_exhausted"),
        ({"max_total_tokens": 20, "max_total_output_chars": 1}, "budget_exhausted"),
        ({"max_total_output_chars": 1}, "output_cap"),
    ],
)
def test_the_first_of_several_binding_limits_is_named(limits, named):
    story = Playbook(max_tokens=10, **limits) >> started() >> truncated("abc")
    assert story << finish("a" if "max_total_output_chars" in limits else "abc", terminal=named)


def test_text_is_cut_at_the_character_cap_inside_one_response():
    story = Playbook(max_total_output_chars=5) >> started() >> truncated("abcdefgh")
    assert story << finish("abcde", StopReason.GUARD, TurnStatus.PARTIAL, "output_cap")


def test_text_is_cut_at_the_character_cap_even_when_the_answer_ended_naturally():
    story = Playbook(max_total_output_chars=5) >> started() >> ended("abcdefgh")
    assert story << finish("abcde", StopReason.GUARD, TurnStatus.PARTIAL, "output_cap")


def test_a_cap_that_would_split_a_grapheme_still_ends_the_turn():
    story = Playbook(max_total_output_chars=5) >> started() >> truncated("abcde\u0301fgh")
    assert story << finish("abcd", StopReason.GUARD, TurnStatus.PARTIAL, "output_cap")


def test_text_that_just_fits_the_cap_completes():
    assert Playbook(max_total_output_chars=5) >> started() >> ended("abcde") << finish("abcde", StopReason.COMPLETED)


def test_the_cap_counts_the_text_of_all_iterations():
    story = (
        Playbook(max_total_output_chars=6)
        >> started()
        >> called(call(), text="abcd")
        << run_tools("calculator")
        >> tools_returned()
        >> ended("efgh")
    )
    assert story << finish("ef", StopReason.GUARD, TurnStatus.PARTIAL, "output_cap")


def test_two_consecutive_continuations_without_new_text_end_the_turn():
    story = (
        Playbook(max_continuations=9) >> started() >> truncated(LONG) >> truncated(LONG[-20:]) >> truncated(LONG[-15:])
    )
    assert story << finish(LONG, StopReason.GUARD, TurnStatus.PARTIAL, "repetition")


def test_a_single_continuation_without_new_text_does_not_end_the_turn():
    story = Playbook(max_continuations=9) >> started() >> truncated(LONG) >> truncated(LONG[-20:])
    story = story >> truncated(" and more") >> truncated(LONG[-2:] + " and more")
    assert story.snapshot.state is State.REQUEST_CONTINUATION


def test_a_truncated_answer_without_text_is_requested_again_unchanged_with_twice_the_cap():
    story = (
        Playbook(max_tokens=10, max_total_completion_tokens=100) >> started() >> truncated("", reasoning_content="hm")
    )
    assert story << call_model(AttemptKind.CONTINUATION, max_tokens=20, continuation=None)
    assert story.command.request.messages == story.steps[0].command.request.messages
    assert story >> ended("done") << finish("done", StopReason.COMPLETED)
    assert story >> truncated("") << finish("", StopReason.GUARD, TurnStatus.PARTIAL, "repetition")


def test_twice_the_cap_is_clamped_to_the_ceiling_and_to_the_remaining_tokens():
    asked = Playbook(max_tokens=10, ceiling=15) >> started() >> truncated("")
    assert asked << call_model(AttemptKind.CONTINUATION, max_tokens=15)
    asked = Playbook(max_tokens=10, max_total_completion_tokens=22) >> started() >> truncated("")
    assert asked << call_model(AttemptKind.CONTINUATION, max_tokens=12)


def test_an_answer_of_whitespace_only_is_not_continued():
    story = Playbook(max_tokens=10) >> started() >> truncated("\n\n")
    assert story << call_model(AttemptKind.CONTINUATION, max_tokens=20, continuation=None)


def test_an_overlap_is_dropped_and_recorded_on_the_segment():
    story = Playbook() >> started() >> truncated(LONG) >> ended("over the lazy dog and away")
    assert story << finish(LONG + " and away", StopReason.COMPLETED)
    first, second = story.snapshot.answer.segments
    assert (first.attempt, first.start, first.end, first.dropped) == (1, 0, len(LONG), 0)
    assert (second.attempt, second.start, second.dropped) == (2, len(LONG), len("over the lazy dog"))


def test_a_paused_answer_is_sent_back_unchanged_without_a_hint():
    story = (
        Playbook()
        >> started()
        >> paused("so far ", echo=["block"])
        << call_model(AttemptKind.RESUME, continuation=None)
    )
    assert story.command.request.messages[-1].echo == ["block"]
    assert story.snapshot.spent.continuations == 1
    assert story >> ended("and done") << finish("so far and done", StopReason.COMPLETED)


def test_a_resume_counts_as_a_continuation_and_is_bound_by_max_continuations():
    story = Playbook(max_continuations=1) >> started() >> paused("a") >> paused("b")
    assert story << finish("ab", StopReason.RETRY_LIMIT, TurnStatus.PARTIAL, "retry_limit")


def test_a_truncated_resume_without_text_is_requested_again_with_the_paused_answer():
    story = Playbook(max_total_completion_tokens=500) >> started() >> paused("", echo=["block"]) >> truncated("")
    assert story << call_model(AttemptKind.CONTINUATION, max_tokens=120, continuation=None)
    assert story.command.request.messages[-1].echo == ["block"]


def test_a_continuation_that_ends_in_a_complete_call_runs_it_with_the_text_in_one_message():
    story = Playbook() >> started() >> truncated("I will ") >> called(call(), text="compute") << run_tools("calculator")
    said = story.snapshot.messages[-1]
    assert (said.text, [c.name for c in said.tool_calls]) == ("I will compute", ["calculator"])
    assert [seen["terminal_reason"] for seen in story.observed("continuation_terminated")] == ["completed"]


def test_a_blocked_continuation_keeps_the_earlier_text_and_withholds_its_own():
    story = Playbook() >> started() >> truncated("fine ") >> blocked("not fine")
    assert story << finish("fine ", StopReason.FINISH_REASON, TurnStatus.ABORTED, "safety_blocked")
    assert [seen["terminal_reason"] for seen in story.observed("continuation_terminated")] == ["safety_blocked"]


@pytest.mark.parametrize(
    ("event", "counted"),
    [
        (truncated("abc", tokens=None), 60),
        (ended("abcdefghi", tokens=None), 3),
    ],
)
def test_missing_usage_is_estimated_and_marked_as_estimated(event, counted):
    story = Playbook() >> started() >> event
    assert story.snapshot.spent.output_tokens == counted
    assert story.snapshot.spent.estimated


def test_known_usage_is_not_marked_estimated():
    assert not (Playbook() >> started() >> ended("a")).snapshot.spent.estimated


def test_limits_that_an_operator_changes_apply_from_the_next_evaluation():
    story = Playbook(max_continuations=0) >> started() >> operator(limits={"max_continuations": 1}) >> truncated("a ")
    assert story << call_model(AttemptKind.CONTINUATION) >> ended("b") << finish("a b", StopReason.COMPLETED)


def test_an_error_that_means_truncation_is_continued():
    cut = error(ErrorType.MODEL, stop_reason=NormalizedStopReason.MAX_TOKENS, retryable=False)
    story = Playbook(max_tokens=10) >> started() >> cut
    assert story << call_model(AttemptKind.CONTINUATION, max_tokens=20, continuation=None)
    assert story >> cut << finish("", StopReason.GUARD, TurnStatus.PARTIAL, "repetition")


def test_a_truncated_answer_with_a_resume_token_is_resumed_without_a_hint():
    story = (
        Playbook(max_tokens=10, max_continuations=2)
        >> started()
        >> truncated("the very same words ", resume_token="t1")
        << call_model(AttemptKind.CONTINUATION, resume_token="t1", continuation=None, max_tokens=10)
        >> truncated("the very same words ", resume_token="t2")
        << call_model(AttemptKind.CONTINUATION, resume_token="t2", continuation=None)
        >> ended("end")
        << finish("the very same words the very same words end", StopReason.COMPLETED)
    )
    assert story.snapshot.spent.continuations == 2


def test_continuation_limits_also_apply_to_resumed_answers():
    story = Playbook(max_tokens=10, max_continuations=1) >> started()
    story = story >> truncated("one ", resume_token="t1") >> truncated("two ", resume_token="t2")
    assert story << finish("one two ", StopReason.RETRY_LIMIT, TurnStatus.PARTIAL, "retry_limit")


def test_a_token_is_used_only_for_the_request_it_belongs_to():
    hinted = Playbook() >> started() >> truncated("one ") >> truncated("two ", resume_token="t1")
    assert hinted << call_model(AttemptKind.CONTINUATION, continues="one two ", resume_token=None)
    torn = Playbook() >> started() >> truncated("one ", resume_token="t1", incomplete_stream=True)
    assert torn << call_model(AttemptKind.CONTINUATION, continues="one ", resume_token=None)


def test_a_failed_resume_is_repeated_with_its_token_unless_it_produced_text():
    policy = {"error_policy": ErrorPolicy.retry_all()}
    silent = Playbook(**policy) >> started() >> truncated("one ", resume_token="t1") >> error() >> woke_up()
    assert silent << call_model(AttemptKind.ERROR_RETRY, resume_token="t1", continuation=None)
    said = Playbook(**policy) >> started() >> truncated("one ", resume_token="t1") >> error(partial="two ") >> woke_up()
    assert said << call_model(AttemptKind.ERROR_RETRY, continues="one two ", resume_token=None)


@pytest.mark.parametrize(
    ("provider", "prefill", "text"),
    [
        ("anthropic", True, "Once upon\n\nA time"),
        ("bedrock", True, "Once upon\n\nA time"),
        ("anthropic", False, "Once upon\n\n\n\nA time"),
        ("openai", True, "Once upon\n\n\n\nA time"),
    ],
)
def test_whitespace_dropped_by_a_prefill_is_not_duplicated(provider, prefill, text):
    story = Playbook(provider=provider, extra={"prefill": prefill}) >> started() >> truncated("Once upon\n\n")
    story = story >> ended("\n\nA time")
    assert story << finish(text, StopReason.COMPLETED)
