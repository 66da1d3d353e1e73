"""continue_pending: whether a cut or paused answer is gone on with, and how it is asked for."""

from agentcore.criteria.outcome import ContinuationOutcome
from agentcore.machine import ending
from agentcore.machine.judgement import Judgement, evaluate
from agentcore.machine.snapshot import Call, Snapshot
from agentcore.machine.states import State, Trigger
from agentcore.messages import Message, Role
from agentcore.policy import Policy
from agentcore.reasons import AttemptKind, NormalizedStopReason, StopReason
from agentcore.values import replace

#: spec: stop-reason-state-machine, "Recovery prompt contract".
HINT = (
    "Previous response was truncated by token limit.\n"
    "Continue exactly from where you left off.\n"
    "If you intended a tool call, emit one complete tool call payload only.\n"
    "Do not repeat already-sent text."
)


def judge(snapshot: Snapshot, policy: Policy) -> Judgement:
    outcome = evaluate(snapshot, policy)
    if not outcome.should_continue:
        return _stop(snapshot, outcome)
    call = _next_call(snapshot)
    spent = replace(snapshot.spent, continuations=snapshot.spent.continuations + 1)
    snapshot = replace(snapshot, call=call, spent=spent)
    reason = f"continuation {spent.continuations} of {snapshot.limits.max_continuations}, {call.max_tokens} tokens"
    observed = (ending.continuation_observed(snapshot),)
    return Judgement(Trigger.UNDER_LIMITS, reason, snapshot, outcome, observed)


def _stop(snapshot: Snapshot, outcome: ContinuationOutcome) -> Judgement:
    trigger = stop_trigger(outcome)
    why = outcome.forbidding_reason()
    return Judgement(trigger, why, ending.partial(snapshot, outcome.stop_reason, trigger.value, why), outcome)


def stop_trigger(outcome: ContinuationOutcome) -> Trigger:
    """The limit that forbade; a criterion that is no limit of ours is `forbidden`."""
    evaluation = outcome.get_evaluation_for(outcome.resolved_by)
    if evaluation is None:
        return Trigger.FORBIDDEN
    if outcome.stop_reason is StopReason.TOKEN_LIMIT:
        return Trigger.BUDGET_EXHAUSTED
    return Trigger(evaluation.context.get("bound", Trigger.FORBIDDEN))


def _next_call(snapshot: Snapshot) -> Call:
    left = snapshot.completion_left
    last = snapshot.call
    assert last is not None, "something was cut, so it was called for"
    capped = min(snapshot.asked.max_tokens, left)
    if _paused(snapshot):
        return Call(AttemptKind.RESUME, State.REQUEST_CONTINUATION, capped, echo=_echo(snapshot, last))
    if snapshot.answer.text.strip():
        return Call(AttemptKind.CONTINUATION, State.REQUEST_CONTINUATION, capped, hint=HINT)
    wanted = min(2 * last.max_tokens, left, snapshot.asked.ceiling or left)
    return Call(AttemptKind.CONTINUATION, State.REQUEST_CONTINUATION, wanted, echo=last.echo)


def _paused(snapshot: Snapshot) -> bool:
    return snapshot.response is not None and snapshot.response.stop_reason is NormalizedStopReason.PAUSED


def _echo(snapshot: Snapshot, last: Call) -> tuple[Message, ...]:
    response = snapshot.response
    assert response is not None, "paused is an answer's reason"
    return (*last.echo, Message(Role.ASSISTANT, response.text, echo=response.echo))
