"""What all judges share: what they come to, asking the criteria, beginning another iteration."""

from functools import cache, partial
from typing import NamedTuple

from agentcore.commands import Observation
from agentcore.criteria.builtin import built_in
from agentcore.criteria.outcome import ContinuationCriteria, ContinuationDecision, ContinuationOutcome, goes_on
from agentcore.machine.snapshot import Snapshot
from agentcore.machine.states import Trigger
from agentcore.policy import Policy
from agentcore.reasons import NormalizedStopReason
from agentcore.values import replace

_NAMES = tuple(type(criterion).__name__ for criterion in built_in((), 0.0))


class Judgement(NamedTuple):
    """What a deciding state came to."""

    trigger: Trigger  #: by which it is left
    reason: str  #: in words
    snapshot: Snapshot  #: as it leaves
    outcome: ContinuationOutcome  #: what the criteria said
    observed: tuple[Observation, ...] = ()  #: what operators should see of it


def evaluate(snapshot: Snapshot, policy: Policy) -> ContinuationOutcome:
    """Ask every criterion of this turn about the state it is in.

    The built-in ones are asked for bare decisions first. Where none forbids, and no others are to be asked, those say
    all that a judge needs; their words are told when somebody reads them. Else all are asked for their words at once.
    """
    criteria = _built_in(policy.finish_reasons, policy.max_retry_after)
    if policy.criteria:
        return ContinuationCriteria(*criteria.criteria, *policy.criteria).evaluate(snapshot)
    resolved = _resolved(_decisions(criteria, snapshot))
    if resolved is None:
        return criteria.evaluate(snapshot)
    # The outcome keeps the snapshot until it is told, and that the outcome before; each new answer ends the chain.
    return ContinuationOutcome.told_later(*resolved, partial(criteria.ask, snapshot))


def _decisions(criteria: ContinuationCriteria, snapshot: Snapshot) -> tuple[ContinuationDecision, ...]:
    """The built-in criteria's bare decisions; one that cannot say (a limit of a strange type) forbids."""
    try:
        return tuple([criterion.decide(snapshot) for criterion in criteria.criteria])  # type: ignore[union-attr]
    except Exception:
        return (ContinuationDecision.FORBID,)


@cache
def _resolved(decisions: tuple[ContinuationDecision, ...]) -> tuple[bool, str] | None:
    """Whether the built-in criteria go on by these decisions, and which of them resolved it; None where one forbids."""
    if ContinuationDecision.FORBID in decisions:
        return None
    by = dict(zip(reversed(decisions), reversed(_NAMES), strict=True))  # the first of each decision
    return goes_on(decisions), by.get(ContinuationDecision.REQUEST, "aggregate")


@cache
def _built_in(finish_reasons: tuple[NormalizedStopReason, ...], max_retry_after: float) -> ContinuationCriteria:
    return ContinuationCriteria(*built_in(finish_reasons, max_retry_after))


def next_iteration(snapshot: Snapshot) -> Snapshot:
    """Begin another iteration; one without any failure ends the run of failures."""
    spent = snapshot.spent
    if snapshot.iteration_failures == 0:
        spent = replace(spent, consecutive_failures=0)
    answered = snapshot.answer.text or snapshot.answer.segments
    return replace(
        snapshot,
        iteration=snapshot.iteration + 1,
        earlier=(*snapshot.earlier, snapshot.answer) if answered else snapshot.earlier,
        answer=type(snapshot.answer)(),
        spent=spent,
        iteration_failures=0,
        failed_spent=None,
        idle_answers=0,
        truncated=False,
        repairing=None,
    )
