"""Budgets: what of each limit a turn has used at one moment."""

from dataclasses import dataclass

from agentcore.machine.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Budget:
    """One limit. `estimated`: what is used is our number, not the provider's."""

    name: str  #: in words
    used: float
    limit: float
    estimated: bool = False

    @property
    def left(self) -> float:
        """The fraction that is left, 0 to 1. Where nothing is allowed nothing can run low: 1."""
        return max(0.0, 1 - self.used / self.limit) if self.limit else 1.0


def budgets_of(snapshot: Snapshot) -> tuple[Budget, ...]:
    """The budgets of a turn that has started, without those that have no limit, or no meaning, in it."""
    spent, limits = snapshot.spent, snapshot.limits
    budgets = [
        Budget("continuations", spent.continuations, limits.max_continuations),
        Budget("output characters", spent.output_chars, limits.max_total_output_chars),
        Budget("tool repairs", spent.tool_repairs, limits.max_tool_repair_attempts),
        Budget("steps", snapshot.iteration, limits.max_steps),
    ]
    if (total := snapshot.completion_budget) is not None:
        budgets.insert(1, Budget("completion tokens", spent.output_tokens, total, spent.estimated))
    if limits.max_total_tokens is not None:
        budgets.append(Budget("all tokens", spent.total_tokens, limits.max_total_tokens, spent.estimated))
    if limits.max_seconds is not None:
        budgets.append(Budget("seconds", spent.seconds, limits.max_seconds))
    if snapshot.asked.envelope_schema is not None:
        budgets.append(Budget("envelope retries", spent.envelope_retries, limits.schema_rounds))
    return tuple(budgets)
