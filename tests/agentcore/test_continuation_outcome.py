"""What answers add up to (spec: continuation-and-error-policy; design §3.5)."""

import copy
from itertools import permutations, product

import pytest

from agentcore import (
    ContinuationCriteria,
    ContinuationDecision,
    ContinuationEvaluation,
    ContinuationOutcome,
    Snapshot,
    StopReason,
)
from agentcore.continuation_outcome import resolve
from agentcore.values import replace
from tests.together import together

D = ContinuationDecision
SNAPSHOT = Snapshot()


class Says:
    """Answers as told, without a reason of its own."""

    def __init__(self, decision, name="Says"):
        self.decision = decision
        self.__class__ = type(name, (Says,), {})

    def decide(self, state):
        return self.decision


@together
@pytest.mark.parametrize("present", list(product([False, True], repeat=4)))
def test_the_outcome_continues_without_a_forbid_and_with_a_request_or_an_allow_but_no_allow_stop(present):
    forbid, request, allow, stop = present
    decisions = [d for d, there in zip((D.FORBID, D.REQUEST, D.ALLOW, D.STOP), present, strict=True) if there]
    goes_on = not forbid and (request or (allow and not stop))
    for order in permutations(decisions):
        criteria = ContinuationCriteria(*(Says(d, f"Says{d.value}") for d in order))
        outcome = criteria.evaluate(SNAPSHOT)
        assert outcome.should_continue is goes_on
        assert outcome.decision is (D.REQUEST if goes_on else D.STOP)
        assert criteria.can_continue(SNAPSHOT) is goes_on
        assert criteria.decide(SNAPSHOT) is outcome.decision
        if order:
            by = "Saysforbid" if forbid else "Saysrequest" if request else "aggregate"
            assert outcome.resolved_by == by
            assert len(outcome.evaluations) == len(order)


def test_the_first_forbid_and_the_first_request_decide_the_outcome():
    forbids = [Says(D.ALLOW), Says(D.FORBID, "First"), Says(D.REQUEST), Says(D.FORBID, "Second")]
    outcome = ContinuationCriteria(*forbids).evaluate(SNAPSHOT)
    assert (outcome.resolved_by, outcome.get_forbidding_criterion()) == ("First", "First")
    requests = [Says(D.ALLOW), Says(D.REQUEST, "First"), Says(D.REQUEST, "Second")]
    assert ContinuationCriteria(*requests).evaluate(SNAPSHOT).resolved_by == "First"


def test_no_criteria_at_all_stop_as_completed():
    outcome = ContinuationCriteria().evaluate(SNAPSHOT)
    assert (outcome.decision, outcome.should_continue, outcome.stop_reason) == (D.STOP, False, StopReason.COMPLETED)
    assert outcome.resolved_by == "ContinuationCriteria"


def test_every_criterion_is_evaluated_even_after_one_forbids():
    asked = []

    class Counts:
        def decide(self, state):
            asked.append(state)
            return D.FORBID

    ContinuationCriteria(Counts(), Counts(), Counts()).evaluate(SNAPSHOT)
    assert asked == [SNAPSHOT] * 3


@pytest.mark.parametrize("decided", [None, (D.REQUEST, True, "Says", StopReason.COMPLETED)])
def test_lazy_explanations_are_built_once_and_equal_eager_ones(decided):
    criteria, asked = ContinuationCriteria(Says(D.REQUEST), Says(D.ALLOW)), []

    def tell():
        asked.append("now")
        return criteria.ask(SNAPSHOT)

    outcome = ContinuationOutcome.told_later(lambda: decided, tell)
    assert asked == []
    assert outcome.get_forbidding_criterion() is None
    assert asked == ([] if decided else ["now"])
    assert outcome == criteria.evaluate(SNAPSHOT)
    assert copy.deepcopy(outcome) == outcome
    assert replace(outcome, resolved_by="x").evaluations == outcome.evaluations
    assert asked == ["now"]
    with pytest.raises(AttributeError, match="has no 'words'"):
        outcome.words  # noqa: B018


class Raises:
    def explain(self, state):
        raise ValueError("no idea")


