"""continuation-and-error-policy: how the answers of several criteria add up."""

from itertools import chain, combinations, permutations

import pytest

from agentcore import ContinuationCriteria, ContinuationDecision, ContinuationEvaluation, Snapshot, StopReason
from agentcore.continuation_outcome import resolve
from tests.spec.rules import rule

D = ContinuationDecision
CRITERIA = "continuation-and-error-policy §ContinuationCriteria"
COMPATIBILITY = "continuation-and-error-policy §Behavior Compatibility"

#: Every set of decisions that can come together, and what it adds up to: whether to go on, and whose word it was.
#: A forbid beats all; a request goes on; an allow goes on where nobody allows stop.
TRUTH = [
    # forbid, request, allow, stop: goes on, resolved by
    ((0, 0, 0, 1), False, "aggregate"),
    ((0, 0, 1, 0), True, "aggregate"),
    ((0, 0, 1, 1), False, "aggregate"),
    ((0, 1, 0, 0), True, "request"),
    ((0, 1, 0, 1), True, "request"),
    ((0, 1, 1, 0), True, "request"),
    ((0, 1, 1, 1), True, "request"),
    ((1, 0, 0, 0), False, "forbid"),
    ((1, 0, 0, 1), False, "forbid"),
    ((1, 0, 1, 0), False, "forbid"),
    ((1, 0, 1, 1), False, "forbid"),
    ((1, 1, 0, 0), False, "forbid"),
    ((1, 1, 0, 1), False, "forbid"),
    ((1, 1, 1, 0), False, "forbid"),
    ((1, 1, 1, 1), False, "forbid"),
]
BITS = (D.FORBID, D.REQUEST, D.ALLOW, D.STOP)


class Says:
    def __init__(self, decision: D) -> None:
        self.decision = decision

    def explain(self, state: object) -> ContinuationEvaluation:
        return ContinuationEvaluation(self.decision.value, self.decision, "so")


def said(bits: tuple[int, ...]) -> list[Says]:
    return [Says(decision) for decision, bit in zip(BITS, bits, strict=True) if bit]


@rule(CRITERIA, "Every combination of the four decisions resolves as documented, in any order")
@pytest.mark.parametrize(("bits", "goes_on", "resolved_by"), TRUTH)
def test_every_combination_of_decisions_adds_up(bits: tuple[int, ...], goes_on: bool, resolved_by: str) -> None:
    for criteria in permutations(said(bits)):
        outcome = ContinuationCriteria(*criteria).evaluate(Snapshot())
        assert (outcome.should_continue, outcome.resolved_by) == (goes_on, resolved_by)
        assert outcome.decision is (D.REQUEST if goes_on else D.STOP)


@rule(CRITERIA, "An empty list of criteria resolves to allow stop, with the stop reason `completed`")
def test_no_criteria_mean_stop_and_completed() -> None:
    assert len({bits for bits, _, _ in TRUTH}) == 2**4 - 1
    outcome = ContinuationCriteria().evaluate(Snapshot())
    assert (outcome.decision, outcome.should_continue, outcome.evaluations) == (D.STOP, False, ())
    assert (outcome.resolved_by, outcome.stop_reason) == ("ContinuationCriteria", StopReason.COMPLETED)


@rule(CRITERIA, "All criteria are evaluated in order, even after one forbids")
def test_every_criterion_is_evaluated() -> None:
    outcome = ContinuationCriteria(Says(D.FORBID), Says(D.ALLOW), Says(D.STOP)).evaluate(Snapshot())
    assert [e.criterion for e in outcome.evaluations] == ["forbid", "allow", "stop"]


@rule(CRITERIA, "The first of several criteria that forbid, or that request, resolves the outcome")
def test_the_first_of_equal_decisions_decides() -> None:
    def by(*pairs: tuple[str, D]) -> str:
        return resolve(tuple(ContinuationEvaluation(name, decision) for name, decision in pairs)).resolved_by

    assert by(("A", D.REQUEST), ("B", D.FORBID), ("C", D.FORBID)) == "B"
    assert by(("A", D.ALLOW), ("B", D.REQUEST), ("C", D.REQUEST)) == "B"


@rule(CRITERIA, "The stop reason of a forbid is inferred from the criterion's name")
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("StepsLimit", "steps_limit"),
        ("TokenUsageLimit", "token_limit"),
        ("ExecutionTimeLimit", "time_limit"),
        ("ErrorPolicyCriterion", "error"),
        ("FinishReasonCheck", "finish_reason"),
        ("AnythingElse", "guard"),
        ("OurOwnStepsLimit", "steps_limit"),
    ],
)
def test_the_name_of_a_forbidding_criterion_gives_the_stop_reason(name: str, reason: str) -> None:
    assert resolve((ContinuationEvaluation(name, D.FORBID),)).stop_reason == reason


@rule(CRITERIA, "The stop reason is that of the first forbidding criterion")
def test_the_first_forbid_gives_the_stop_reason() -> None:
    names = ("AnythingElse", "StepsLimit")
    assert resolve(tuple(ContinuationEvaluation(name, D.FORBID) for name in names)).stop_reason is StopReason.GUARD


@rule(CRITERIA, "Without a forbid, the stop reason is `completed`")
@pytest.mark.parametrize("bits", [bits for bits, _, by in TRUTH if by != "forbid"])
def test_without_a_forbid_the_stop_reason_is_completed(bits: tuple[int, ...]) -> None:
    assert ContinuationCriteria(*said(bits)).evaluate(Snapshot()).stop_reason is StopReason.COMPLETED


@rule(COMPATIBILITY, "`can_continue` is the outcome's `should_continue`, `decide` its `decision`")
def test_can_continue_and_decide_follow_the_outcome() -> None:
    every = chain.from_iterable(combinations(BITS, size) for size in range(5))
    for decisions in every:
        criteria = ContinuationCriteria(*(Says(decision) for decision in decisions))
        outcome = criteria.evaluate(Snapshot())
        assert criteria.can_continue(Snapshot()) is outcome.should_continue
        assert criteria.decide(Snapshot()) is outcome.decision
