"""What an attempt adds: tokens, known or estimated, and text, cut at the character cap (design §3.3)."""

import pytest

from agentcore import AttemptKind, ChatResponse, ErrorPolicy, NormalizedStopReason, State, StopReason, TurnStatus
from agentcore.events import Breakpoint
from tests.agentcore.playbook import (
    Playbook,
    broken,
    call,
    call_model,
    called,
    cancelled,
    cut_call,
    ended,
    error,
    finish,
    hold,
    interrupted,
    released,
    responded,
    started,
    tools_returned,
    truncated,
    usage,
    woke_up,
)
from tests.together import together

R = NormalizedStopReason
LONG = "the quick brown fox jumps over the lazy dog"


@together
@pytest.mark.parametrize(
    ("response", "counted"),
    [
        (ChatResponse("a", stop_reason=R.MAX_TOKENS), 60),
        (ChatResponse("", stop_reason=R.MAX_TOKENS, broken_tool_calls=(broken(),)), 60),
        (ChatResponse("12345678", stop_reason=R.END_TURN), 2),
        (ChatResponse("123456789", stop_reason=R.END_TURN), 3),
        (ChatResponse("1234", reasoning_content="1234", stop_reason=R.END_TURN), 2),
        (ChatResponse("1234", tool_calls=(call("clock"),), stop_reason=R.TOOL_CALL), 2),
        (ChatResponse("1234", stop_reason=R.SAFETY_BLOCKED), 1),
    ],
)
def test_missing_usage_is_estimated_by_the_cap_or_by_four_characters_per_token(response, counted):
    story = Playbook(max_tokens=60) >> started() >> responded(response)
    assert (story.snapshot.spent.output_tokens, story.snapshot.spent.estimated) == (counted, True)


def test_usage_of_zero_is_exact_and_not_estimated():
    story = Playbook() >> started() >> truncated("abcdefgh", tokens=0)
    assert (story.snapshot.spent.output_tokens, story.snapshot.spent.estimated) == (0, False)


def test_an_error_that_means_truncation_has_used_its_cap():
    story = Playbook(max_tokens=60) >> started() >> error(stop_reason=R.MAX_TOKENS)
    assert (story.snapshot.spent.output_tokens, story.snapshot.spent.estimated) == (60, True)
    assert story.snapshot.model_stop_reason == "max_tokens"


def test_usage_is_summed_over_failed_truncated_and_lost_attempts():
    story = Playbook(error_policy=ErrorPolicy.retry_all()) >> started() >> error(partial="a", tokens=4) >> woke_up()
    story = story >> truncated("b", tokens=10) >> interrupted("c") >> cancelled("d")
    spent = story.snapshot.spent
    assert (spent.output_tokens, spent.input_tokens, spent.attempts) == (22, 40, 4)
    assert story << finish("abcd", StopReason.USER_REQUESTED)


def test_every_segment_has_its_attempt_kind_span_and_dropped_length():
    story = Playbook() >> started() >> truncated(LONG) >> interrupted(" and") >> ended("the lazy dog and on")
    assert [(s.attempt, s.kind, s.start, s.end, s.dropped) for s in story.snapshot.answer.segments] == [
        (1, AttemptKind.INITIAL, 0, 43, 0),
        (2, AttemptKind.CONTINUATION, 43, 47, 0),
        (3, AttemptKind.CONTINUATION, 47, 50, 16),
    ]
    assert story << finish(LONG + " and on")


def test_a_repetition_of_under_twelve_characters_is_kept_unless_the_policy_lowers_the_threshold():
    for least, text in ((12, "ha ha "), (3, "ha ")):
        assert Playbook(min_overlap=least) >> started() >> truncated("ha ") >> ended("ha ") << finish(text)


@pytest.mark.parametrize(("said", "kept"), [("over the la", False), ("the", False), ("over there", True), (" ", True)])
def test_repeated_text_of_an_interrupted_call_is_requested_again_and_not_kept_twice(said, kept):
    story = Playbook(drop_repetitions=True) >> started() >> truncated(LONG) >> interrupted(said)
    assert story << call_model(AttemptKind.CONTINUATION, continues=LONG + said * kept)
    last = story.snapshot.answer.segments[-1]
    assert (last.attempt, last.dropped) == (2, 0 if kept else len(said))
    before_there_was_the_rule = Playbook() >> started() >> truncated(LONG) >> interrupted(said)
    assert before_there_was_the_rule << call_model(AttemptKind.CONTINUATION, continues=LONG + said)


