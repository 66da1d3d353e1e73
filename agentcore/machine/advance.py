"""The reducer: one event in, the transitions it causes and one command out.

An event moves the machine through zero or more deciding states to the next waiting or terminal state. Nothing here
knows the time, the network or chance; so a replay is a loop, a fork is a kept value, and a crash loses nothing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from agentcore.commands import Command, Observation
from agentcore.criteria.outcome import ContinuationOutcome
from agentcore.errors import IllegalEvent
from agentcore.events import Breakpoint, Event
from agentcore.machine import ending
from agentcore.machine.intake import take_in
from agentcore.machine.judgement import Judgement
from agentcore.machine.judges import (
    abort_partial,
    continue_pending,
    evaluate_continuation,
    evaluate_envelope,
    evaluate_error,
    evaluate_stop,
    repair_pending,
)
from agentcore.machine.requests import command_of
from agentcore.machine.snapshot import Call, Snapshot
from agentcore.machine.states import CALLS, RELEASES, TERMINAL, TRANSITIONS, State, Trigger
from agentcore.policy import Policy
from agentcore.reasons import AttemptKind
from agentcore.values import replace

JUDGES: Mapping[State, Callable[[Snapshot, Policy], Judgement]] = {
    State.EVALUATE_STOP: evaluate_stop.judge,
    State.CONTINUE_PENDING: continue_pending.judge,
    State.REPAIR_PENDING: repair_pending.judge,
    State.EVALUATE_ENVELOPE: evaluate_envelope.judge,
    State.EVALUATE_ERROR: evaluate_error.judge,
    State.EVALUATE_CONTINUATION: evaluate_continuation.judge,
    State.ABORT_PARTIAL: abort_partial.judge,
}

_RELEASED = frozenset(RELEASES.values())
_FRESH_CALLS = {Trigger.CONTINUE: AttemptKind.AFTER_TOOLS, Trigger.CONTINUE_REQUESTED: AttemptKind.REQUESTED}


@dataclass(frozen=True, slots=True)
class Transition:
    """One move. `outcome` is what the criteria said, for moves out of a deciding state."""

    source: State
    trigger: Trigger
    target: State
    reason: str
    outcome: ContinuationOutcome | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """What one event came to."""

    snapshot: Snapshot
    transitions: tuple[Transition, ...]
    command: Command
    observed: tuple[Observation, ...] = ()


def advance(snapshot: Snapshot, event: Event, policy: Policy) -> Step:
    """Move the machine by one event. Raises `IllegalEvent`, with nothing changed, where the table has no such move."""
    trigger, taken, reason, observed = take_in(snapshot, event, policy)
    taken = _move(replace(taken, at=max(snapshot.at, event.at)), trigger)
    transitions = [Transition(snapshot.state, trigger, taken.state, reason)]
    released = trigger in _RELEASED
    while taken.state in JUDGES:
        if not released and (why := _hold_here(taken, trigger)):
            held = _move(replace(taken, held_state=taken.state, hold_requested=False), Trigger.BREAKPOINT)
            transitions.append(Transition(taken.state, Trigger.BREAKPOINT, held.state, why))
            taken = held
            break
        released = False
        judgement = JUDGES[taken.state](taken, policy)
        source, trigger = taken.state, judgement.trigger
        taken = _move(replace(judgement.snapshot, outcome=judgement.outcome), trigger)
        transitions.append(Transition(source, trigger, taken.state, judgement.reason, judgement.outcome))
        observed += judgement.observed
        if source is not State.ABORT_PARTIAL:
            observed += (ending.evaluation_observed(taken, judgement.outcome),)
    if taken.state in TERMINAL and taken.end is not None:
        observed += ending.termination_observed(taken, taken.end.terminal_reason)
    return Step(taken, tuple(transitions), command_of(taken), observed)


def _move(snapshot: Snapshot, trigger: Trigger) -> Snapshot:
    target = TRANSITIONS[snapshot.state].get(trigger)
    if target is None:
        raise IllegalEvent(f"{trigger} is not possible in state {snapshot.state}; nothing has changed.")
    if target in CALLS and trigger is not Trigger.OPERATOR_ACTED:
        snapshot = _begin_attempt(snapshot, trigger)
    return replace(snapshot, state=target, trigger=trigger)


def _begin_attempt(snapshot: Snapshot, trigger: Trigger) -> Snapshot:
    spent = replace(snapshot.spent, attempts=snapshot.spent.attempts + 1)
    kind = _FRESH_CALLS.get(trigger)
    call = Call(kind, State.REQUEST, snapshot.asked.max_tokens) if kind else snapshot.call
    return replace(snapshot, spent=spent, call=call)


def _hold_here(snapshot: Snapshot, trigger: Trigger) -> str | None:
    """Why the machine holds on entering this state; None where it goes on."""
    if snapshot.hold_requested:
        return "an operator asked to hold"
    matched = next((b for b in snapshot.breakpoints if _matches(b, snapshot, trigger)), None)
    return None if matched is None else f"breakpoint on {_words(matched)}"


def _matches(breakpoint_: Breakpoint, snapshot: Snapshot, trigger: Trigger) -> bool:
    response = snapshot.response
    called = {call.name for call in (*response.tool_calls, *response.broken_tool_calls)} if response else set()
    reason = response.stop_reason.value if response and snapshot.state is State.EVALUATE_STOP else None
    conditions = (
        (breakpoint_.state, {snapshot.state.value}),
        (breakpoint_.trigger, {trigger.value}),
        (breakpoint_.stop_reason, {reason}),
        (breakpoint_.tool, called if snapshot.state is State.EVALUATE_STOP else set()),
    )
    asked = [wanted in found for wanted, found in conditions if wanted is not None]
    return bool(asked) and all(asked)


def _words(breakpoint_: Breakpoint) -> str:
    parts = ("state", "trigger", "stop_reason", "tool")
    return ", ".join(f"{part} {value}" for part in parts if (value := getattr(breakpoint_, part)))
