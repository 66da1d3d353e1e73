"""What operators did while a turn was recorded: by occurrence, like everything else that came from outside.

A person who was there is taken to do the same once more, at the same wait of the same iteration. What stood in for the
model or for a tool is not here: that is an answer (`answer_tape`) or a result (`recorded_calls`) like others.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from agentcore.events import CancelRequested, Event, OperatorActed, OperatorAction
from agentcore.machine.snapshot import Snapshot
from agentcore.machine.states import State
from agentcore.values import replace

Act = OperatorActed | CancelRequested
#: The iteration, the state that waits, the one it is held before, and how many calls the iteration has made by then.
Occasion = tuple[int, State, State | None, int]
#: What was done at each, in order, with the seconds after which it came.
Acts = Mapping[Occasion, Sequence[tuple[float, Act]]]


def occasion_of(snapshot: Snapshot, first: dict[int, int]) -> Occasion:
    """The occasion of a snapshot that waits. `first`: the first attempt of each iteration."""
    attempts, iteration = snapshot.spent.attempts, snapshot.iteration
    return iteration, snapshot.state, snapshot.held_state, attempts - first.setdefault(iteration, attempts)


def is_act(event: Event, before: Snapshot) -> TypeGuard[Act]:
    """Whether a person did this, beside what is an answer to a call."""
    return isinstance(event, OperatorActed) or (isinstance(event, CancelRequested) and before.state is State.HELD)


@dataclass(slots=True)
class Acting:
    """The operators of one run under another policy: each act is done once."""

    acts: Acts
    done: Counter[Occasion] = field(default_factory=Counter)

    def count(self, snapshot: Snapshot, event: Event, first: dict[int, int]) -> None:
        """What was done here is not done again."""
        if is_act(event, snapshot):
            self.done[occasion_of(snapshot, first)] += 1

    def next(self, snapshot: Snapshot, first: dict[int, int]) -> Act | None:
        """What an operator does now; None: nothing that was recorded."""
        occasion = occasion_of(snapshot, first)
        acts, done = self.acts.get(occasion, ()), self.done[occasion]
        return _again(*acts[done], snapshot) if done < len(acts) else None


def _again(after: float, act: Act, snapshot: Snapshot) -> Act:
    at = snapshot.at + after
    if isinstance(act, CancelRequested):
        return replace(act, at=at)
    action = OperatorAction.RELEASE if act.action is OperatorAction.REFUSE else act.action
    return replace(act, at=at, action=action, answer=None, tool_result=None, tool_call=None)
