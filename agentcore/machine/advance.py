"""The reducer: one event in, the transitions it causes and one command out.

An event moves the machine through zero or more deciding states to the next waiting or terminal state. Nothing here
reads the time, the network or random numbers, so a replay is a loop, a fork is a kept value, and a crash loses nothing.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from agentcore.argument_validation import WrongInput, door, required, shown
from agentcore.commands import Command, Observation
from agentcore.continuation_outcome import ContinuationOutcome
from agentcore.errors import IllegalEvent
from agentcore.events import Event
from agentcore.machine import finish
from agentcore.machine.breakpoints import Holding, approval_here, hold_here, may_hold
from agentcore.machine.error_context import resolved
from agentcore.machine.event_handlers import apply_event
from agentcore.machine.judgement import Judgement, Words
from agentcore.machine.judges import (
    abort_partial,
    continue_pending,
    evaluate_continuation,
    evaluate_envelope,
    evaluate_error,
    evaluate_stop,
    repair_pending,
)
from agentcore.machine.state_commands import command_of
from agentcore.policy import Policy
from agentcore.reasons import AttemptKind
from agentcore.snapshot import Snapshot
from agentcore.snapshot_parts import Call, Spent
from agentcore.states import CALLS, RELEASES, TERMINAL, TRANSITIONS, State, Trigger
from agentcore.values import copier, copiers, quickly_made

#: One judge per deciding state.
JUDGES: Mapping[State, Callable[[Snapshot, Policy], Judgement]] = {
    State.EVALUATE_STOP: evaluate_stop.judge,
    State.CONTINUE_PENDING: continue_pending.judge,
    State.REPAIR_PENDING: repair_pending.judge,
    State.EVALUATE_ENVELOPE: evaluate_envelope.judge,
    State.EVALUATE_ERROR: evaluate_error.judge,
    State.EVALUATE_CONTINUATION: evaluate_continuation.judge,
    State.ABORT_PARTIAL: abort_partial.judge,
}

_EVENTS = frozenset(get_args(Event))
_RELEASED = frozenset(RELEASES.values())
_CALLS = frozenset(CALLS)
# Python 3.11 takes long to find a member in its enumeration.
_OPERATOR_ACTED, _ABORT_PARTIAL = Trigger.OPERATOR_ACTED, State.ABORT_PARTIAL
_with_attempts, _COPIED = copier(Spent, "attempts"), copiers(Snapshot)
_FRESH_CALLS = {Trigger.CONTINUE: AttemptKind.AFTER_TOOLS, Trigger.CONTINUE_REQUESTED: AttemptKind.REQUESTED}

#: What operators see of the moves that nearly every turn makes, by the snapshot after them: `settle` makes none of it.
_OBSERVED: Mapping[tuple[State, Trigger], Callable[[Snapshot], Observation]] = {
    **{(call, Trigger.RESPONDED): finish.response_observed for call in CALLS},
    (State.CONTINUE_PENDING, Trigger.UNDER_LIMITS): finish.continuation_observed,
}


@quickly_made
@dataclass(frozen=True, slots=True)
class Transition:
    """One transition. `outcome` is the result of the criteria, for transitions out of a deciding state."""

    source: State  #: the state it leaves
    trigger: Trigger  #: why it moved
    target: State  #: the state it enters
    reason: str  #: in words
    outcome: ContinuationOutcome | None = None


@quickly_made
@dataclass(frozen=True, slots=True)
class Step:
    """The result of one event."""

    snapshot: Snapshot  #: what the turn knows now
    transitions: tuple[Transition, ...]  #: at least one, in order
    command: Command  #: to be performed by a driver
    observed: tuple[Observation, ...] = ()  #: for operators and metrics, in order


#: One move: where it leads, out of which state, why, in words, what the criteria said, what operators should see.
_Moved = tuple[Snapshot, State, Trigger, Words, ContinuationOutcome | None, tuple[Observation, ...]]


@door
def advance(snapshot: Snapshot, event: Event, policy: Policy) -> Step:
    """Move the machine by one event. Raises `IllegalEvent`, with nothing changed, if the table has no such transition,
    and `WrongInput` if an argument is not a snapshot, event or policy."""
    if snapshot.__class__ is not Snapshot or event.__class__ not in _EVENTS or policy.__class__ is not Policy:
        _refuse(snapshot, event, policy)
    transitions: list[Transition] = []
    observed: list[Observation] = []
    after = before = snapshot
    for after, source, trigger, reason, outcome, seen in _moves(snapshot, event, policy):
        words = reason if isinstance(reason, str) else reason()
        transitions.append(Transition(source, trigger, after.state, words, outcome))
        observed += seen
        if (observe := _OBSERVED.get((source, trigger))) is not None:
            observed.append(observe(after))
        if outcome is not None and source is not _ABORT_PARTIAL:
            observed.append(finish.evaluation_observed(before, outcome))
        before = after
    if after.state in TERMINAL and after.end is not None:
        observed += finish.termination_observed(after, after.end.terminal_reason)
    return Step(after, tuple(transitions), command_of(after), tuple(observed))


def _refuse(snapshot: object, event: object, policy: object) -> None:
    required(snapshot, Snapshot, "snapshot")
    required(policy, Policy, "policy")
    if not isinstance(event, Event):
        raise WrongInput(f"event must be an event, such as Started or ModelResponded, not {shown(event)}.")


def settle(snapshot: Snapshot, event: Event, policy: Policy, *, signs: bool = True) -> Snapshot:
    """The snapshot that `advance` returns, without its transitions.

    `signs`: False omits the signs of truncation that lint finds in an answer (`Snapshot.flagged`). No transition
    depends on them.
    """
    after = snapshot
    for moved in _moves(snapshot, event, policy, signs=signs):
        after = moved[0]
    return after


def _moves(snapshot: Snapshot, event: Event, policy: Policy, *, signs: bool = True) -> Iterator[_Moved]:
    trigger, taken, why, observed, brought = apply_event(snapshot, event, policy, signs=signs)
    if event.at > snapshot.at:
        brought["at"] = event.at
    after = _move(taken, trigger, brought)
    yield after, snapshot.state, trigger, why, None, observed
    released, may_stop = trigger in _RELEASED, may_hold(after)
    while (judge := JUDGES.get(after.state)) is not None:
        source = after.state
        if may_stop and (holding := _holding(snapshot, after, trigger, policy, released=released)) is not None:
            changes = {"held_state": source, "hold_requested": False, "run_to": None, **holding.also}
            held = _move(after, Trigger.BREAKPOINT, changes)
            yield held, source, Trigger.BREAKPOINT, holding.why, None, ()
            return
        released = False
        if policy.resolver is not None and after.failure is not None:
            after = resolved(after, policy.resolver)
        trigger, reason, judged, outcome, observed, also = judge(after, policy)
        after = _move(judged, trigger, {**also, "outcome": outcome})
        yield after, source, trigger, reason, outcome, observed


def _holding(before: Snapshot, after: Snapshot, trigger: Trigger, policy: Policy, *, released: bool) -> Holding | None:
    """Why the machine holds in the state after a move. Just released it holds for an approval only: who releases a turn
    that was held for anything else has approved of nothing yet."""
    if not released:
        return hold_here(after, trigger, policy)
    return None if before.approving else approval_here(after, policy)


def _move(snapshot: Snapshot, trigger: Trigger, changes: dict[str, Any] | None = None) -> Snapshot:
    """The snapshot in the state that the trigger leads to, in one copy with what else changes. State and trigger are
    put to the changes that are given: those are made for one move, and not copied again."""
    target = TRANSITIONS[snapshot.state].get(trigger)
    if target is None:
        raise IllegalEvent(f"{trigger} is not possible in state {snapshot.state}; nothing has changed.")
    changes = {} if changes is None else changes
    changes["state"], changes["trigger"] = target, trigger
    if target in _CALLS and trigger is not _OPERATOR_ACTED:
        changes["spent"] = _with_attempts(changes.get("spent", snapshot.spent), snapshot.spent.attempts + 1)
        if (kind := _FRESH_CALLS.get(trigger)) is not None:
            changes["call"] = Call(kind, State.REQUEST, snapshot.asked.max_tokens)
    moved: Snapshot = _COPIED[tuple(changes)](snapshot, changes)
    return moved
