"""Live re-runs of a turn that tried the limit in question, and nothing else."""

from dataclasses import dataclass

from agentcore.reasons import TurnStatus
from dashboard.suggesting.exhausted_limits import ExhaustedLimit
from dashboard.turns.models import UNFINISHED, Turn

#: What a re-run may be given otherwise and still try a limit of the same question.
LIMITS = frozenset({"max_tokens", "limits", "error_policy"})


@dataclass(frozen=True, slots=True)
class LimitTrial:
    """A re-run, and the value of the limit that it was given."""

    value: int
    turn: Turn
    limit: str

    @property
    def running(self) -> bool:
        return self.turn.status in UNFINISHED

    @property
    def in_vain(self) -> bool:
        """Whether it ended without being complete, by a limit again; of retries, by the same kind of failure."""
        refused = self.limit == "max_retries" and self.turn.terminal_reason == "provider_error"
        return self.turn.status == TurnStatus.PARTIAL or refused


def reruns_of(case: ExhaustedLimit) -> tuple[LimitTrial, ...]:
    """The oldest first."""
    found = (_tried(case, child) for child in case.turn.children.order_by("id"))
    return tuple(tried for tried in found if tried is not None)


def _tried(case: ExhaustedLimit, child: Turn) -> LimitTrial | None:
    given = {key: value for key, value in child.overrides.items() if value != case.turn.overrides.get(key)}
    if child.forked_at is not None or set(given) - LIMITS or (case.limit != "max_tokens" and "max_tokens" in given):
        return None
    limits = {**given.get("limits", {}), **{key: given[key] for key in ("max_tokens",) if key in given}}
    value = {**limits, **given.get("error_policy", {})}.get(case.limit)
    return None if value is None else LimitTrial(int(value), child, case.limit)
