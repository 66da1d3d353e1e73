"""How each event enters: what it adds to the snapshot, and the trigger it pulls. Judging comes after."""

from collections.abc import Mapping
from typing import Any, assert_never

from agentcore.commands import Observation
from agentcore.error_policy import ErrorHandlingDecision, ErrorPolicy
from agentcore.errors import ErrorType, IllegalEvent
from agentcore.events import (
    CancelRequested,
    Event,
    Interrupted,
    ModelFailed,
    ModelResponded,
    OperatorActed,
    OperatorAction,
    Started,
    ToolResult,
    ToolsReturned,
    WokeUp,
)
from agentcore.lint import lint
from agentcore.machine import ending
from agentcore.machine.accounting import count_attempt, count_failure, spend_seconds
from agentcore.machine.judges.evaluate_error import retry_call
from agentcore.machine.judges.evaluate_stop import keep_partial, keep_unjudged
from agentcore.machine.snapshot import Call, Failure, Snapshot
from agentcore.machine.states import CALLS, RELEASES, RETRIES, TERMINAL, State, Trigger
from agentcore.messages import Message, Role
from agentcore.policy import Limits, Policy
from agentcore.reasons import AttemptKind, NormalizedStopReason, StopReason, TurnStatus
from agentcore.values import replace

Intake = tuple[Trigger, Snapshot, str, tuple[Observation, ...]]


def take_in(snapshot: Snapshot, event: Event, policy: Policy) -> Intake:
    """The trigger of the event and the snapshot with what the event brings."""
    match event:
        case Started():
            return _started(snapshot, event, policy)
        case ModelResponded():
            return _responded(snapshot, event)
        case ModelFailed():
            return _failed(snapshot, event, policy)
        case Interrupted():
            return _interrupted(snapshot, event, policy)
        case ToolsReturned():
            return _tools_returned(snapshot, event)
        case WokeUp():
            return _woke_up(snapshot)
        case OperatorActed():
            return _operator_acted(snapshot, event)
        case CancelRequested():
            return _cancelled(snapshot, event, policy)
        case _:
            assert_never(event)


def _require(condition: bool, snapshot: Snapshot, event: str) -> None:
    if not condition:
        raise IllegalEvent(f"{event} is not possible in state {snapshot.state}; nothing has changed.")


def _started(snapshot: Snapshot, event: Started, policy: Policy) -> Intake:
    _require(snapshot.state is State.IDLE, snapshot, "started")
    setup = replace(
        event.setup,
        max_tokens=event.setup.max_tokens if policy.max_tokens is None else policy.max_tokens,
        system_prompt=event.setup.system_prompt if policy.system_prompt is None else policy.system_prompt,
        model=policy.model or event.setup.model,
    )
    started = replace(
        snapshot,
        setup=setup,
        limits=policy.limits,
        error_policy=policy.error_policy,
        messages=event.messages,
        breakpoints=event.breakpoints,
        iteration=1,
        call=Call(AttemptKind.INITIAL, State.REQUEST, setup.max_tokens),
        call_ids=frozenset(call.id for message in event.messages for call in message.tool_calls),
    )
    return Trigger.STARTED, started, "a user asked", ()


def _responded(snapshot: Snapshot, event: ModelResponded) -> Intake:
    _require(snapshot.state in CALLS, snapshot, "model_responded")
    response = event.response
    counted = count_attempt(spend_seconds(snapshot, event.at), response)
    counted = replace(counted, response=response, failure=None, draw=event.draw, calls=(), rejected=(), supplied=())
    assert counted.call is not None, "an answer was called for"
    signs = tuple(code for code in lint(response, counted.call.max_tokens) if code not in counted.flagged)
    counted = replace(counted, flagged=counted.flagged + signs)
    observed = ending.reason_observed(counted, response.stop_reason, response.raw_stop_reason)
    return Trigger.RESPONDED, counted, "the model answered", (observed,)


def _failed(snapshot: Snapshot, event: ModelFailed, policy: Policy) -> Intake:
    _require(snapshot.state in CALLS, snapshot, "model_failed")
    counted = count_attempt(spend_seconds(snapshot, event.at), event.partial)
    failure = Failure(event.error.type, event.error.message, provider=event.error)
    counted = replace(counted, response=None, failure=failure, draw=event.draw, calls=(), rejected=())
    kept = count_failure(keep_partial(counted, event.partial, policy))
    reason = event.error.stop_reason or NormalizedStopReason.UNKNOWN
    observed = ending.reason_observed(kept, reason, None, error=event.error.kind)
    return Trigger.FAILED, kept, f"{event.error.kind}: {event.error.message}", (observed,)


def _interrupted(snapshot: Snapshot, event: Interrupted, policy: Policy) -> Intake:
    waiting = (*CALLS, State.EXECUTE_TOOLS, State.BACKOFF)
    _require(snapshot.state in waiting, snapshot, "interrupted")
    kept = snapshot
    if snapshot.state in CALLS:
        kept = keep_partial(count_attempt(snapshot, event.partial), event.partial, policy)
        assert kept.call is not None, "a call was in flight"
        kept = replace(kept, call=retry_call(kept, kept.call.kind))
    return Trigger.INTERRUPTED, kept, "another worker took the turn over", ()


