"""continue_pending: what a continuation may use, and which limit is named when it may not be (design §3.3)."""

from itertools import product

import pytest

from agentcore import (
    AttemptKind,
    ContinuationDecision,
    ContinuationEvaluation,
    ErrorPolicy,
    Limits,
    NormalizedStopReason,
    State,
    StopReason,
    TurnStatus,
    verify,
)
from agentcore.events import Breakpoint
from agentcore.machine.judges.continue_pending import HINT
from tests.agentcore.playbook import (
    Playbook,
    call,
    call_model,
    called,
    cut_call,
    ended,
    error,
    finish,
    operator,
    paused,
    released,
    run_tools,
    started,
    tools_returned,
    truncated,
    woke_up,
)
from tests.together import together

LIMITS = {
    "retry_limit": {"max_continuations": 0},
    "budget_exhausted": {"max_total_completion_tokens": 10},
    "output_cap": {"max_total_output_chars": 2},
}
STOPS = {
    "retry_limit": StopReason.RETRY_LIMIT,
    "budget_exhausted": StopReason.TOKEN_LIMIT,
    "output_cap": StopReason.GUARD,
}


@together
@pytest.mark.parametrize("binding", [flags for flags in product([True, False], repeat=3) if any(flags)])
def test_the_first_binding_limit_in_order_is_named(binding):
    names = [name for name, binds in zip(LIMITS, binding, strict=True) if binds]
    limits = {key: value for name in names for key, value in LIMITS[name].items()}
    story = Playbook(max_seconds=0.5, max_total_tokens=10**6, **limits) >> started() >> truncated("abc")
    assert story << finish(None, STOPS[names[0]], TurnStatus.PARTIAL, names[0])
    outcome = story.step.transitions[-2].outcome
    assert (outcome.resolved_by, outcome.stop_reason) == ("TruncationCriterion", STOPS[names[0]])
    assert outcome.get_evaluation_for("TruncationCriterion").context["bound"] == names[0]


@together
@pytest.mark.parametrize("kind", [AttemptKind.CONTINUATION, AttemptKind.RESUME])
@pytest.mark.parametrize("floor", [1, 2, 16])
@pytest.mark.parametrize("left", [0, 1, 2, 15, 16, 49, 50, 51])
def test_a_continuation_and_a_resume_request_at_most_the_remainder_and_at_least_the_dialects_minimum(left, floor, kind):
    story = Playbook(max_tokens=50, max_total_completion_tokens=5 + left, output_floor=floor) >> started()
    story = story >> (truncated("a", tokens=5) if kind is AttemptKind.CONTINUATION else paused("a"))
    if left < floor:
        assert story << finish("a", StopReason.TOKEN_LIMIT, TurnStatus.PARTIAL, "budget_exhausted")
    else:
        assert story << call_model(kind, max_tokens=min(50, left))


def test_a_retry_is_clamped_to_what_is_left_and_a_repair_is_not():
    book = Playbook(max_tokens=50, max_total_completion_tokens=60, error_policy=ErrorPolicy.retry_all())
    spent = book >> started() >> error(partial="a", tokens=55) >> woke_up()
    assert spent << call_model(AttemptKind.ERROR_RETRY, max_tokens=5)
    assert book >> started() >> cut_call("a", tokens=55) << call_model(AttemptKind.TOOL_REPAIR, max_tokens=100)


def test_a_continuation_used_up_by_reasoning_gets_twice_the_cap_and_the_same_hint():
    story = Playbook(max_tokens=10, max_total_completion_tokens=100) >> started() >> truncated("so far ")
    story = story << call_model(AttemptKind.CONTINUATION, max_tokens=10) >> truncated("")
    assert story << call_model(AttemptKind.CONTINUATION, continues="so far ", max_tokens=20)
    assert story.command.request.continuation.hint == HINT
    assert story >> ended("and on") << finish("so far and on")
    assert story >> truncated(" ") << finish("so far  ", StopReason.GUARD, TurnStatus.PARTIAL, "repetition")
    assert story >> truncated("more ") << call_model(AttemptKind.CONTINUATION, max_tokens=10)


