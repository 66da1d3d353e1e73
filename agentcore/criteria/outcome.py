"""Questions about continuing, their answers, and what the answers add up to (spec: continuation-and-error-policy)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from agentcore.reasons import StopReason
from agentcore.values import replace


class ContinuationDecision(StrEnum):
    FORBID = "forbid"
    ALLOW = "allow"
    REQUEST = "request"
    STOP = "stop"  #: AllowStop: nothing left to do, as far as this criterion knows


_DEFAULT_REASON = {
    ContinuationDecision.FORBID: "{} forbade continuation",
    ContinuationDecision.REQUEST: "{} requested continuation",
    ContinuationDecision.ALLOW: "{} permits continuation",
    ContinuationDecision.STOP: "{} allows stop",
}

#: What a forbidding criterion means for the agent, where its evaluation does not say (spec: `inferStopReason`).
_INFERRED = (
    ("StepsLimit", StopReason.STEPS_LIMIT),
    ("TokenUsageLimit", StopReason.TOKEN_LIMIT),
    ("ExecutionTimeLimit", StopReason.TIME_LIMIT),
    ("ErrorPolicy", StopReason.ERROR),
    ("FinishReason", StopReason.FINISH_REASON),
)


@dataclass(frozen=True, slots=True)
class ContinuationEvaluation:
    """One criterion's answer, with its reason in words.

    `stop_reason` is what a Forbid means for the agent (None: inferred from the criterion's name); `message` is what a
    Request wants said to the model.
    """

    criterion: str
    decision: ContinuationDecision
    reason: str = ""
    context: Mapping[str, Any] = field(default_factory=dict)
    stop_reason: StopReason | None = None
    message: str | None = None

    @classmethod
    def from_decision(cls, criterion: str, decision: ContinuationDecision) -> "ContinuationEvaluation":
        return cls(criterion, decision, _DEFAULT_REASON[decision].format(criterion))

    def inferred_stop_reason(self) -> StopReason:
        named = (reason for part, reason in _INFERRED if part in self.criterion)
        return self.stop_reason or next(named, StopReason.GUARD)

    def to_dict(self) -> dict[str, Any]:
        return {
            "criterion": self.criterion,
            "decision": self.decision.value,
            "reason": self.reason,
            "context": dict(self.context),
        }


@dataclass(frozen=True, slots=True)
class ContinuationOutcome:
    """All evaluations of one decision. `resolved_by`: the first forbidding criterion, else the first requesting one,
    else `aggregate`. `stop_reason` means something only when `should_continue` is false."""

    decision: ContinuationDecision
    should_continue: bool
    resolved_by: str
    stop_reason: StopReason
    evaluations: tuple[ContinuationEvaluation, ...] = ()

    def get_evaluation_for(self, name: str) -> ContinuationEvaluation | None:
        return next((e for e in self.evaluations if e.criterion == name), None)

    def get_forbidding_criterion(self) -> str | None:
        return next((e.criterion for e in self.evaluations if e.decision is ContinuationDecision.FORBID), None)

    def forbidding_reason(self) -> str:
        """The sentence of the first criterion that forbade."""
        forbade = (e.reason for e in self.evaluations if e.decision is ContinuationDecision.FORBID)
        return next(forbade, "a criterion forbade going on")

    def to_dict(self) -> dict[str, Any]:
        """The keys are those of the spec's `toArray()`."""
        return {
            "decision": self.decision.value,
            "shouldContinue": self.should_continue,
            "resolvedBy": self.resolved_by,
            "stopReason": self.stop_reason.value,
            "evaluations": [e.to_dict() for e in self.evaluations],
        }


class Decides(Protocol):
    """The least a criterion can be."""

    def decide(self, state: Any, /) -> ContinuationDecision: ...


class Explains(Protocol):
    """A criterion that gives its reason with its decision."""

    def explain(self, state: Any, /) -> ContinuationEvaluation: ...


Criterion = Decides | Explains


def _ask(criterion: Criterion, state: Any) -> ContinuationEvaluation:
    """One criterion's evaluation; one that raises has not allowed anything, so it forbids."""
    name = type(criterion).__name__
    try:
        if (explain := getattr(criterion, "explain", None)) is not None:
            evaluation: ContinuationEvaluation = explain(state)
            return replace(evaluation, decision=ContinuationDecision(evaluation.decision))
        decision = ContinuationDecision(criterion.decide(state))  # type: ignore[union-attr]
        return ContinuationEvaluation.from_decision(name, decision)
    except Exception as error:
        reason = f"{name} raised {type(error).__name__}: {error}"
        return ContinuationEvaluation(name, ContinuationDecision.FORBID, reason, stop_reason=StopReason.ERROR)


class ContinuationCriteria:
    """Asks every criterion, in any order and without short-circuits, and resolves the answers by fixed priority:
    continue = no Forbid and (a Request, or an Allow without AllowStop)."""

    def __init__(self, *criteria: Criterion) -> None:
        self.criteria = criteria

    def can_continue(self, state: Any) -> bool:
        return self.evaluate(state).should_continue

    def decide(self, state: Any) -> ContinuationDecision:
        return self.evaluate(state).decision

    def evaluate(self, state: Any) -> ContinuationOutcome:
        if not self.criteria:
            name = type(self).__name__
            return ContinuationOutcome(ContinuationDecision.STOP, False, name, StopReason.COMPLETED)
        return resolve(tuple(_ask(criterion, state) for criterion in self.criteria))


def resolve(evaluations: tuple[ContinuationEvaluation, ...]) -> ContinuationOutcome:
    """What the evaluations add up to."""
    first: dict[ContinuationDecision, ContinuationEvaluation] = {}
    for evaluation in evaluations:
        first.setdefault(evaluation.decision, evaluation)
    forbidding = first.get(ContinuationDecision.FORBID)
    requesting = first.get(ContinuationDecision.REQUEST)
    allowed = ContinuationDecision.ALLOW in first and ContinuationDecision.STOP not in first
    goes_on = forbidding is None and (requesting is not None or allowed)
    by = forbidding or requesting
    return ContinuationOutcome(
        decision=ContinuationDecision.REQUEST if goes_on else ContinuationDecision.STOP,
        should_continue=goes_on,
        resolved_by=by.criterion if by else "aggregate",
        stop_reason=forbidding.inferred_stop_reason() if forbidding else StopReason.COMPLETED,
        evaluations=evaluations,
    )