class AnswersNonsense:
    def explain(self, state):
        return None


class DecidesNonsense:
    def decide(self, state):
        return "perhaps"


class TellsWhatIsNoJson:
    def explain(self, state):
        return ContinuationEvaluation("TellsWhatIsNoJson", D.REQUEST, context={"asked": object()})


class SaysNoText:
    def explain(self, state):
        return ContinuationEvaluation("SaysNoText", D.REQUEST, message=5)


@pytest.mark.parametrize(
    "criterion", [Raises(), AnswersNonsense(), DecidesNonsense(), TellsWhatIsNoJson(), SaysNoText()]
)
def test_a_criterion_that_returns_no_evaluation_forbids_with_an_error(criterion):
    outcome = ContinuationCriteria(Says(D.REQUEST), criterion).evaluate(SNAPSHOT)
    assert not outcome.should_continue
    assert outcome.stop_reason is StopReason.ERROR
    assert outcome.resolved_by == type(criterion).__name__
    assert "raised" in outcome.evaluations[1].reason


def test_a_decision_given_as_a_string_is_accepted():
    assert ContinuationCriteria(Says("forbid")).evaluate(SNAPSHOT).get_forbidding_criterion() == "Says"


@together
@pytest.mark.parametrize(
    ("name", "stop_reason"),
    [
        ("MyStepsLimit", StopReason.STEPS_LIMIT),
        ("TokenUsageLimit", StopReason.TOKEN_LIMIT),
        ("ExecutionTimeLimit", StopReason.TIME_LIMIT),
        ("ErrorPolicyCriterion", StopReason.ERROR),
        ("FinishReasonCheck", StopReason.FINISH_REASON),
        ("SomethingElse", StopReason.GUARD),
    ],
)
def test_the_stop_reason_is_inferred_from_the_criterion_name_unless_the_evaluation_sets_it(name, stop_reason):
    evaluation = ContinuationEvaluation.from_decision(name, D.FORBID)
    assert resolve((evaluation,)).stop_reason is stop_reason
    told = ContinuationEvaluation(name, D.FORBID, stop_reason=StopReason.USER_REQUESTED)
    assert resolve((told,)).stop_reason is StopReason.USER_REQUESTED


def test_an_outcome_that_continues_has_the_stop_reason_completed():
    assert ContinuationCriteria(Says(D.REQUEST)).evaluate(SNAPSHOT).stop_reason is StopReason.COMPLETED


@pytest.mark.parametrize(
    ("decision", "reason"),
    [
        (D.FORBID, "X forbade continuation"),
        (D.REQUEST, "X requested continuation"),
        (D.ALLOW, "X permits continuation"),
        (D.STOP, "X allows stop"),
    ],
)
def test_a_bare_decision_gets_the_default_sentence_of_the_spec(decision, reason):
    assert ContinuationEvaluation.from_decision("X", decision).reason == reason


def test_to_dict_has_the_keys_of_the_specs_array():
    outcome = ContinuationCriteria(Says(D.FORBID)).evaluate(SNAPSHOT)
    assert outcome.to_dict() == {
        "decision": "stop",
        "shouldContinue": False,
        "resolvedBy": "Says",
        "stopReason": "guard",
        "evaluations": [
            {"criterion": "Says", "decision": "forbid", "reason": "Says forbade continuation", "context": {}}
        ],
    }


def test_an_evaluation_is_found_by_its_name():
    outcome = ContinuationCriteria(Says(D.ALLOW, "A"), Says(D.STOP, "B")).evaluate(SNAPSHOT)
    found = outcome.get_evaluation_for("B")
    assert found is not None
    assert found.decision is D.STOP
    assert outcome.get_evaluation_for("C") is None
    assert outcome.get_forbidding_criterion() is None


def test_the_forbidding_reason_is_that_of_the_forbid_even_when_a_criterion_of_the_same_name_allowed():
    allowed = ContinuationEvaluation("Twin", D.ALLOW, "fine")
    forbade = ContinuationEvaluation("Twin", D.FORBID, "not fine")
    assert resolve((allowed, forbade)).forbidding_reason() == "not fine"