@pytest.mark.parametrize(("ceiling", "left", "cap"), [(None, 50, 20), (15, 50, 15), (15, 12, 12), (99, 12, 12)])
def test_twice_the_cap_is_limited_by_the_ceiling_and_the_remaining_tokens(ceiling, left, cap):
    story = Playbook(max_tokens=10, ceiling=ceiling, max_total_completion_tokens=10 + left) >> started()
    assert story >> truncated("") << call_model(AttemptKind.CONTINUATION, continuation=None, max_tokens=cap)
    story = Playbook(max_tokens=10, ceiling=ceiling, max_total_completion_tokens=15 + left) >> started()
    story = story >> truncated("a ", tokens=10) >> truncated("", tokens=5)
    assert story << call_model(AttemptKind.CONTINUATION, continues="a ", max_tokens=cap)


def test_a_continuation_that_only_repeated_text_gets_no_larger_cap():
    long = "the quick brown fox jumps over the lazy dog"
    story = Playbook(max_tokens=10) >> started() >> truncated(long) >> truncated(long[-20:])
    assert story << call_model(AttemptKind.CONTINUATION, continues=long, max_tokens=10)


def test_the_first_empty_answer_is_tolerated_anywhere_and_a_second_in_a_row_is_not():
    story = Playbook(max_continuations=9, max_total_completion_tokens=10**4) >> started()
    for text in ("", "a ", "", "b ", ""):
        story = story >> truncated(text)
        assert story.snapshot.state is State.REQUEST_CONTINUATION
    assert story >> truncated("") << finish("a b ", StopReason.GUARD, terminal="repetition")


def test_pauses_without_text_are_not_counted_as_repetition():
    story = Playbook(max_continuations=4) >> started()
    for _ in range(4):
        story = story >> paused("")
        assert story << call_model(AttemptKind.RESUME)
    assert story >> paused("") << finish("", StopReason.RETRY_LIMIT, TurnStatus.PARTIAL, "retry_limit")


class Forbids:
    """A custom criterion, with a context that looks like ours."""

    def __init__(self, name="Forbids", stop_reason=None, **context):
        self.evaluation = ContinuationEvaluation(name, ContinuationDecision.FORBID, "no", context, stop_reason)

    def explain(self, state):
        going = state.state in (State.CONTINUE_PENDING, State.REPAIR_PENDING)
        return self.evaluation if going else ContinuationEvaluation("Forbids", ContinuationDecision.ALLOW)


@together
@pytest.mark.parametrize("cut", [truncated("a"), cut_call("a")], ids=["continuation", "repair"])
@pytest.mark.parametrize(
    "criterion",
    [
        Forbids(),
        Forbids(bound="the moon"),
        Forbids(bound="output_cap"),
        Forbids("TruncationCriterion", bound="repetition"),
        Forbids(stop_reason=StopReason.TOKEN_LIMIT),
    ],
    ids=["plain", "a context of its own", "a context like ours", "a name like ours", "a stop reason like ours"],
)
def test_a_custom_criterion_that_forbids_is_reported_as_forbidden_whatever_its_name(criterion, cut):
    story = Playbook(criteria=(criterion,)) >> started() >> cut
    stop_reason = criterion.evaluation.stop_reason or StopReason.GUARD
    assert story << finish("a", stop_reason, TurnStatus.PARTIAL, "forbidden")


@together
@pytest.mark.parametrize(
    ("binding", "freeing"),
    [
        ({"max_continuations": 0}, {"max_continuations": 1}),
        ({"max_total_completion_tokens": 10}, {"max_total_completion_tokens": 99}),
        ({"max_total_tokens": 10}, {"max_total_tokens": None}),
        ({"max_total_output_chars": 1}, {"max_total_output_chars": 99}),
        ({"max_seconds": 0.5}, {"max_seconds": 99.0}),
    ],
)
def test_limits_are_read_when_the_turn_is_released(binding, freeing):
    pause = (Breakpoint(state="continue_pending"),)
    bound = Playbook(**binding) >> started(breakpoints=pause) >> truncated("abc")
    assert (bound >> released()).end.status is TurnStatus.PARTIAL
    for story in (bound >> released(limits=freeing), bound >> operator(limits=freeing) >> released()):
        assert story << call_model(AttemptKind.CONTINUATION, continues="abc")
    free = Playbook(**(binding | freeing)) >> started(breakpoints=pause) >> truncated("abc")
    assert (free >> released(limits=binding)).end.status is TurnStatus.PARTIAL


