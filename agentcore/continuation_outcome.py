"""How the decisions of all criteria are resolved (spec: continuation-and-error-policy)."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from agentcore.argument_validation import WrongInput, asks, required, shown
from agentcore.evaluation import ContinuationDecision, ContinuationEvaluation
from agentcore.reasons import StopReason
from agentcore.values import draft, replace

_GOES_ON, _STOPS, _COMPLETED = ContinuationDecision.REQUEST, ContinuationDecision.STOP, StopReason.COMPLETED


class _ToldLater:
    """What criteria say, asked for when it is first read: a what-if reads few of its outcomes, and words of none.

    `told_later` leaves all slots empty and keeps who knows what belongs there. Python asks `__getattr__` only for what
    it does not find, so for the empty slots; after that the outcome is as any other. Nothing can come between: criteria
    are pure, and are asked about the frozen snapshot of then.
    """

    __slots__ = ("_decide", "_tell")

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            if name == "evaluations":
                if (untold := self._tell) is not None:  # another thread may have asked since
                    put, (tell, about) = object.__setattr__, untold
                    put(self, name, tell(*about))
                    if self._decide is not None:
                        put(self, "_decide", (_by_evaluations, ()))  # so neither keeps the snapshot any longer
                    put(self, "_tell", None)
            elif name in _DECIDED:
                decided(self)
            else:
                raise AttributeError(f"{type(self).__name__} has no {name!r}")
            return object.__getattribute__(self, name)


#: An outcome without its evaluations: the first four fields of `ContinuationOutcome`.
Decided = tuple[ContinuationDecision, bool, str, StopReason]
_DECIDED = frozenset({"decision", "should_continue", "resolved_by", "stop_reason"})


@dataclass(frozen=True, slots=True)
class ContinuationOutcome(_ToldLater):
    """All evaluations of one decision. `resolved_by`: the first forbidding criterion, else the first requesting one,
    else `aggregate`. `stop_reason` is meaningful only if `should_continue` is false."""

    decision: ContinuationDecision
    should_continue: bool
    resolved_by: str
    stop_reason: StopReason
    evaluations: tuple[ContinuationEvaluation, ...] = ()

    @classmethod
    def told_later(
        cls,
        decide: Callable[..., Decided | None],
        tell: Callable[..., tuple[ContinuationEvaluation, ...]],
        *about: object,
    ) -> "ContinuationOutcome":
        """An outcome whose evaluations are built by `tell(*about)` when first read. Until then `decide(*about)` gives
        the decision, or None if it requires the evaluations."""
        outcome = object.__new__(_DRAFT)
        outcome._decide = (decide, about)
        outcome._tell = (tell, about)
        outcome.__class__ = cls
        return outcome  # type: ignore[no-any-return]

    @classmethod
    def decided_now(
        cls, found: Decided, tell: Callable[..., tuple[ContinuationEvaluation, ...]], *about: object
    ) -> "ContinuationOutcome":
        """The same, with a decision that is already known."""
        outcome = object.__new__(_DRAFT)
        outcome.decision, outcome.should_continue, outcome.resolved_by, outcome.stop_reason = found
        outcome._decide = None
        outcome._tell = (tell, about)
        outcome.__class__ = cls
        return outcome  # type: ignore[no-any-return]

    def get_evaluation_for(self, name: str) -> ContinuationEvaluation | None:
        """The evaluation of the criterion of this name; None if it was not evaluated."""
        required(name, str, "name")
        return next((e for e in self.evaluations if e.criterion == name), None)

    def get_forbidding_criterion(self) -> str | None:
        """The name of the first criterion that forbade; None if none did."""
        if self.should_continue:
            return None
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


_DRAFT = draft(ContinuationOutcome)


class CriterionInput:
    """The argument of criteria: a `Snapshot`, and nothing else."""

    __slots__ = ()


def _by_evaluations() -> None:
    """Says that it takes the evaluations, which are there."""


def _decided_by(outcome: ContinuationOutcome) -> Decided:
    return outcome.decision, outcome.should_continue, outcome.resolved_by, outcome.stop_reason


def decided(outcome: ContinuationOutcome) -> ContinuationOutcome:
    """Return the same outcome with its decision computed. Reading an empty slot raises an error inside Python, which
    takes as long as deciding."""
    if (undecided := getattr(outcome, "_decide", None)) is not None:  # else it has been decided
        decide, about = undecided
        found, put = decide(*about) or _decided_by(resolve(outcome.evaluations)), object.__setattr__
        put(outcome, "decision", found[0])  # written out, for a loop takes longer than the four
        put(outcome, "should_continue", found[1])
        put(outcome, "resolved_by", found[2])
        put(outcome, "stop_reason", found[3])
        put(outcome, "_decide", None)
    return outcome


def unforbidden(should_continue: bool, resolved_by: str) -> Decided:
    """The outcome where no criterion forbids."""
    return _GOES_ON if should_continue else _STOPS, should_continue, resolved_by, _COMPLETED


class Decides(Protocol):
    """The minimal criterion: it decides without a reason."""

    def decide(self, state: Any, /) -> ContinuationDecision:
        """The decision about this state, a `Snapshot`."""


class Explains(Protocol):
    """A criterion that gives its reason with its decision."""

    def explain(self, state: Any, /) -> ContinuationEvaluation:
        """The decision about this state, a `Snapshot`, with its reason."""


#: A criterion: an object that explains, or at least decides.
Criterion = Decides | Explains


def _judged(state: object) -> None:
    if not isinstance(state, CriterionInput):
        raise WrongInput(f"state must be a Snapshot, not {shown(state)}.")


def _ask(criterion: Criterion, state: Any) -> ContinuationEvaluation:
    """One criterion's evaluation; one that raises has not allowed anything, so it forbids."""
    name = type(criterion).__name__
    try:
        if (explain := getattr(criterion, "explain", None)) is not None:
            evaluation: ContinuationEvaluation = explain(state)
            if not isinstance(evaluation.decision, ContinuationDecision):
                evaluation = replace(evaluation, decision=ContinuationDecision(evaluation.decision))
            evaluation.check()
            return evaluation
        decision = ContinuationDecision(criterion.decide(state))  # type: ignore[union-attr]
        return ContinuationEvaluation.from_decision(name, decision)
    except Exception as error:
        reason = f"{name} raised {type(error).__name__}: {error}"
        return ContinuationEvaluation(name, ContinuationDecision.FORBID, reason, stop_reason=StopReason.ERROR)


