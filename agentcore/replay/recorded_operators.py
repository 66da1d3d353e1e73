"""What operators did while a turn was recorded: by occurrence, like everything else that came from outside.

Operators are assumed to repeat their actions, each at the same wait of the same iteration (`operator_answers`). What
stood in for the model or for a tool is not here: that is an answer (`answer_tape`) or a result (`recorded_calls`) like
others.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeGuard

from agentcore.events import CancelRequested, Event, OperatorActed, OperatorAction
from agentcore.snapshot import Snapshot
from agentcore.states import State
from agentcore.values import replace

Act = OperatorActed | CancelRequested
#: The iteration, the state that waits, the one it is held before, and how many calls the iteration has made by then.
Occasion = tuple[int, State, State | None, int]


class OperatorAct(NamedTuple):
    """What an operator did."""

    after: float  #: seconds of the wait after which it came
    act: Act
    before: Snapshot  #: the one that waited

    @property
    def is_written_for_its_text(self) -> bool:
        """Whether it puts the recorded conversation, or arguments for a recorded tool call, into the turn."""
        return isinstance(self.act, OperatorActed) and (self.act.messages, self.act.tool_call) != (None, None)


#: What was done at each occasion, in order.
Acts = Mapping[Occasion, Sequence[OperatorAct]]


def occasion_of(snapshot: Snapshot, first: dict[int, int]) -> Occasion:
    """The occasion of a snapshot that waits. `first`: the first attempt of each iteration."""
    attempts, iteration = snapshot.spent.attempts, snapshot.iteration
    return iteration, snapshot.state, snapshot.held_state, attempts - first.setdefault(iteration, attempts)


def is_act(event: Event, before: Snapshot) -> TypeGuard[Act]:
    """Whether a person did this, beside what is an answer to a call."""
    return isinstance(event, OperatorActed) or (isinstance(event, CancelRequested) and before.state is State.HELD)


@dataclass(slots=True)
class OperatorReplay:
    """The operators of one run under another policy: each act is done once."""

    acts: Acts
    done: Counter[Occasion] = field(default_factory=Counter)

    def count(self, snapshot: Snapshot, event: Event, first: dict[int, int]) -> None:
        """What was done here is not done again."""
        if is_act(event, snapshot):
            self.done[occasion_of(snapshot, first)] += 1

    def next(self, snapshot: Snapshot, first: dict[int, int]) -> OperatorAct | None:
        """What an operator did at this wait, not done again yet; None: nothing more was recorded."""
        occasion = occasion_of(snapshot, first)
        acts, done = self.acts.get(occasion, ()), self.done[occasion]
        return acts[done] if done < len(acts) else None


def again(acted: OperatorAct, since: float, *, mends: bool) -> Act:
    """The same act in a wait that began at `since`, without what is an answer or a result. `mends`: with its change to
    a tool call."""
    act, at = acted.act, since + acted.after
    if isinstance(act, CancelRequested):
        return replace(act, at=at)
    action = OperatorAction.RELEASE if act.action is OperatorAction.REFUSE else act.action
    changed = act.tool_call if mends else None
    return replace(act, at=at, action=action, answer=None, tool_result=None, tool_call=changed)
