"""How each event enters: what it adds to the snapshot, and the trigger it pulls. Judging comes after."""

from collections.abc import Sequence
from typing import Any, assert_never

from agentcore.commands import Observation
from agentcore.continuation_merge import Rule
from agentcore.cuts import what_cut
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
from agentcore.json_mode import json_asked
from agentcore.lint import asks_for_stops, lint
from agentcore.machine import finish
from agentcore.machine.accounting import (
    count_attempt,
    count_failure,
    counted,
    keep_partial,
    keep_unjudged,
    rule_of,
    seconds_since,
    spend_seconds,
)
from agentcore.machine.judges.evaluate_error import retry_call
from agentcore.machine.operator_changes import RELEASING, operator_changes, told
from agentcore.messages import ChatResponse, Message, Role
from agentcore.policy import Policy, is_watched
from agentcore.reasons import AttemptKind, NormalizedStopReason, StopReason, TurnStatus
from agentcore.snapshot import Snapshot
from agentcore.snapshot_parts import Call, Failure
from agentcore.states import CALLS, RELEASES, RETRIES, TERMINAL, State, Trigger
from agentcore.values import replace

# Python 3.11 takes long to find a member in its enumeration, and every turn asks for these.
_STARTED, _RESPONDED = Trigger.STARTED, Trigger.RESPONDED
_IDLE, _REQUEST, _INITIAL = State.IDLE, State.REQUEST, AttemptKind.INITIAL
_MAX_TOKENS = NormalizedStopReason.MAX_TOKENS

#: The trigger, the snapshot with what the event brings, the reason in words, what operators should see, and fields that
#: change as the snapshot moves, in one copy with its state: a dictionary of its own, for more is put to it.
Intake = tuple[Trigger, Snapshot, str, tuple[Observation, ...], dict[str, Any]]


def apply_event(snapshot: Snapshot, event: Event, policy: Policy, *, signs: bool = True) -> Intake:
    """The trigger of the event and the snapshot with what the event brings. `signs`: lint of an answer included."""
    match event:
        case Started():
            return _started(snapshot, event, policy)
        case ModelResponded():
            return _responded(snapshot, event, signs=signs)
        case ModelFailed():
            return _failed(snapshot, event, policy)
        case Interrupted():
            return _interrupted(snapshot, event, policy)
        case ToolsReturned():
            return _tools_returned(snapshot, event)
        case WokeUp():
            return _woke_up(snapshot)
        case OperatorActed():
            return _operator_acted(snapshot, event, policy)
        case CancelRequested():
            return _cancelled(snapshot, event, policy)
        case _:
            assert_never(event)


def _require(condition: bool, snapshot: Snapshot, event: str) -> None:
    if not condition:
        raise IllegalEvent(f"{event} is not possible in state {snapshot.state}; nothing has changed.")


def _started(snapshot: Snapshot, event: Started, policy: Policy) -> Intake:
    if snapshot.state is not _IDLE:
        _require(False, snapshot, "started")
    setup = event.setup.asking(max_tokens=policy.max_tokens, model=policy.model, system_prompt=policy.system_prompt)
    if policy.revision and setup.envelope_schema is None:
        schema = json_asked(setup.provider, setup.extra)
        setup = setup if schema is None else replace(setup, envelope_schema=schema, any_json=True)
    brought = {
        "setup": setup,
        "limits": policy.limits,
        "error_policy": policy.error_policy,
        "tell_estimates": policy.tell_estimates,
        "revision": policy.revision,
        "watched": is_watched(policy),
        "observed": policy.watched or None,
        "messages": event.messages,
        "breakpoints": event.breakpoints,
        "iteration": 1,
        "call": Call(_INITIAL, _REQUEST, setup.max_tokens),
        "call_ids": frozenset([call.id for message in event.messages for call in message.tool_calls]),
    }
    return _STARTED, snapshot, "a user asked", (), brought


def _responded(snapshot: Snapshot, event: ModelResponded, *, signs: bool) -> Intake:
    if snapshot.state not in CALLS:
        _require(False, snapshot, "model_responded")
    response = event.response
    found = _signs(snapshot, response) if signs else ()
    brought = {
        **counted(snapshot, response, seconds_since(snapshot, event.at, event.waited)),
        "response": response,
        "cut_by": _cuts(snapshot, response),
        "failure": None,
        "outcome": None,
        "draw": event.draw,
        "calls": (),
        "rejected": (),
        "supplied": (),
        "stand_in": None,
        "flagged": _flagged(snapshot, response, found) if signs else snapshot.flagged,
        "last_signs": found,
    }
    return _RESPONDED, snapshot, "the model answered", (), brought


