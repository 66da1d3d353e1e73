"""Budgets as meters: what of each limit a turn has used at one moment, and what is left."""

from dataclasses import dataclass

from agentcore.machine.snapshot import Snapshot

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


def meters_of(snapshot: Snapshot) -> tuple[Meter, ...]:
    """The budgets of a turn that has started; those without a limit, and unused ones of special kinds, are left out."""
    spent, limits = snapshot.spent, snapshot.limits
    meters = [
        Meter("continuations", spent.continuations, limits.max_continuations),
        Meter("completion tokens", spent.output_tokens, snapshot.completion_budget, estimated=spent.estimated),
        Meter("output characters", spent.output_chars, limits.max_total_output_chars),
        Meter("tool repairs", spent.tool_repairs, limits.max_tool_repair_attempts),
        Meter("steps", snapshot.iteration, limits.max_steps),
    ]
    if limits.max_total_tokens is not None:
        meters.append(Meter("all tokens", spent.total_tokens, limits.max_total_tokens, estimated=spent.estimated))
    if limits.max_seconds is not None:
        meters.append(Meter("seconds", round(spent.seconds, 1), limits.max_seconds, unit="s"))
    if snapshot.asked.envelope_schema is not None:
        meters.append(Meter("envelope retries", spent.envelope_retries, limits.schema_rounds))
    return tuple(meters)
