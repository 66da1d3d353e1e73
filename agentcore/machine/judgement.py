"""What a deciding state came to: a trigger, why, the snapshot as it leaves, and what operators should see of it."""

from dataclasses import dataclass

from agentcore.commands import Observation
from agentcore.criteria.builtin import built_in
from agentcore.criteria.outcome import ContinuationCriteria, ContinuationOutcome
from agentcore.machine.snapshot import Snapshot
from agentcore.machine.states import Trigger
from agentcore.policy import Policy
from agentcore.values import replace


@dataclass(frozen=True, slots=True)
class Judgement:
    trigger: Trigger
    reason: str
    snapshot: Snapshot
    outcome: ContinuationOutcome
    observed: tuple[Observation, ...] = ()


def evaluate(snapshot: Snapshot, policy: Policy) -> ContinuationOutcome:
    """Ask every criterion of this turn about the state it is in."""
    criteria = built_in(policy.finish_reasons, policy.max_retry_after) + policy.criteria
    return ContinuationCriteria(*criteria).evaluate(snapshot)


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
        idle_answers=0,
        truncated=False,
        repairing=None,
    )
