"""What else could have happened at each step, and that “it would have continued” is true."""

import pytest

from agentcore.error_policy import ErrorPolicy
from agentcore.machine.advance import advance
from agentcore.replay import Span, fold
from agentcore.states import TRANSITIONS, State, Trigger
from agentcore.values import replace
from agentcore.why import AlternativeTransition, derive, roads_of, roads_taken_past
from agentcore.why.limit_usage import missing
from agentcore.why.transition_case import Case, cases_of
from tests.agentcore.machine.stories import SCHEMA, STORIES
from tests.agentcore.playbook import (
    Playbook,
    call,
    called,
    cut_call,
    ended,
    error,
    play,
    tool_failed,
    tools_returned,
    truncated,
    woke_up,
)
from tests.together import together

FAMILY = "abc👩\u200d👩\u200d👧"  #: its last character is five code points, which no cap may part

LIMITED = (
    *STORIES,
    lambda: play(truncated("a"), max_continuations=0, max_total_completion_tokens=5),
    lambda: play(truncated("a"), max_total_tokens=3, max_seconds=0.1),
    lambda: play(*(truncated(text, tokens=60) for text in "abcd"), max_continuations=3),
    lambda: play(truncated("a", tokens=None), max_total_completion_tokens=60, max_continuations=9),
    lambda: play(called(call()), tools_returned(), max_seconds=1.5),
    lambda: play(called(call()), tools_returned(), called(call(id="b")), max_steps=2),
    lambda: play(cut_call(), max_tool_repair_attempts=0, max_total_tokens=5),
    lambda: play(truncated("{"), envelope_schema=SCHEMA, schema_rounds=0, max_total_tokens=5),
    lambda: play(error(), woke_up(), error(), error_policy=ErrorPolicy.retry_all(2)),
    lambda: play(called(call()), tools_returned(tool_failed()), error_policy=ErrorPolicy.retry_all(1)),
    lambda: play(truncated("a"), output_floor=16, max_total_completion_tokens=20),
    lambda: play(cut_call("a" * 20), max_tool_repair_attempts=0, max_total_output_chars=10),
    lambda: play(truncated(FAMILY), max_total_output_chars=5, max_continuations=0),
    lambda: play(truncated(FAMILY), max_total_output_chars=5, max_continuations=3),
)


def steps(book: Playbook) -> list[tuple[Case, tuple[AlternativeTransition, ...]]]:
    return list(roads_taken_past(fold(book.recording)))


def road(book: Playbook, trigger: Trigger, source: State) -> AlternativeTransition:
    found = [road for _, roads in steps(book) for road in roads if (road.source, road.trigger) == (source, trigger)]
    return found[-1]


@together
@pytest.mark.parametrize("story", LIMITED)
def test_each_step_lists_every_other_transition_of_the_table(story):
    for case, roads in steps(story()):
        others = {trigger for trigger in TRANSITIONS[case.source] if trigger is not case.trigger}
        assert {road.trigger for road in roads} == others
        assert all(road.target is TRANSITIONS[case.source][road.trigger] for road in roads)
        assert all(road.guard and road.miss for road in roads)


#: The move that goes on, where something may forbid it.
ON = {
    State.CONTINUE_PENDING: {Trigger.UNDER_LIMITS},
    State.REPAIR_PENDING: {Trigger.UNDER_LIMITS},
    State.EVALUATE_ENVELOPE: {Trigger.TRUNCATED, Trigger.SCHEMA_VIOLATION},
    State.EVALUATE_ERROR: {Trigger.RETRY},
    State.EVALUATE_CONTINUATION: {Trigger.CONTINUE},
}


@together
@pytest.mark.parametrize("story", LIMITED)
def test_the_turn_continues_once_the_named_condition_is_met(story):
    book = story()
    for span in fold(book.recording):
        for case in cases_of(span):
            promised = [road for road in promises(case) if road.trigger in ON.get(case.source, ())]
            if promised:
                assert goes_on(book, span, case), promised


def promises(case: Case | None) -> list[AlternativeTransition]:
    return [road for road in roads_of(case) if "it would have continued" in road.miss] if case else []


def goes_on(book: Playbook, span: Span, case: Case) -> bool:
    """Whether the same event, judged with what was missing, leads on from where it had stopped."""
    raised = {amount.limit_name: amount.enough for amount in missing(case).limits}
    retries = raised.pop("max_retries", span.before.error_policy.max_retries)
    if "max_total_output_chars" in raised:
        raised["max_total_output_chars"] = 10_000  # all of the answer: what is cut at a cap is cut at the next one too
    before = replace(
        span.before,
        limits=replace(span.before.limits, **raised),
        error_policy=replace(span.before.error_policy, max_retries=int(retries)),
    )
    step = advance(before, span.record.event, book.policy)
    (again,) = [move for move in step.transitions if move.source is case.source]
    return again.trigger in ON[case.source]


def test_every_state_that_can_continue_suggests_it_somewhere():
    assert {case.source for story in LIMITED for case, _ in steps(story()) if promises(case)} == set(ON)


