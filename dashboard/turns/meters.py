"""Budgets as meters: what of each limit a turn has used at one moment, and what is left."""

from dataclasses import dataclass

from agentcore.machine.breakpoints import Budget, budgets_of
from agentcore.number_format import number
from agentcore.policy import LIMIT_NAMES, limit_in_words
from agentcore.reasons import TurnStatus
from agentcore.snapshot import Snapshot
from dashboard.agents.observe_policy import ENDLESS_CHARS

ENDLESS = ENDLESS_CHARS  #: from here on a limit stands for none: that of a call that is only watched
HOT = 0.75  #: of a limit, from where a meter warns


@dataclass(frozen=True, slots=True)
class Meter:
    """One limit. `estimated`: the number is ours, not the provider's."""

    name: str
    used: float
    limit: float
    unit: str = ""
    estimated: bool = False

    @property
    def left(self) -> float:
        return max(0, self.limit - self.used)

    @property
    def shown(self) -> float:
        """What the bar shows: at most the limit, so that an overrun is a full bar."""
        return min(self.used, self.limit)

    @property
    def heat(self) -> str:
        """`full` where nothing is left, `hot` where little is, else empty."""
        if self.used >= self.limit:
            return "full" if self.used else ""
        return "hot" if self.used >= HOT * self.limit else ""


def overrun_in_words(snapshot: Snapshot) -> str:
    """Why a turn that completed used more than Max completion tokens per turn; empty where it did not."""
    total, used = snapshot.limits.max_total_completion_tokens, snapshot.spent.output_tokens
    if snapshot.end is None or snapshot.end.status is not TurnStatus.COMPLETED or total is None or used <= total:
        return ""
    used_of_total = f"{number(used)} of {number(total)} completion tokens used"
    why = f"{limit_in_words('max_total_completion_tokens')} holds back continuations only"
    return f"{used_of_total}: {why}, so the first call of an answer may exceed it."


def meters_of(snapshot: Snapshot) -> tuple[Meter, ...]:
    """The budgets of a turn that has started; those without a limit, and unused ones of special kinds, are left out.
    Calls that were only observed have none."""
    if snapshot.observed:
        return ()
    return tuple(_meter(budget) for budget in budgets_of(snapshot) if budget.limit < ENDLESS)


def _meter(budget: Budget) -> Meter:
    name = LIMIT_NAMES[budget.key]
    if budget.key == "max_seconds":
        return Meter(name, round(budget.used, 1), budget.limit, unit="s")
    return Meter(name, budget.used, budget.limit, estimated=budget.estimated)