def _cuts(snapshot: Snapshot, response: ChatResponse) -> tuple[str, ...]:
    cut = response.stop_reason is _MAX_TOKENS
    return (*snapshot.cut_by, what_cut(snapshot, response)) if cut else snapshot.cut_by


def _signs(snapshot: Snapshot, response: ChatResponse) -> tuple[str, ...]:
    cap, stops = snapshot.known_cap, asks_for_stops(snapshot.asked.extra)
    return lint(response, cap, snapshot.answer.text, stops=stops, rule=rule_of(snapshot.revision))


def _flagged(snapshot: Snapshot, response: ChatResponse, found: tuple[str, ...]) -> tuple[str, ...]:
    """What was flagged before, and the signs in this answer."""
    if response.answered_by:
        found = (*found, "operator_answered")
    return (*snapshot.flagged, *(code for code in found if code not in snapshot.flagged)) if found else snapshot.flagged


def _failed(snapshot: Snapshot, event: ModelFailed, policy: Policy) -> Intake:
    _require(snapshot.state in CALLS, snapshot, "model_failed")
    said = _as_the_error_says(event)
    failure = Failure(event.error.type, event.error.message, provider=event.error, said=said)
    seconds = seconds_since(snapshot, event.at, event.waited)
    fresh = {"response": None, "failure": failure, "outcome": None, "draw": event.draw, "calls": (), "rejected": ()}
    taken = count_attempt(snapshot, said, seconds=seconds, **fresh)
    if snapshot.revision and taken.spent.output_tokens > snapshot.spent.output_tokens:
        taken = replace(taken, failed_spent=True)
    kept = count_failure(keep_partial(taken, said, policy, repeats_from=policy.min_overlap))
    observed = _ended(snapshot, said)
    return Trigger.FAILED, kept, f"{event.error.kind}: {event.error.message}", (observed,), {}


def _as_the_error_says(event: ModelFailed) -> ChatResponse | None:
    """What had arrived; where the error really is a stop reason, with that reason: then it is counted and kept so."""
    if event.error.stop_reason is None:
        return event.partial
    return replace(event.partial or ChatResponse(), stop_reason=event.error.stop_reason)


def _ended(snapshot: Snapshot, said: ChatResponse | None) -> Observation:
    """The stop reason of an attempt without an answer: what had arrived may have named one."""
    return finish.reason_observed(
        snapshot,
        said.stop_reason if said else NormalizedStopReason.UNKNOWN,
        said.raw_stop_reason if said else None,
    )


def _cut_short(said: ChatResponse) -> ChatResponse:
    """What had arrived when the turn was cancelled: that is its reason, unless it had named one."""
    unnamed = said.stop_reason is NormalizedStopReason.UNKNOWN and said.raw_stop_reason is None
    return replace(said, stop_reason=NormalizedStopReason.CANCELLED) if unnamed else said


def _interrupted(snapshot: Snapshot, event: Interrupted, policy: Policy) -> Intake:
    waiting = (*CALLS, State.EXECUTE_TOOLS, State.BACKOFF)
    _require(snapshot.state in waiting, snapshot, "interrupted")
    kept, observed = snapshot, tuple[Observation, ...]()
    if snapshot.state in CALLS:
        kept = _kept_of(count_attempt(snapshot, event.partial), event, policy)
        observed = (_ended(snapshot, event.partial),)
    if event.lost:
        return Trigger.LOST, _lost(kept, event.lost), event.lost, (*observed, *_repair_given_up(snapshot)), {}
    if snapshot.state in CALLS:
        assert kept.call is not None, "a call was in flight"
        kept = replace(kept, call=retry_call(kept, kept.call.kind))
    return Trigger.INTERRUPTED, kept, "another worker took the turn over", observed, {}


def _kept_of(snapshot: Snapshot, event: Interrupted, policy: Policy) -> Snapshot:
    """What had arrived. It is asked for again, so all that may be a repeat is dropped; where nobody can ask, only what
    surely is one."""
    nobody_asks = bool(event.lost) and rule_of(snapshot.revision) >= Rule.TELLS_APART
    least = policy.min_overlap if nobody_asks else 1
    return keep_partial(snapshot, event.partial, policy, repeats_from=least, asked_again=not nobody_asks)


def _lost(snapshot: Snapshot, why: str) -> Snapshot:
    notice = f"This turn was interrupted and cannot go on: {why} What had been said is kept."
    more = {"error_code": "interrupted", "error_message": why, "notice": notice}
    return finish.finished(snapshot, TurnStatus.INTERRUPTED, StopReason.ERROR, "interrupted", **more)


