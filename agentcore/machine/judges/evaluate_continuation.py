"""evaluate_continuation: whether the results of the tools are told to the model."""

from agentcore.continuation_outcome import ContinuationOutcome
from agentcore.machine import finish
from agentcore.machine.judgement import Judgement, evaluate_now, next_iteration
from agentcore.policy import Policy
from agentcore.snapshot import Snapshot
from agentcore.states import Trigger


def judge(snapshot: Snapshot, policy: Policy) -> Judgement:
    outcome = evaluate_now(snapshot, policy)
    if outcome.should_continue:
        following = next_iteration(snapshot)
        reason = f"iteration {following['iteration']} of {snapshot.limits.max_steps}"
        return Judgement(Trigger.CONTINUE, reason, snapshot, outcome, also=following)
    if outcome.get_forbidding_criterion() is None:
        also = {"end": finish.natural_finish(snapshot, snapshot.answer.text)}
        return Judgement(Trigger.STOP, "nothing asks to go on", snapshot, outcome, also=also)
    return _forbidden(snapshot, outcome)


def _forbidden(snapshot: Snapshot, outcome: ContinuationOutcome) -> Judgement:
    why = outcome.forbidding_reason()
    failure = snapshot.failure
    error = f" ({failure.tool_name}: {failure.message})" if failure else ""
    ended = finish.partial(snapshot, outcome.stop_reason, "forbidden", why, after=error)
    return Judgement(Trigger.FORBIDDEN, why, ended, outcome)
