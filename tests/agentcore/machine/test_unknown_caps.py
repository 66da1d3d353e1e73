"""Calls whose cap nobody set, or no record tells: what Whystop calculates with is no limit, by rules of revision 9."""

import pytest

from agentcore import ChatResponse, NormalizedStopReason, TokenUsage, verify
from agentcore.error_policy import ErrorPolicy
from agentcore.events import Breakpoint
from agentcore.machine.breakpoints import budgets_of
from agentcore.messages import DEMANDED, NO_CAP
from agentcore.reasons import AttemptKind
from agentcore.remedies import limits_spent
from agentcore.replay import recording_from_json, recording_to_json
from agentcore.resource import resource_of
from agentcore.states import State
from agentcore.verdict import verdict
from agentcore.why import derive
from tests.agentcore.playbook import (
    Playbook,
    call_model,
    cut_call,
    ended,
    error,
    released,
    responded,
    started,
    woke_up,
)
from tests.together import together

CALCULATED = 16_384
UNKNOWN = [NO_CAP, "unknown"]


def cut(output: int | None = 30_000, text: str = "word " * 10):
    usage = None if output is None else TokenUsage(20, output)
    return responded(
        ChatResponse(text, usage=usage, stop_reason=NormalizedStopReason.MAX_TOKENS, raw_stop_reason="length")
    )


def turn(*moves, uncapped=NO_CAP, **asked):
    story = Playbook(**{"max_tokens": CALCULATED, "extra": {"uncapped": uncapped}, **asked}) >> started()
    for move in moves:
        story = story >> move
    return story


def continuation_judgements(story, criterion="TruncationCriterion"):
    """The context and the reason of each judgement of a continuation."""
    outcomes = [one.outcome for step in story.steps for one in step.transitions if one.outcome]
    said = [outcome.get_evaluation_for(criterion) for outcome in outcomes]
    return [one for one in said if "tokensUsed" in one.context]


@together
@pytest.mark.parametrize("uncapped", UNKNOWN)
def test_a_judgement_names_no_limit_that_was_not_set(uncapped: str):
    (said,) = continuation_judgements(turn(cut(), ended("."), uncapped=uncapped))
    assert (said.context["callLimit"], said.context["tokensLimit"]) == (None, None)
    assert said.reason == "cut off; 0 of 3 continuations used"
    assert str(CALCULATED) not in str(turn(cut(), ended("."), uncapped=uncapped).moves)


@together
@pytest.mark.parametrize("uncapped", UNKNOWN)
def test_a_turn_without_a_cap_has_no_completion_total(uncapped: str):
    story = turn(cut(), cut(), cut(), cut(), uncapped=uncapped)
    assert resource_of(story.snapshot) == "max_continuations"
    assert limits_spent(story.snapshot) == ("max_continuations",)
    assert "completion tokens" not in [budget.name for budget in budgets_of(story.snapshot)]
    assert ". 120,000 completion tokens used." in verdict(story.snapshot)
    assert "max_total_completion_tokens" not in str(derive(story.recording))


@together
@pytest.mark.parametrize("uncapped", UNKNOWN)
@pytest.mark.parametrize("ceiling", [None, 20_000])
def test_a_truncated_call_with_no_text_or_only_repeated_text_is_repeated(uncapped: str, ceiling: int | None):
    for moves in ((cut(text=""), ended(".")), (cut(text="abc"), cut(text="abc"), ended("."))):
        story = turn(*moves, uncapped=uncapped, ceiling=ceiling)
        assert story.end.status == "completed"
        assert verify(story.stored()).verified


def test_reasons_of_next_calls_do_not_mention_a_cap():
    told = [one.reason for step in turn(cut(), ended(".")).steps for one in step.transitions]
    assert "continuation 1 of 3" in told
    told = [one.reason for step in turn(cut_call(), ended(".")).steps for one in step.transitions]
    assert "repair 1 of 1" in told


def test_the_notice_of_a_continuation_says_that_no_limit_applies():
    seen = [one.fields for step in turn(cut(), ended(".")).steps for one in step.observed]
    assert [one["budget_remaining"] for one in seen if "budget_remaining" in one] == [None]


def test_an_explicit_total_applies_without_a_cap():
    story = turn(cut(), cut(), max_total_completion_tokens=50_000)
    assert resource_of(story.snapshot) == "max_total_completion_tokens"
    assert {one.context["tokensLimit"] for one in continuation_judgements(story)} == {50_000}


def test_the_total_token_limit_is_reported_where_there_is_no_completion_total():
    story = turn(cut(), max_total_tokens=30_000)
    assert resource_of(story.snapshot) == "max_total_tokens"