def _tools_returned(snapshot: Snapshot, event: ToolsReturned) -> Intake:
    _require(snapshot.state is State.EXECUTE_TOOLS, snapshot, "tools_returned")
    returned = {result.call_id: result for result in (*event.results, *snapshot.rejected, *snapshot.supplied)}
    results = tuple(returned.get(call.id) or _missing(call.id, call.name) for call in snapshot.calls)
    told = tuple(Message(Role.TOOL, result.content, tool_call_id=result.call_id) for result in results)
    error = next((result for result in results if result.error is not None), None)
    taken = snapshot if error is None else count_failure(snapshot)
    brought = {
        "spent": replace(taken.spent, seconds=taken.spent.seconds + seconds_since(snapshot, event.at)),
        "messages": (*snapshot.messages, *told),
        "rejected": (),
        "supplied": (),
        "refused": (),
        "refused_by": "",
        "failure": error and _tool_failure(error, results, snapshot),
        "outcome": None,
    }
    bad = sum([result.error is not None for result in results])
    return Trigger.TOOLS_RETURNED, taken, f"{len(results)} results, {bad} of them errors", (), brought


def _tool_failure(error: ToolResult, results: Sequence[ToolResult], snapshot: Snapshot) -> Failure:
    """The first error of some results. `snapshot`: with the calls that were not approved."""
    failure = Failure(error.error or ErrorType.TOOL, error.content, error.name)
    if error.call_id not in snapshot.refused:
        return failure
    names = tuple(result.name for result in results if result.call_id in snapshot.refused)
    return replace(failure, refused=names, refused_by=snapshot.refused_by)


def _missing(call_id: str, name: str) -> ToolResult:
    return ToolResult(call_id, name, f"The tool {name} returned nothing.", ErrorType.TOOL)


def _woke_up(snapshot: Snapshot) -> Intake:
    _require(snapshot.state is State.BACKOFF and snapshot.call is not None, snapshot, "woke_up")
    assert snapshot.call is not None, "a backoff remembers its call"
    trigger = RETRIES[snapshot.call.state]
    return trigger, snapshot, f"waited {snapshot.wait_seconds:.1f} s", (), {"failure": None}


def _operator_acted(snapshot: Snapshot, event: OperatorActed, policy: Policy) -> Intake:
    _require(snapshot.state is not State.IDLE and snapshot.state not in TERMINAL, snapshot, "operator_acted")
    busy = snapshot.state in (*CALLS, State.EXECUTE_TOOLS)
    charged = spend_seconds(snapshot, event.at, event.waited) if busy else snapshot
    changed = operator_changes(charged, event, policy)
    releasing = event.action in RELEASING
    _require(not releasing or snapshot.state is State.HELD, snapshot, event.action)
    hold = event.action in (OperatorAction.HOLD, OperatorAction.STEP)
    if releasing:
        assert snapshot.held_state is not None, "held remembers where it was entered"
        trigger = RELEASES[snapshot.held_state]
        changed = replace(changed, hold_requested=hold, held_state=None, run_to=event.run_to)
        changed = replace(changed, approving=(), held_until=None)
    else:
        trigger = Trigger.OPERATOR_ACTED
        changed = replace(changed, hold_requested=hold or snapshot.hold_requested)
    fields = {"by": event.by, "action": event.action.value, "turn_id": snapshot.asked.turn_id}
    observed = Observation("operator_acted", {**fields, "iteration": snapshot.iteration})
    return trigger, changed, told(event), (observed,), {}


def _cancelled(snapshot: Snapshot, event: CancelRequested, policy: Policy) -> Intake:
    _require(snapshot.state is not State.IDLE and snapshot.state not in TERMINAL, snapshot, "cancel_requested")
    busy = snapshot.state in CALLS or snapshot.state is State.EXECUTE_TOOLS
    spent, observed = spend_seconds(snapshot, event.at, event.waited) if busy else snapshot, _repair_given_up(snapshot)
    if snapshot.state in CALLS:
        said = _cut_short(event.partial or ChatResponse())
        observed = (finish.reason_observed(snapshot, said.stop_reason, said.raw_stop_reason), *observed)
        spent = keep_partial(count_attempt(spent, said), said, policy)
    if snapshot.held_state is State.EVALUATE_STOP:
        spent = keep_unjudged(spent, policy)
    by = event.by or "someone"
    notice, spent = f"This turn was cancelled by {by}.", replace(spent, cancelled_by=by)
    ended = finish.finished(spent, TurnStatus.CANCELLED, StopReason.USER_REQUESTED, "cancelled", notice=notice)
    return Trigger.CANCEL, ended, notice, observed, {}


def _repair_given_up(snapshot: Snapshot) -> tuple[Observation, ...]:
    """A cancel while a tool repair is still to be answered; once judged, it has been observed already."""
    unjudged = (None, State.EVALUATE_STOP, State.EVALUATE_ERROR)
    return finish.repair_answered(snapshot) if snapshot.held_state in unjudged else ()