class ContinuationCriteria:
    """Evaluates every criterion, without short-circuits, and resolves the results by fixed priority: continue = no
    Forbid and (a Request, or an Allow without AllowStop)."""

    def __init__(self, *criteria: Criterion) -> None:
        for criterion in criteria:
            if isinstance(criterion, type):
                raise WrongInput(f"criteria must be made; {shown(criterion)} is none before it is called.")
            if not asks(criterion):
                raise WrongInput(f"criteria must have decide(state) or explain(state); {shown(criterion)} has neither.")
        self.criteria = criteria

    def can_continue(self, state: CriterionInput) -> bool:
        """`evaluate(state).should_continue`."""
        return self.evaluate(state).should_continue

    def decide(self, state: CriterionInput) -> ContinuationDecision:
        """`evaluate(state).decision`."""
        return self.evaluate(state).decision

    def evaluate(self, state: CriterionInput) -> ContinuationOutcome:
        """Evaluate all criteria for a `Snapshot`. Without criteria the agent stops as completed."""
        _judged(state)
        if not self.criteria:
            name = type(self).__name__
            return ContinuationOutcome(ContinuationDecision.STOP, False, name, StopReason.COMPLETED)
        return resolve(self.ask(state))

    def ask(self, state: CriterionInput) -> tuple[ContinuationEvaluation, ...]:
        """The evaluation of each criterion, in order."""
        _judged(state)
        return tuple([_ask(criterion, state) for criterion in self.criteria])


def resolve(evaluations: tuple[ContinuationEvaluation, ...]) -> ContinuationOutcome:
    """Resolve the evaluations into one outcome."""
    first: dict[ContinuationDecision, ContinuationEvaluation] = {}
    for evaluation in reversed(evaluations):
        first[evaluation.decision] = evaluation
    forbidding = first.get(ContinuationDecision.FORBID)
    by = forbidding or first.get(ContinuationDecision.REQUEST)
    should_continue = goes_on(first)
    return ContinuationOutcome(
        decision=ContinuationDecision.REQUEST if should_continue else ContinuationDecision.STOP,
        should_continue=should_continue,
        resolved_by=by.criterion if by else "aggregate",
        stop_reason=forbidding.inferred_stop_reason() if forbidding else StopReason.COMPLETED,
        evaluations=evaluations,
    )


def goes_on(decisions: Collection[ContinuationDecision]) -> bool:
    """Whether these decisions continue the turn: no Forbid, and a Request, or an Allow without AllowStop."""
    if ContinuationDecision.FORBID in decisions:
        return False
    allowed = ContinuationDecision.ALLOW in decisions and ContinuationDecision.STOP not in decisions
    return ContinuationDecision.REQUEST in decisions or allowed