def test_the_hint_equals_the_text_of_the_spec():
    assert HINT.splitlines() == [
        "Previous response was truncated by token limit.",
        "Continue exactly from where you left off.",
        "If you intended a tool call, emit one complete tool call payload only.",
        "Do not repeat already-sent text.",
    ]
    cut = error(stop_reason=NormalizedStopReason.MAX_TOKENS, partial="half ")
    assert (Playbook() >> started() >> cut).command.request.continuation.hint == HINT


def test_a_pause_in_a_continuation_also_sends_back_the_earlier_text():
    story = Playbook() >> started("q") >> truncated("one ") >> paused("two ", echo=["two"])
    story = story << call_model(AttemptKind.RESUME, continuation=None)
    assert [(m.text, m.echo) for m in story.command.request.messages] == [
        ("q", None),
        ("one ", None),
        ("two ", ["two"]),
    ]
    again = story >> paused("three ", echo=["three"])
    assert [m.text for m in again.command.request.messages] == ["q", "one ", "two ", "three "]
    assert again >> ended("four") << finish("one two three four")


def test_a_resumed_answer_that_calls_a_tool_keeps_the_paused_answer_unchanged_in_the_history():
    story = Playbook() >> started("q") >> paused("searching ", echo=["search"]) >> called(call(), text="found")
    story = story << run_tools("calculator") >> tools_returned() << call_model(AttemptKind.AFTER_TOOLS)
    said = [(m.role.value, m.text, m.echo, len(m.tool_calls)) for m in story.command.request.messages]
    assert said[1:3] == [("assistant", "searching ", ["search"], 0), ("assistant", "found", None, 1)]
    assert story.snapshot.earlier[-1].text == "searching found"


def test_an_empty_answer_of_an_earlier_iteration_does_not_count_in_this_one():
    story = Playbook(max_total_completion_tokens=10**4) >> started() >> truncated("") >> called(call())
    story = story >> tools_returned() >> truncated("") << call_model(AttemptKind.CONTINUATION)
    assert story >> truncated("") << finish("", terminal="repetition")


@together
@pytest.mark.parametrize(("tell", "about"), [(True, "about "), (False, ""), (None, "")])
@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (Limits(max_total_completion_tokens=20), "{}20 of 20 completion tokens used"),
        (Limits(max_total_tokens=15), "{}20 of 15 tokens used"),
        (Limits(max_continuations=1), "1 of 1 continuations used"),
    ],
)
def test_the_notice_marks_estimated_token_counts_as_approximate(limits, said, tell, about):
    story = Playbook(limits=limits, tell_estimates=tell, max_tokens=10) >> started()
    story = story >> truncated("one two three ", tokens=None) >> truncated("four five six", tokens=None)
    end = story.snapshot.end
    assert end is not None
    assert end.notice == f"This answer is incomplete: {said.format(about)}."
    assert verify(story.stored()).verified


@pytest.mark.parametrize(("tokens", "about"), [(None, "about "), (10, "")])
def test_criteria_also_mark_estimated_token_counts_as_approximate(tokens, about):
    story = Playbook(tell_estimates=True, max_tokens=10) >> started() >> truncated("one two three ", tokens=tokens)
    outcome = story.steps[-1].transitions[-1].outcome
    used = 10 if tokens is None else 20
    told = [outcome.get_evaluation_for(name).reason for name in ("TruncationCriterion", "TokenUsageLimit")]
    assert told == [
        f"cut off; 0 of 3 continuations used, {about}30 tokens left",
        f"{about}{used} tokens in and out; no limit",
    ]
