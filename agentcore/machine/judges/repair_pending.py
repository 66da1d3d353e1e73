"""repair_pending: whether a broken tool call is asked for again. It never runs, and is never sent back."""

from agentcore.continuation_outcome import ContinuationOutcome
from agentcore.cuts import bounded
from agentcore.machine import finish
from agentcore.machine.accounting import give_back
from agentcore.machine.judgement import Judgement, evaluate_now
from agentcore.machine.judges.continue_pending import HINT, apart_of, stop_trigger
from agentcore.messages import CallIssue
from agentcore.policy import Policy
from agentcore.reasons import AttemptKind
from agentcore.snapshot import Snapshot
from agentcore.snapshot_parts import Call
from agentcore.states import State, Trigger
from agentcore.values import replace

MALFORMED_HINT = "Your last tool call was not valid JSON. Emit one complete tool call payload only."
_HINTS = {CallIssue.TRUNCATED: HINT, CallIssue.MALFORMED: MALFORMED_HINT}


def judge(snapshot: Snapshot, policy: Policy) -> Judgement:
    """Ask for the call once more, with twice its cap, unless a limit or a criterion forbids."""
    snapshot = give_back(snapshot)
    issue = snapshot.repairing
    assert issue is not None, "repair_pending is entered by a broken call only"
    outcome = evaluate_now(snapshot, policy)
    if not outcome.should_continue:
        return _stop(snapshot, outcome, issue)
    assert snapshot.call is not None, "the broken call was called for"
    wanted = 2 * snapshot.call.max_tokens
    cap, by = bounded(wanted, None, snapshot.asked.ceiling)
    call = Call(AttemptKind.TOOL_REPAIR, State.REQUEST_TOOL_REPAIR, cap, hint=_HINTS[issue], bound=by)
    spent = replace(snapshot.spent, tool_repairs=snapshot.spent.tool_repairs + 1)
    told = "" if snapshot.next_cap_unknown else f", {cap} tokens"
    reason = f"repair {spent.tool_repairs} of {snapshot.limits.max_tool_repair_attempts}{told}"
    return Judgement(Trigger.UNDER_LIMITS, reason, replace(snapshot, call=call, spent=spent), outcome)


def _stop(snapshot: Snapshot, outcome: ContinuationOutcome, issue: CallIssue) -> Judgement:
    bound = stop_trigger(outcome)
    terminal = apart_of(outcome) or ("tool_repair_failed" if bound is Trigger.RETRY_LIMIT else bound.value)
    trigger = Trigger.FORBIDDEN if bound is Trigger.OUTPUT_CAP else bound
    because, broken = outcome.forbidding_reason(), f"a tool call was {issue} and did not run ("
    ended = finish.partial(snapshot, outcome.stop_reason, terminal, because, before=broken, after=")")
    attempted = snapshot.call is not None and snapshot.call.state is State.REQUEST_TOOL_REPAIR
    observed = () if attempted else (finish.repair_observed(snapshot, issue, attempted=False, success=False),)
    return Judgement(trigger, finish.happened(ended, because), ended, outcome, observed)