def test_the_nearest_miss_of_a_limit_is_given_as_a_number():
    book = play(*(truncated(text) for text in "abcd"))
    assert road(book, Trigger.UNDER_LIMITS, State.CONTINUE_PENDING).miss == (
        "3 of 3 continuations used; with 4 continuations it would have continued"
    )
    going_on = steps(play(truncated("a")))[-1][1]
    near = {road.trigger: road.miss for road in going_on if road.near}
    assert near[Trigger.RETRY_LIMIT] == "0 of 3 continuations used"
    assert near[Trigger.BUDGET_EXHAUSTED] == "10 of 240 completion tokens used"
    assert near[Trigger.OUTPUT_CAP] == "1 of 120,000 characters used"


def test_where_several_limits_bind_all_are_named():
    book = play(truncated("a"), max_continuations=0, max_total_completion_tokens=5)
    assert road(book, Trigger.UNDER_LIMITS, State.CONTINUE_PENDING).miss == (
        "Max continuations (max_continuations) is 0, 10 of 5 completion tokens used; with 1 continuation and a "
        "higher Max completion tokens per turn (max_total_completion_tokens) it would have continued"
    )
    open_too = road(book, Trigger.BUDGET_EXHAUSTED, State.CONTINUE_PENDING)
    assert (open_too.open, open_too.near) == (True, True)


def test_an_answer_without_a_call_is_reported_as_such():
    book = play(ended("done"))
    assert road(book, Trigger.TOOL_CALL, State.EVALUATE_STOP).miss == "no tool call in the answer"
    assert not road(book, Trigger.TOOL_CALL, State.EVALUATE_STOP).near
    assert road(book, Trigger.BROKEN_TOOL_CALL, State.EVALUATE_STOP).miss == "no tool call in the answer"


def test_no_limit_is_suggested_where_something_else_also_forbade():
    book = play(truncated(), truncated(), max_continuations=1)
    assert road(book, Trigger.UNDER_LIMITS, State.CONTINUE_PENDING).miss == (
        "1 of 1 continuations used; two truncated answers in a row that added nothing new also forbade continuing"
    )
    unhealable = play(error(retryable=False), error_policy=ErrorPolicy.retry_all(9))
    assert "it would have" not in road(unhealable, Trigger.RETRY, State.EVALUATE_ERROR).miss


def test_a_character_cap_that_would_split_a_character_is_exhausted():
    both = play(truncated(FAMILY), max_total_output_chars=5, max_continuations=0)
    assert road(both, Trigger.UNDER_LIMITS, State.CONTINUE_PENDING).miss.endswith(
        "with 1 continuation and a higher Max output characters (max_total_output_chars) it would have continued"
    )
    alone = derive(play(truncated(FAMILY), max_total_output_chars=5).recording)
    assert (alone.resource, alone.clause) == ("max_total_output_chars", "limits.max_total_output_chars")


def test_the_character_cap_does_not_hide_that_no_repair_was_left():
    book = play(cut_call("a" * 20), max_tool_repair_attempts=0, max_total_output_chars=10)
    assert road(book, Trigger.UNDER_LIMITS, State.REPAIR_PENDING).miss.endswith(
        "with a higher Max output characters (max_total_output_chars) and 1 tool repair it would have continued"
    )
    assert derive(book.recording).clause == "limits.max_total_output_chars"


@pytest.mark.parametrize("last", [{"retryable": False}, {"retry_after": 900.0}], ids=["not to be healed", "too long"])
def test_no_retry_is_suggested_for_a_permanent_error(last):
    book = play(error(), woke_up(), error(**last), error_policy=ErrorPolicy.retry_all(2))
    assert "it would have" not in road(book, Trigger.RETRY, State.EVALUATE_ERROR).miss
    derivation = derive(book.recording)
    assert (derivation.resource, derivation.clause) == (None, None)


def test_an_estimate_is_marked_as_one():
    book = play(truncated("a", tokens=None))
    assert road(book, Trigger.BUDGET_EXHAUSTED, State.CONTINUE_PENDING).miss == "about 60 of 240 completion tokens used"


def test_a_held_step_suggests_nothing():
    from tests.agentcore.machine.stories import held_at

    case, roads = steps(held_at(State.CONTINUE_PENDING) >> truncated("a"))[-1]
    assert case.held
    assert all(road.open is None for road in roads)
    assert {road.miss for road in roads} == {"the turn was held before this was evaluated"}


def test_only_recorded_facts_are_reported_for_steps_this_core_cannot_judge():
    book = play(*(truncated(text) for text in "abcd"))
    spans = tuple(replace(span, known=False) for span in fold(book.recording))
    case = [case for span in spans for case in cases_of(span) if case and case.source is State.CONTINUE_PENDING][-1]
    told = {road.trigger: road for road in roads_of(case)}
    assert told[Trigger.REPETITION].open is None
    assert told[Trigger.UNDER_LIMITS].miss.startswith("3 of 3 continuations used")
    assert "it would have continued" not in told[Trigger.UNDER_LIMITS].miss
    assert told[Trigger.BUDGET_EXHAUSTED].miss == "about 40 of 240 completion tokens used"
