"""Where an operator may want a turn to hold, judged in words: a breakpoint that could never match is refused."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.core.exceptions import ValidationError

from agentcore.quoting import quoted
from agentcore.reasons import NormalizedStopReason
from agentcore.states import DECIDING, TRANSITIONS, State
from dashboard.agents.policy_validation import listed

#: Moves into deciding states. A release enters its state without holding again.
_MOVES = [
    (trigger, target)
    for source, moves in TRANSITIONS.items()
    for trigger, target in moves.items()
    if source is not State.HELD and target in DECIDING
]
#: The triggers that lead into a deciding state, and into which.
ENTERING: Mapping[str, frozenset[str]] = {
    trigger.value: frozenset(target.value for other, target in _MOVES if other is trigger) for trigger, _ in _MOVES
}
#: The words each key takes; a tool is one of the agent's.
KNOWN: Mapping[str, Collection[str]] = {
    "state": tuple(state.value for state in DECIDING),
    "trigger": tuple(ENTERING),
    "stop_reason": tuple(NormalizedStopReason),
}
KEYS = (*KNOWN, "tool", "budget_below")
MOST = 100


def breakpoints_clean(given: Sequence[Mapping[str, Any]], *, tools: Collection[str]) -> list[dict[str, Any]]:
    """Breakpoints with the keys that are set. Raises `ValidationError` with a sentence for each that is wrong.

    `tools`: those of the agent.
    """
    if not isinstance(given, list | tuple) or not all(isinstance(one, Mapping) for one in given):
        raise ValidationError('Breakpoints must be a list of objects such as `{"state": "continue_pending"}`.')
    require_room(len(given))
    errors: list[str] = []
    clean: list[dict[str, Any]] = []
    for number, breakpoint_ in enumerate(given, start=1):
        asked = {key: value for key, value in breakpoint_.items() if value is not None}
        fault = _fault(asked, tools)
        if fault is not None:
            errors.append(f"Breakpoint {number}: {fault}")
        clean.append(asked)
    if errors:
        raise ValidationError(errors)
    return clean


def require_room(count: int) -> None:
    """Raises `ValidationError` where a turn would have more breakpoints than are looked at."""
    if count > MOST:
        raise ValidationError(f"There are {count} breakpoints; the maximum is {MOST}.")


def _fault(asked: Mapping[str, Any], tools: Collection[str]) -> str | None:
    if not asked or not set(asked) <= set(KEYS):
        return f"it must have at least one of the fields {listed(KEYS)}, and no other field."
    known = {**KNOWN, "tool": tuple(tools)}
    wrong = next((key for key in known if key in asked and asked[key] not in known[key]), None)
    if wrong is None:
        return _never(asked) or _budget_fault(asked.get("budget_below"))
    choice = f"choose from {listed(known[wrong])}." if known[wrong] else "this agent has none."
    return f"there is no {wrong} {quoted(asked[wrong])} to hold at; {choice}"


def _budget_fault(below: Any) -> str | None:
    number = below if isinstance(below, int | float) and not isinstance(below, bool) else None
    if below is None or (number is not None and 0 < number <= 1):
        return None
    return (
        f"budget_below must be above 0 and at most 1, such as 0.1 for the last tenth of a budget, not {quoted(below)}."
    )


def _never(asked: Mapping[str, Any]) -> str | None:
    """Why this combination matches nothing; None where it may match."""
    state, trigger = asked.get("state"), asked.get("trigger")
    if state and trigger and state not in ENTERING[trigger]:
        into = listed(sorted(ENTERING[trigger]))
        return f"the trigger {trigger} never enters {state}. It enters {into}. Leave the state or the trigger out."
    elsewhere = state not in (None, "evaluate_stop") or trigger not in (None, "responded")
    if elsewhere and ("stop_reason" in asked or "tool" in asked):
        return "stop_reason and tool are checked on entering evaluate_stop only. Leave state and trigger out."
    return None
