"""The template context of a run's page, for the view and the socket."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from dashboard.agents.models import Project
from dashboard.agents.samples import is_simulated
from dashboard.timeline.runs.call_additions import CallAdditions, additions_of
from dashboard.timeline.runs.run_path import PathStep, path_of
from dashboard.timeline.runs.selectors import Run, run_get
from dashboard.turns.prices.rates import Price

CUT = frozenset({"max_tokens", "context_window_exceeded"})


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
    def cut(self) -> int:
        return sum(shown.is_cut for shown in self.steps)

    @property
    def models(self) -> str:
        return ", ".join(dict.fromkeys(turn.model for turn in self.run.turns))

    @property
    def free_model(self) -> str:
        """A model of the simulator, where no call was to another: these cost nothing. Else empty."""
        models = {turn.model for turn in self.run.turns}
        return min(models) if all(map(is_simulated, models)) and models else ""

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
