"""abort_partial: the turn completes with what it has and the notice that was decided on the way here."""

from agentcore.continuation_outcome import ContinuationOutcome
from agentcore.evaluation import ContinuationDecision
from agentcore.machine.judgement import Judgement
from agentcore.policy import Policy
from agentcore.snapshot import Snapshot
from agentcore.states import Trigger


def judge(snapshot: Snapshot, policy: Policy) -> Judgement:  # noqa: ARG001 - all judges take a policy
    end = snapshot.end
    assert end is not None, "abort_partial is entered with the end decided"
    forbade = snapshot.outcome
    outcome = forbade or ContinuationOutcome(ContinuationDecision.STOP, False, "aggregate", end.stop_reason)
    return Judgement(Trigger.RETURN_PARTIAL_WITH_NOTICE, end.notice, snapshot, outcome)