@pytest.mark.parametrize(("said", "kept"), [("over the la", True), ("over the laz", False)])
def test_text_of_a_failed_call_counts_as_repetition_from_the_minimum_overlap(said, kept):
    story = Playbook(drop_repetitions=True, error_policy=ErrorPolicy.retry_all()) >> started() >> truncated(LONG)
    story = story >> error(partial=said) >> woke_up()
    assert story.snapshot.output_text == LONG + said * kept


def held_at_the_cap(state, answer):
    return Playbook(max_total_output_chars=5) >> started(breakpoints=(Breakpoint(state=state),)) >> answer


def test_a_raised_character_cap_restores_what_the_old_one_cut():
    story = held_at_the_cap("continue_pending", truncated("abcdefgh"))
    assert story.snapshot.output_text == "abcde"
    assert story >> released() << finish("abcde", StopReason.GUARD, TurnStatus.PARTIAL, "output_cap")
    raised = story >> released(limits={"max_total_output_chars": 100})
    assert raised << call_model(AttemptKind.CONTINUATION, continues="abcdefgh")
    assert raised.snapshot.spent.output_chars == 8
    raised = raised >> ended("ij")
    assert raised.snapshot.state is State.COMPLETE
    assert raised << finish("abcdefghij", StopReason.COMPLETED, TurnStatus.COMPLETED)


def test_a_character_cap_raised_too_little_cuts_again():
    story = held_at_the_cap("continue_pending", truncated("abcdefgh")) >> released(limits={"max_total_output_chars": 7})
    assert story << finish("abcdefg", StopReason.GUARD, TurnStatus.PARTIAL, "output_cap")


def test_text_beyond_the_character_cap_requests_no_repair_until_the_cap_is_raised():
    story = Playbook(max_total_output_chars=5) >> started() >> cut_call("abcdefgh")
    assert story << finish("abcde", StopReason.GUARD, TurnStatus.PARTIAL, "output_cap")
    story = held_at_the_cap("repair_pending", cut_call("abcdefgh")) >> released(limits={"max_total_output_chars": 9})
    assert story << call_model(AttemptKind.TOOL_REPAIR, continues="abcdefgh")


def test_the_character_cap_is_named_where_it_ends_a_failed_turn_instead_of_the_policy():
    policy = ErrorPolicy.retry_all()
    story = Playbook(error_policy=policy, max_total_output_chars=3) >> started() >> error(partial="abcdef")
    assert story << finish("abc", StopReason.GUARD, TurnStatus.PARTIAL, "output_cap")


def test_complete_calls_beside_text_beyond_the_character_cap_do_not_run_and_are_named():
    story = Playbook(max_total_output_chars=3) >> started() >> called(call("clock"), text="abcdef")
    assert story << finish("abc", StopReason.GUARD, TurnStatus.PARTIAL, "output_cap")
    assert "clock" in story.end.notice


def test_only_time_in_the_model_and_in_tools_is_counted():
    story = Playbook(error_policy=ErrorPolicy.retry_all()) >> started(breakpoints=(Breakpoint(trigger="max_tokens"),))
    spent = []
    for event in (
        error(), woke_up(), called(call()), tools_returned(), truncated("a"), released(), interrupted(), ended("b"),
    ):  # fmt: skip
        story = story >> event
        spent.append(story.snapshot.spent.seconds)
    assert spent == [1, 1, 2, 3, 4, 4, 4, 5]


def test_usage_received_with_an_interrupted_continuation_reduces_the_budget_of_the_next():
    story = Playbook(max_tokens=50, max_total_completion_tokens=70) >> started() >> truncated("a ", tokens=50)
    story = story << call_model(AttemptKind.CONTINUATION, max_tokens=20) >> interrupted("b ")
    assert story << call_model(AttemptKind.CONTINUATION, max_tokens=16, continues="a b ")
    assert usage(4).output_tokens == 4


def test_text_restored_by_a_raised_cap_starts_at_the_cut_and_excludes_repeated_text():
    pause = (Breakpoint(trigger="max_tokens"),)
    story = Playbook(max_total_output_chars=48) >> started(breakpoints=pause) >> truncated(LONG) >> released()
    story = story >> truncated("over the lazy dog and away") << hold(State.CONTINUE_PENDING)
    assert story.snapshot.output_text == LONG + " and "
    raised = story >> released(limits={"max_total_output_chars": 99})
    assert raised << call_model(AttemptKind.CONTINUATION, continues=LONG + " and away")
