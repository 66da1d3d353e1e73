"""Where the machine holds: calls need approval, an operator asked for it, or a breakpoint matches the deciding state
that is entered."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentcore.events import Breakpoint
from agentcore.machine.pending_tool_calls import tools_to_approve
from agentcore.policy import Policy
from agentcore.snapshot import Snapshot
from agentcore.states import State, Trigger


@dataclass(frozen=True, slots=True)
class Budget:
    """One limit. `estimated`: what is used is our number, not the provider's."""

    key: str  #: of the limit
    name: str  #: of what is used, in words
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
        Budget("max_continuations", "continuations", spent.continuations, limits.max_continuations),
        Budget("max_total_output_chars", "output characters", spent.output_chars, limits.max_total_output_chars),
        Budget("max_tool_repair_attempts", "tool repairs", spent.tool_repairs, limits.max_tool_repair_attempts),
        Budget("max_steps", "steps", snapshot.iteration, limits.max_steps),
    ]
    if (total := snapshot.completion_budget) is not None:
        budgets.insert(
            1, Budget("max_total_completion_tokens", "completion tokens", spent.output_tokens, total, spent.estimated)
        )
    if limits.max_total_tokens is not None:
        budgets.append(
            Budget("max_total_tokens", "all tokens", spent.total_tokens, limits.max_total_tokens, spent.estimated)
        )
    if limits.max_seconds is not None:
        budgets.append(Budget("max_seconds", "seconds", spent.seconds, limits.max_seconds))
    if snapshot.asked.envelope_schema is not None:
        budgets.append(Budget("schema_rounds", "envelope retries", spent.envelope_retries, limits.schema_rounds))
    return tuple(budgets)


@dataclass(frozen=True, slots=True)
class Holding:
    """Why the machine holds, in words, and the fields of the snapshot that change by it."""

    why: str
    also: Mapping[str, Any] = field(default_factory=dict)


def may_hold(snapshot: Snapshot) -> bool:
    """Whether the machine may hold at any deciding state before the next event: no judge changes what decides that."""
    asked_for = snapshot.hold_requested or snapshot.run_to is not None or bool(snapshot.breakpoints)
    return asked_for or snapshot.asked.approvals is not None


def hold_here(snapshot: Snapshot, trigger: Trigger, policy: Policy) -> Holding | None:
    """Why the machine holds on entering this state; None where it goes on.

    An approval is named before all else: whoever releases must know what they approve.
    """
    approval = approval_here(snapshot, policy)
    if approval is not None:
        return approval
    if snapshot.hold_requested:
        return Holding("an operator asked to hold")
    if snapshot.run_to == snapshot.state:
        return Holding(f"an operator asked to run to {snapshot.run_to}")
    for breakpoint_ in snapshot.breakpoints:
        if _matches(breakpoint_, snapshot, trigger):
            holding = _held_by(breakpoint_, snapshot)
            if holding is not None:
                return holding
    return None


def approval_here(snapshot: Snapshot, policy: Policy) -> Holding | None:
    """That of calls which may not run before a person has approved them."""
    if snapshot.asked.approvals is None:
        return None
    tools = tools_to_approve(snapshot, policy)
    also = {"approving": tools, "held_until": _deadline(snapshot)}
    return Holding(f"approval of {', '.join(tools)}", also) if tools else None


def _deadline(snapshot: Snapshot) -> float | None:
    approvals = snapshot.asked.approvals
    return None if approvals is None or approvals.seconds is None else snapshot.at + approvals.seconds


def _held_by(breakpoint_: Breakpoint, snapshot: Snapshot) -> Holding | None:
    """That of a breakpoint whose place matches. One on budgets holds once for each that has come under it."""
    words = f"breakpoint on {_words(breakpoint_)}"
    if breakpoint_.budget_below is None:
        return Holding(words)
    low = low_budgets(breakpoint_, snapshot)
    fresh = {f"{_words(breakpoint_)}: {name}": name for name in low}
    named = [name for key, name in fresh.items() if key not in snapshot.low]
    return Holding(f"{words}: {', '.join(named)}", {"low": snapshot.low | set(fresh)}) if named else None


def low_budgets(breakpoint_: Breakpoint, snapshot: Snapshot) -> tuple[str, ...]:
    """The names of the budgets that are under it."""
    below = breakpoint_.budget_below
    return () if below is None else tuple(one.name for one in budgets_of(snapshot) if one.left < below)


def still_low(snapshot: Snapshot) -> frozenset[str]:
    """Of the budgets that have held already, those that are still under: the others may come under once more."""
    now = {f"{_words(b)}: {name}" for b in snapshot.breakpoints for name in low_budgets(b, snapshot)}
    return snapshot.low & now


def _matches(breakpoint_: Breakpoint, snapshot: Snapshot, trigger: Trigger) -> bool:
    """Whether its place, reason and tool are those of the state that is entered."""
    answer = breakpoint_.stop_reason or breakpoint_.tool
    if answer and breakpoint_.state is None and breakpoint_.trigger is None and not _just_came(snapshot):
        return False
    response = snapshot.response
    called = {call.name for call in (*response.tool_calls, *response.broken_tool_calls)} if response else set()
    conditions = (
        (breakpoint_.state, {snapshot.state.value}),
        (breakpoint_.trigger, {trigger.value}),
        (breakpoint_.stop_reason, {_reason(snapshot)}),
        (breakpoint_.tool, called),
    )
    asked = [wanted in found for wanted, found in conditions if wanted is not None]
    return all(asked) and (bool(asked) or breakpoint_.budget_below is not None)


def _just_came(snapshot: Snapshot) -> bool:
    """Where an attempt is first judged: there a reason or a tool alone holds, once."""
    if snapshot.state is State.EVALUATE_ERROR:
        return snapshot.response is None
    return snapshot.state is State.EVALUATE_STOP


def _reason(snapshot: Snapshot) -> str | None:
    """The stop reason of the last attempt: its answer's, or that of an error that really is one."""
    if snapshot.response is not None:
        return snapshot.response.stop_reason.value
    error = snapshot.failure.provider if snapshot.failure else None
    return error.stop_reason.value if error is not None and error.stop_reason is not None else None


def _words(breakpoint_: Breakpoint) -> str:
    parts = [
        f"{part} {value}"
        for part in ("state", "trigger", "stop_reason", "tool")
        if (value := getattr(breakpoint_, part))
    ]
    below = breakpoint_.budget_below
    return ", ".join([*parts, *([] if below is None else [f"a budget under {below * 100:g} %"])])