def _tools_returned(snapshot: Snapshot, event: ToolsReturned) -> Intake:
    _require(snapshot.state is State.EXECUTE_TOOLS, snapshot, "tools_returned")
    returned = {result.call_id: result for result in (*event.results, *snapshot.rejected, *snapshot.supplied)}
    results = tuple(returned.get(call.id) or _missing(call.id, call.name) for call in snapshot.calls)
    told = tuple(Message(Role.TOOL, result.content, tool_call_id=result.call_id) for result in results)
    error = next((result for result in results if result.error is not None), None)
    taken = replace(
        spend_seconds(snapshot, event.at), messages=(*snapshot.messages, *told), rejected=(), supplied=(), failure=None
    )
    if error is not None:
        failure = Failure(error.error or ErrorType.TOOL, error.content, error.name)
        taken = replace(count_failure(taken), failure=failure)
    bad = sum(result.error is not None for result in results)
    return Trigger.TOOLS_RETURNED, taken, f"{len(results)} results, {bad} of them errors", ()


def _missing(call_id: str, name: str) -> ToolResult:
    return ToolResult(call_id, name, f"The tool {name} returned nothing.", ErrorType.TOOL)


def _woke_up(snapshot: Snapshot) -> Intake:
    _require(snapshot.state is State.BACKOFF and snapshot.call is not None, snapshot, "woke_up")
    assert snapshot.call is not None, "a backoff remembers its call"
    trigger = RETRIES[snapshot.call.state]
    return trigger, replace(snapshot, failure=None), f"waited {snapshot.wait_seconds:.1f} s", ()


def _operator_acted(snapshot: Snapshot, event: OperatorActed) -> Intake:
    _require(snapshot.state is not State.IDLE and snapshot.state not in TERMINAL, snapshot, "operator_acted")
    busy = snapshot.state in (*CALLS, State.EXECUTE_TOOLS)
    changed = _changed(spend_seconds(snapshot, event.at) if busy else snapshot, event)
    releasing = event.action in (OperatorAction.RELEASE, OperatorAction.STEP)
    _require(not releasing or snapshot.state is State.HELD, snapshot, event.action)
    hold = event.action in (OperatorAction.HOLD, OperatorAction.STEP)
    if releasing:
        assert snapshot.held_state is not None, "held remembers where it was entered"
        trigger = RELEASES[snapshot.held_state]
        changed = replace(changed, hold_requested=hold, held_state=None)
    else:
        trigger = Trigger.OPERATOR_ACTED
        changed = replace(changed, hold_requested=hold or snapshot.hold_requested)
    fields = {"by": event.by, "action": event.action.value, "turn_id": snapshot.asked.turn_id}
    observed = Observation("operator_acted", {**fields, "iteration": snapshot.iteration})
    return trigger, changed, f"{event.by}: {event.action}", (observed,)


def _changed(snapshot: Snapshot, event: OperatorActed) -> Snapshot:
    """The snapshot with what the operator changed; it counts from the next judgement and the next call on."""
    asked = replace(
        snapshot.asked,
        max_tokens=snapshot.asked.max_tokens if event.max_tokens is None else event.max_tokens,
        model=event.model or snapshot.asked.model,
        system_prompt=snapshot.asked.system_prompt if event.system_prompt is None else event.system_prompt,
    )
    call = snapshot.call
    if event.max_tokens is not None and call is not None and snapshot.state is State.BACKOFF:
        call = replace(call, max_tokens=event.max_tokens)
    return replace(
        snapshot,
        setup=asked,
        call=call,
        limits=_limits_with(snapshot.limits, event.limits),
        error_policy=_error_policy_with(snapshot.error_policy, event.error_policy),
        messages=snapshot.messages if event.messages is None else event.messages,
        supplied=snapshot.supplied if event.tool_result is None else (*snapshot.supplied, event.tool_result),
    )


def _limits_with(limits: Limits, changes: Mapping[str, Any]) -> Limits:
    try:
        return replace(limits, **changes)
    except TypeError as error:
        raise IllegalEvent(f"These are not limits: {error}; nothing has changed.") from error


def _error_policy_with(policy: ErrorPolicy, changes: Mapping[str, Any]) -> ErrorPolicy:
    """Decisions come as words from a stored event, as members from a live one; both must judge the same."""
    try:
        words = {key: ErrorHandlingDecision(item) for key, item in changes.items() if key != "max_retries"}
        max_retries: int = changes.get("max_retries", policy.max_retries)
        return replace(policy, max_retries=max_retries, **words)
    except (TypeError, ValueError) as error:
        raise IllegalEvent(f"This is not an error policy: {error}; nothing has changed.") from error


def _cancelled(snapshot: Snapshot, event: CancelRequested, policy: Policy) -> Intake:
    _require(snapshot.state is not State.IDLE and snapshot.state not in TERMINAL, snapshot, "cancel_requested")
    busy = snapshot.state in CALLS or snapshot.state is State.EXECUTE_TOOLS
    spent = spend_seconds(snapshot, event.at) if busy else snapshot
    if snapshot.state in CALLS:
        spent = keep_partial(count_attempt(spent, event.partial), event.partial, policy)
    if snapshot.held_state is State.EVALUATE_STOP:
        spent = keep_unjudged(spent, policy)
    by = event.by or "someone"
    notice = f"This turn was cancelled by {by}."
    ended = ending.finished(spent, TurnStatus.CANCELLED, StopReason.USER_REQUESTED, "cancelled", notice=notice)
    return Trigger.CANCEL, ended, notice, ()