def test_a_cap_required_by_the_dialect_is_sent_and_applies():
    story = turn(cut(16_384), cut(16_384), cut(16_384), cut(16_384), uncapped=DEMANDED, max_continuations=9)
    assert resource_of(story.snapshot) == "max_total_completion_tokens"
    assert continuation_judgements(story)[0].context["callLimit"] == CALCULATED


def test_a_failed_call_without_a_cap_is_retried_whatever_it_spent():
    retry = ErrorPolicy.retry_all()
    lost = error(partial="word " * 20, tokens=70_000)
    story = turn(lost, woke_up(), ended("."), error_policy=retry)
    assert story.end.status == "completed"


def test_a_truncated_call_that_was_only_observed_names_no_cap():
    story = turn(cut(300), uncapped="unknown", max_tokens=300, max_continuations=0, watched=True)
    assert resource_of(story.snapshot) is None
    assert story.snapshot.outcome.get_evaluation_for("TruncationCriterion").context["callLimit"] is None
    assert verdict(story.snapshot).startswith(
        "Cut off by a token limit that is not recorded, with 300 tokens reported; "
    )
    assert "300 of 300" not in str(derive(story.recording))


ENVELOPE = {"type": "object", "required": ["a"]}


def envelope(*moves, **asked):
    return turn(*moves, envelope_schema=ENVELOPE, **asked)


@pytest.mark.parametrize("asked", [{}, {"ceiling": CALCULATED}, {"ceiling": 2 * CALCULATED}])
def test_a_truncated_envelope_without_a_cap_is_not_retried(asked):
    """The same request would go out once more: it has no larger budget, and no number of ours cut it."""
    story = envelope(cut(60, '{"a": "'), **asked)
    assert story.end.error_code == "envelope_truncation_unrecoverable"
    assert resource_of(story.snapshot) is None
    assert verdict(story.snapshot) == (
        "Failed without a valid envelope after 1 call: the answer was cut before its end (cut"
        " off with Max tokens per call not set; the same request again has no larger budget). Setting "
        "Max tokens per call (max_tokens) may help: without it, many servers apply a low default limit."
    )
    assert str(CALCULATED) not in str(derive(story.recording))
    (breach,) = story.observed("cap.breached")
    assert (breach["limit"], breach["observed"]) == (0, 1)


def test_an_operator_who_sets_a_cap_gives_a_truncated_envelope_another_retry():
    story = Playbook(envelope_schema=ENVELOPE, max_tokens=CALCULATED, extra={"uncapped": NO_CAP})
    story = story >> started(breakpoints=(Breakpoint(state=State.EVALUATE_ENVELOPE),)) >> cut(60, '{"a": "')
    story = story >> released(max_tokens=4_000)
    assert story << call_model(AttemptKind.ENVELOPE_RETRY, max_tokens=4_000)


def test_a_schema_violation_is_still_retried_without_a_cap():
    story = envelope(ended("{}"))
    assert story << call_model(AttemptKind.ENVELOPE_RETRY)


@pytest.mark.parametrize("revision", [1, 5, 8])
def test_under_earlier_rules_a_truncated_envelope_was_retried_with_twice_the_calculated_cap(revision):
    story = envelope(cut(60, '{"a": "'), revision=revision)
    assert story << call_model(AttemptKind.ENVELOPE_RETRY, max_tokens=2 * CALCULATED)
    story = envelope(cut(60, '{"a": "'), revision=revision, ceiling=CALCULATED)
    assert "cut at 16384 tokens" in story.end.error_message


@together
@pytest.mark.parametrize("uncapped", [*UNKNOWN, True])
@pytest.mark.parametrize("revision", [None, 1, 5, 7, 8])
def test_histories_of_earlier_rules_verify_with_the_calculated_cap(uncapped, revision):
    story = turn(cut(), cut(), cut(), uncapped=uncapped, revision=revision)
    assert {one.context["tokensLimit"] for one in continuation_judgements(story)} == {4 * CALCULATED}
    assert resource_of(story.snapshot) == "max_total_completion_tokens"
    assert continuation_judgements(story)[0].context.get("callLimit") == (CALCULATED if revision else None)
    assert verify(recording_from_json(recording_to_json(story.recording))).verified


@together
@pytest.mark.parametrize("uncapped", UNKNOWN)
def test_histories_of_the_current_rules_verify(uncapped: str):
    for moves in ((cut(), cut(), cut(), cut()), (cut(None), ended(".")), (cut_call(), ended("."))):
        story = turn(*moves, uncapped=uncapped)
        assert verify(recording_from_json(recording_to_json(story.recording))).verified
