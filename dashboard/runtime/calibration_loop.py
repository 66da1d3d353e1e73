"""The loop of a calibration: begin a turn, wait for its end, compare; a worker of this process drives the turns.

It works on a queue of its own, as `ask` does. Should it die, any other worker takes up the turn that is under way.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from django.core.exceptions import ValidationError

from dashboard.agents.models import Connection
from dashboard.live.jobs import job_move
from dashboard.live.turn_loader import connection_of
from dashboard.platform.db_threads import in_database
from dashboard.policies.predictions import calibration_state, outcome_comparison
from dashboard.policies.predictions.calibration_state import Budget, Used
from dashboard.policies.predictions.failure_check import may_be_checked
from dashboard.policies.predictions.models import Calibration, Prediction
from dashboard.policies.predictions.trials import Trial
from dashboard.runtime import worker
from dashboard.turns.models import UNFINISHED, Turn

LOOK_SECONDS = 0.1
UNANSWERED = 3  #: turns in a row whose calls all failed; then it stops, for the others would fail too


class ProgressSink(Protocol):
    """Receives the progress of a calibration."""

    def compared(self, place: int, trial: Trial, prediction: Prediction, used: Used) -> None: ...

    def skipped(self, place: int, trial: Trial, why: str) -> None: ...


@dataclass(slots=True)
class CalibrationLoop:
    """One process at work on a calibration. `over`: why it ended before its last trial; empty: it did not."""

    calibration: Calibration
    budget: Budget
    telling: ProgressSink
    stop: asyncio.Event
    over: str = ""
    failing: list[Prediction] = field(default_factory=list)  #: the last ones in a row that got no answer
    unchecked: list[UUID] = field(default_factory=list)  #: predictions whose check did not fit into the budget

    async def run(self) -> None:
        """Until all trials are made, the budget is used up, or it is told to stop."""
        over = asyncio.Event()
        working = asyncio.create_task(worker.run(over, queues=(calibration_state.queue_of(self.calibration),)))
        trying = asyncio.create_task(self._all())
        await asyncio.wait({working, trying}, return_when=asyncio.FIRST_COMPLETED)
        over.set()
        if not trying.done():
            trying.cancel()
        await asyncio.gather(working, trying, return_exceptions=True)
        if not trying.cancelled():
            return trying.result()
        working.result()
        raise AssertionError("the worker returned before it was told to")

    async def _all(self) -> None:
        for place, trial in enumerate(calibration_state.trials_of(self.calibration)):
            self.over = await self._one(place, trial)
            if self.over:
                return
        await in_database(calibration_state.calibration_finish, calibration=self.calibration)

    async def _one(self, place: int, trial: Trial) -> str:
        """Why it is over after this trial; empty: it is not."""
        try:
            prediction = await in_database(self._begun, place, trial)
        except ValidationError as error:
            self.telling.skipped(place, trial, " ".join(error.messages))
            return ""
        if prediction is None:
            return "budget"
        if not await self._ended(prediction.child_id):
            return "stopped"
        found = await in_database(self._checkable, prediction)
        if found is not None and not await self._ended(found.id):
            return "stopped"
        if prediction.compared_at is not None and found is None:
            return ""  # told by an earlier run
        now, used = await in_database(self._found, prediction)
        self.telling.compared(place, trial, now, used)
        self.failing = [*self.failing, now] if now.not_compared == Prediction.NotCompared.UNANSWERED else []
        if len(self.failing) < UNANSWERED:
            return ""
        await in_database(calibration_state.trials_forget, self.failing)
        return "unanswered"

    def _begun(self, place: int, trial: Trial) -> Prediction | None:
        """The trial's prediction, begun now or before; None where it does not fit into the budget."""
        calibration = self.calibration
        begun = calibration.predictions.filter(place=place).first()
        if begun is not None:
            return begun
        if not calibration_state.is_left(self.budget, calibration_state.used_by(calibration), trial.bound):
            return None
        return calibration_state.trial_begin(calibration=calibration, place=place, trial=trial)

    def _checkable(self, prediction: Prediction) -> Turn | None:
        """The turn that tells why it failed, where that is to be found out and fits into the budget."""
        now = Prediction.objects.select_related("parent__agent__connection", "parent__project").get(id=prediction.id)
        if not may_be_checked(now):
            return None
        under_way = now.checked_by.filter(not_compared="").exists()
        bound = calibration_state.check_bound(now)
        if not under_way and not calibration_state.is_left(
            self.budget, calibration_state.used_by(self.calibration), bound
        ):
            self.unchecked.append(now.id)
            return None
        return calibration_state.check_begin(calibration=self.calibration, prediction=now)

    def _found(self, prediction: Prediction) -> tuple[Prediction, Used]:
        now = Prediction.objects.select_related("child").get(id=prediction.id)
        return now, calibration_state.used_by(self.calibration)

    async def _ended(self, turn_id: UUID) -> bool:
        """Wait until a turn has ended and its prediction is compared; False where this process is told to stop."""
        while not await in_database(self._look, turn_id):
            if self.stop.is_set():
                return False
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.stop.wait(), LOOK_SECONDS)
        return True

    def _look(self, turn_id: UUID) -> bool:
        status = Turn.objects.filter(id=turn_id).values_list("status", flat=True).first()
        if status in UNFINISHED:
            # Its job may have been given to a queue that nobody works on, when this process was killed.
            job_move(str(turn_id), calibration_state.queue_of(self.calibration))
            return False
        outcome_comparison.sweep()
        return not Prediction.objects.filter(child_id=turn_id, compared_at=None).exists()


def connections_of(calibration: Calibration) -> Sequence[Connection]:
    """All that are asked."""
    ids = {UUID(trial.turn) for trial in calibration_state.trials_of(calibration)}
    turns = Turn.objects.filter(id__in=ids).select_related("agent__connection")
    found = {connection.id: connection for turn in turns if (connection := connection_of(turn)) is not None}
    return list(found.values())
