"""The template context of a run's page, for the view and the socket."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from dashboard.agents.models import Project
from dashboard.timeline.runs.call_additions import CallAdditions, additions_of
from dashboard.timeline.runs.selectors import Run, run_get
from dashboard.turns.models import Turn
from dashboard.turns.prices.rates import Price
from dashboard.turns.provider_words import asks_simulator

CUT = frozenset({"max_tokens", "context_window_exceeded"})


@dataclass(frozen=True, slots=True)
class PathStep:
    """One turn on the path. `number` counts the turns of the run in time, from 1; `depth` the branches around it."""

    turn: Turn
    number: int
    depth: int = 0
    after: int | None = None  #: the number of the step that it goes on from, where that is not the one before it
    branches: int = 0  #: that leave the path after this step


def path_of(turns: Sequence[Turn], *, first: int = 1) -> list[PathStep]:
    """The turns of a run as one path: where a client went back and tried again, a branch leaves it.

    `turns` oldest first, the first of them with this number. The path leads to the newest turn; each branch stands
    before the step that went on instead, and the newest of them last.
    """
    numbers = {turn.id: number for number, turn in enumerate(turns, start=first)}
    following: dict[UUID | None, list[Turn]] = {}
    for turn in turns:
        following.setdefault(turn.follows if turn.follows in numbers else None, []).append(turn)
    return list(_steps(following, _last(turns, numbers), numbers))


def _last(turns: Sequence[Turn], numbers: Mapping[UUID, int]) -> dict[UUID, int]:
    """By turn, the number of the newest turn that goes on from it; a turn goes on from an older one only."""
    last = dict(numbers)
    for turn in reversed(turns):
        if turn.follows in last:
            last[turn.follows] = max(last[turn.follows], last[turn.id])
    return last


def _steps(
    following: Mapping[UUID | None, Sequence[Turn]], last: Mapping[UUID, int], numbers: Mapping[UUID, int]
) -> Iterator[PathStep]:
    """Without recursion, for a run is as deep as it has turns."""
    waiting: list[tuple[Turn, int, bool]] = []
    _put(waiting, following.get(None, ()), last, depth=0)
    before: UUID | None = None
    while waiting:
        turn, depth, _ = waiting.pop()
        after = numbers.get(turn.follows) if turn.follows is not None and turn.follows != before else None
        children = following.get(turn.id, ())
        yield PathStep(turn, numbers[turn.id], depth, after, max(0, len(children) - 1))
        _put(waiting, children, last, depth=depth)
        before = turn.id


def _put(waiting: list[tuple[Turn, int, bool]], turns: Sequence[Turn], last: Mapping[UUID, int], *, depth: int) -> None:
    """What leads to the newest turn is taken last, at the same depth."""
    ordered = sorted(turns, key=lambda turn: last[turn.id])
    for n, turn in reversed(list(enumerate(ordered))):
        is_path = n == len(ordered) - 1
        waiting.append((turn, depth if is_path else depth + 1, is_path))


@dataclass(frozen=True, slots=True)
class StepView:
    """A step with what it added and what it cost."""

    step: PathStep
    added: CallAdditions
    price: Price | None

    @property
    def is_cut(self) -> bool:
        return self.step.turn.model_stop_reason in CUT

    @property
    def indent(self) -> int:
        """How far a branch is set in; deep ones no further."""
        return min(self.step.depth, 3)


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as its page has it."""

    run: Run
    steps: Sequence[StepView]

    @property
    def branches(self) -> int:
        return sum(shown.step.branches for shown in self.steps)

    @property
    def has_indented(self) -> bool:
        return any(shown.indent for shown in self.steps)

    @property
    def cut(self) -> int:
        return sum(shown.is_cut for shown in self.steps)

    @property
    def models(self) -> str:
        return ", ".join(dict.fromkeys(turn.model for turn in self.run.turns))

    @property
    def free_turn(self) -> Turn | None:
        """A turn of the simulator, where no call was to another provider: these cost nothing."""
        turns = self.run.turns
        return turns[0] if all(map(asks_simulator, turns)) else None

    @property
    def milliseconds(self) -> int:
        """From its first turn's beginning to its last one's end."""
        return round((self.run.sums.last_at - self.run.sums.started_at).total_seconds() * 1000)


def run_context(run_id: UUID, *, project: Project) -> dict[str, Any]:
    """Raises `Turn.DoesNotExist`."""
    run = run_get(run_id, project=project)
    added = additions_of(run.turns)
    steps = [
        StepView(step, added[step.turn.id], run.prices[step.turn.id])
        for step in path_of(run.turns, first=run.left_out + 1)
    ]
    return {"shown": RunView(run, steps), "run": run, "run_id": run_id}
