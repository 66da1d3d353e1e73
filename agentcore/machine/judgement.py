"""What all judges share: what they come to, asking the criteria, beginning another iteration."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from agentcore.argument_validation import unchecked
from agentcore.commands import Observation
from agentcore.continuation_outcome import (
    ContinuationCriteria,
    ContinuationOutcome,
    Decided,
    goes_on,
    resolve,
    unforbidden,
)
from agentcore.criteria.builtin import built_in
from agentcore.evaluation import ContinuationDecision, ContinuationEvaluation
from agentcore.messages import Message
from agentcore.policy import Policy
from agentcore.reasons import NormalizedStopReason
from agentcore.snapshot import Snapshot
from agentcore.states import Trigger
from agentcore.values import changed, replace

_NAMES = tuple(type(criterion).__name__ for criterion in built_in((), 0.0))


#: Makes a message of an echo that was judged as it came, which is not gone through again.
echoing = unchecked(Message)
NOTHING: Mapping[str, Any] = {}  #: no field changes beside the state
#: A sentence, or what puts it into words: `settle` asks for none, and some take as long as judging does.
Words = str | Callable[[], str]


class Judgement(NamedTuple):
    """The decision of a deciding state."""

    trigger: Trigger  #: by which it is left
    reason: Words
    snapshot: Snapshot  #: as it leaves
    outcome: ContinuationOutcome  #: what the criteria said
    observed: tuple[Observation, ...] = ()  #: what operators should see of it
    also: Mapping[str, Any] = NOTHING  #: fields that change as it leaves, in one copy with its state


def evaluate(snapshot: Snapshot, policy: Policy, changes: Mapping[str, Any] = NOTHING) -> ContinuationOutcome:
    """What every criterion of this turn says about the state it is in, with these `changes` of the snapshot.

    The built-in ones are asked when somebody reads it: for bare decisions first; where none forbids, those say all that
    a judge needs, and the words are left to readers. Others are asked at once, for nobody knows that they would say the
    same later.
    """
    if policy.criteria:
        built_in = _criteria_of(policy)
        return ContinuationCriteria(*built_in.criteria, *policy.criteria).evaluate(changed(snapshot, changes))
    # The outcome keeps the snapshot until it is told, and that the outcome before; each new answer ends the chain.
    return ContinuationOutcome.told_later(_decided, _told, policy, snapshot, changes)


def evaluate_now(snapshot: Snapshot, policy: Policy) -> ContinuationOutcome:
    """The same for who reads at once what it comes to."""
    if policy.criteria:
        return evaluate(snapshot, policy)
    found = _decided(policy, snapshot, NOTHING)
    if found is None:
        return resolve(_criteria_of(policy).ask(snapshot))
    return ContinuationOutcome.decided_now(found, _told, policy, snapshot, NOTHING)


def _told(policy: Policy, snapshot: Snapshot, changes: Mapping[str, Any]) -> tuple[ContinuationEvaluation, ...]:
    return _criteria_of(policy).ask(changed(snapshot, changes))


def _decided(policy: Policy, snapshot: Snapshot, changes: Mapping[str, Any]) -> Decided | None:
    """What the bare decisions of the built-in criteria come to; None where one of them forbids, or cannot say (a limit
    of a strange type)."""
    snapshot = changed(snapshot, changes) if changes else snapshot
    try:
        return _resolved(tuple([decide(snapshot) for decide in _asked(policy.finish_reasons, policy.max_retry_after)]))
    except Exception:
        return None


@cache
def _resolved(decisions: tuple[ContinuationDecision, ...]) -> Decided | None:
    """What these decisions of the built-in criteria come to; None where one forbids: then its words say why."""
    if ContinuationDecision.FORBID in decisions:
        return None
    by = dict(zip(reversed(decisions), reversed(_NAMES), strict=True))  # the first of each decision
    return unforbidden(goes_on(decisions), by.get(ContinuationDecision.REQUEST, "aggregate"))


def _criteria_of(policy: Policy) -> ContinuationCriteria:
    return _built_in(policy.finish_reasons, policy.max_retry_after)


@cache
def _built_in(finish_reasons: tuple[NormalizedStopReason, ...], max_retry_after: float) -> ContinuationCriteria:
    return ContinuationCriteria(*built_in(finish_reasons, max_retry_after))


@cache
def _asked(
    finish_reasons: tuple[NormalizedStopReason, ...], max_retry_after: float
) -> tuple[Callable[[Snapshot], ContinuationDecision], ...]:
    """How the built-in ones are asked for their bare decisions."""
    return tuple([criterion.decide for criterion in built_in(finish_reasons, max_retry_after)])


def next_iteration(snapshot: Snapshot) -> dict[str, Any]:
    """What changes as another iteration begins; one without any failure ends the run of failures."""
    spent = snapshot.spent
    if snapshot.iteration_failures == 0 and spent.consecutive_failures:
        spent = replace(spent, consecutive_failures=0)
    answered = snapshot.answer.text or snapshot.answer.segments
    return {
        "iteration": snapshot.iteration + 1,
        "earlier": (*snapshot.earlier, snapshot.answer) if answered else snapshot.earlier,
        "answer": type(snapshot.answer)(),
        "spent": spent,
        "iteration_failures": 0,
        "failed_spent": None,
        "idle_answers": 0,
        "truncated": False,
        "repairing": None,
    }
