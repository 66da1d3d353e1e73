"""continuation-and-error-policy: the decisions, the agent's stop reasons, an evaluation and an outcome."""

from typing import Any

import pytest

from agentcore import (
    ContinuationCriteria,
    ContinuationDecision,
    ContinuationEvaluation,
    ContinuationOutcome,
    NormalizedStopReason,
    Snapshot,
    StopReason,
)
from agentcore.continuation_outcome import resolve
from tests.agentcore.playbook import (
    Playbook,
    call,
    called,
    cancelled,
    ended,
    error,
    started,
    tools_returned,
    truncated,
)
from tests.spec.rules import rule

D = ContinuationDecision
DECISION = "continuation-and-error-policy §ContinuationDecision"
STOP_REASON = "continuation-and-error-policy §StopReason"
EVALUATION = "continuation-and-error-policy §ContinuationEvaluation"
OUTCOME = "continuation-and-error-policy §ContinuationOutcome"


@rule(DECISION, "There are four decisions: forbid, allow, request, allow stop")
def test_there_are_four_decisions() -> None:
    assert [decision.value for decision in D] == ["forbid", "allow", "request", "stop"]


@rule(STOP_REASON, "There are nine stop reasons, with the document's values")
def test_there_are_nine_stop_reasons() -> None:
    values = "completed steps_limit token_limit time_limit retry_limit error finish_reason guard user_requested"
    assert {reason.value for reason in StopReason} == set(values.split())


class Veto:
    def decide(self, state: object) -> D:
        return D.FORBID


#: One story for each stop reason of the enumeration.
STOPS = {
    "completed": lambda: asked() >> ended("a"),
    "steps_limit": lambda: asked(max_steps=1) >> called(call()),
    "token_limit": lambda: asked(max_total_tokens=1) >> called(call()),
    "time_limit": lambda: asked(max_seconds=0.5) >> called(call()),
    "retry_limit": lambda: asked(max_continuations=0) >> truncated("a"),
    "error": lambda: asked() >> error(),
    "finish_reason": lambda: asked(finish_reasons=(NormalizedStopReason.MAX_TOKENS,)) >> truncated("a"),
    "guard": lambda: asked(criteria=(Veto(),)) >> called(call()),
    "user_requested": lambda: asked() >> cancelled(),
}


def asked(**more: Any) -> Playbook:
    return Playbook(**more) >> started()


@rule(STOP_REASON, "A turn that stops for a reason ends with that stop reason")
@pytest.mark.parametrize("reason", list(StopReason))
def test_a_turn_ends_with_the_reason_it_stopped_for(reason: StopReason) -> None:
    assert STOPS[reason]().end.stop_reason is reason


@rule(EVALUATION, "An evaluation has a criterion's name, its decision, a reason and a context")
def test_an_evaluation_has_its_four_fields() -> None:
    evaluation = ContinuationEvaluation("Name", D.ALLOW, "why", {"a": 1})
    assert evaluation.to_dict() == {"criterion": "Name", "decision": "allow", "reason": "why", "context": {"a": 1}}


@rule(EVALUATION, "An evaluation of a decision without a reason has the default sentence and an empty context")
@pytest.mark.parametrize(
    ("decision", "sentence"),
    [
        (D.FORBID, "Guard forbade continuation"),
        (D.REQUEST, "Guard requested continuation"),
        (D.ALLOW, "Guard permits continuation"),
        (D.STOP, "Guard allows stop"),
    ],
)
def test_a_bare_decision_has_a_default_reason(decision: D, sentence: str) -> None:
    evaluation = ContinuationEvaluation.from_decision("Guard", decision)
    assert (evaluation.criterion, evaluation.decision, evaluation.reason) == ("Guard", decision, sentence)
    assert dict(evaluation.context) == {}


@rule(EVALUATION, "A criterion may explain its decision; otherwise the default sentence is used")
def test_explaining_is_optional() -> None:
    class Explains:
        def explain(self, state: Snapshot) -> ContinuationEvaluation:
            return ContinuationEvaluation("Explains", D.ALLOW, f"{state.state} is fine")

    class Decides:
        def decide(self, state: Snapshot) -> D:
            return D.REQUEST

    told = ContinuationCriteria(Explains(), Decides()).evaluate(Snapshot()).evaluations
    assert [evaluation.reason for evaluation in told] == ["idle is fine", "Decides requested continuation"]


def outcome(*pairs: tuple[str, D]) -> ContinuationOutcome:
    return resolve(tuple(ContinuationEvaluation(name, decision, f"{name} says so") for name, decision in pairs))


@rule(
    OUTCOME,
    "An outcome has a decision, whether to continue, the criterion that resolved it, a stop reason and all evaluations",
)
def test_an_outcome_has_its_five_fields() -> None:
    names = "decision should_continue resolved_by stop_reason evaluations"
    assert set(ContinuationOutcome.__dataclass_fields__) == set(names.split())


@rule(OUTCOME, "The evaluation of a criterion is found by its name; a criterion that was not evaluated has none")
def test_an_evaluation_is_found_by_the_criterions_name() -> None:
    found = outcome(("A", D.ALLOW), ("B", D.STOP))
    assert found.get_evaluation_for("B") is found.evaluations[1]
    assert found.get_evaluation_for("C") is None


@rule(OUTCOME, "The forbidding criterion is the first one that forbade, if any")
def test_the_forbidding_criterion_is_the_first_that_forbade() -> None:
    assert outcome(("A", D.ALLOW), ("B", D.FORBID), ("C", D.FORBID)).get_forbidding_criterion() == "B"
    assert outcome(("A", D.ALLOW), ("B", D.STOP)).get_forbidding_criterion() is None


@rule(OUTCOME, "The array form of an outcome and of its evaluations has the document's keys")
def test_the_array_has_the_keys_of_the_document() -> None:
    assert outcome(("A", D.FORBID)).to_dict() == {
        "decision": "stop",
        "shouldContinue": False,
        "resolvedBy": "A",
        "stopReason": "guard",
        "evaluations": [{"criterion": "A", "decision": "forbid", "reason": "A says so", "context": {}}],
    }


@rule(OUTCOME, "Every transition stores its outcome with the evaluation of each criterion")
def test_every_transition_out_of_a_decision_keeps_its_outcome() -> None:
    story = asked() >> truncated("a", tokens=2) >> called(call()) >> tools_returned() >> ended("b")
    decided = [t for step in story.steps for t in step.transitions if t.source.value.startswith("evaluate")]
    assert [len(t.outcome.evaluations) for t in decided if t.outcome] == [8] * 4
