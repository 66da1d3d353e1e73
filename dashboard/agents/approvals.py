"""Which tools of an agent run only once a person has approved of their calls, judged in words."""

from collections.abc import Collection
from typing import Any

from django.core.exceptions import ValidationError

from agentcore.events import Otherwise
from agentcore.number_format import number_rule
from agentcore.policy import LIMIT_NAMES
from agentcore.quoting import quoted
from agentcore.resource import APPROVAL_SECONDS
from dashboard.agents.policy_validation import listed

KEYS = ("tools", "seconds", "otherwise")
LONGEST = 7 * 24 * 3600  #: seconds an approval may be waited for


def approvals_clean(given: Any, *, tools: Collection[str]) -> dict[str, Any] | None:
    """`{tools, seconds?, otherwise?}` as it is stored; None where no tool is named. Raises `ValidationError`.

    `tools`: those of the agent.
    """
    if given is None:
        return None
    if not isinstance(given, dict) or not set(given) <= set(KEYS):
        raise ValidationError(f"Approvals must be an object with {listed(KEYS)} only.")
    errors = [fault for fault in (_tools_fault(given, tools), _seconds_fault(given), _otherwise_fault(given)) if fault]
    if errors:
        raise ValidationError(errors)
    if not given.get("tools"):
        return None
    return {key: given[key] for key in KEYS if given.get(key) is not None}


def _tools_fault(given: dict[str, Any], tools: Collection[str]) -> str | None:
    named = given.get("tools", [])
    if not isinstance(named, list | tuple) or not all(isinstance(name, str) for name in named):
        return "The tools that need approval are a list of names."
    unknown = next((name for name in named if name not in tools), None)
    has = f"its tools are {listed(tools)}" if tools else "it has none"
    return None if unknown is None else f"The agent has no tool {quoted(unknown)} that could need approval; {has}."


def _seconds_fault(given: dict[str, Any]) -> str | None:
    seconds = given.get("seconds")
    number = seconds if isinstance(seconds, int | float) and not isinstance(seconds, bool) else None
    if seconds is None or (number is not None and 1 <= number <= LONGEST):
        return None
    rule = number_rule(1, LONGEST, whole=False, unit="seconds")
    return f"{LIMIT_NAMES[APPROVAL_SECONDS]} ({APPROVAL_SECONDS}) {rule}"


def _otherwise_fault(given: dict[str, Any]) -> str | None:
    otherwise = given.get("otherwise")
    if otherwise is None or otherwise in tuple(Otherwise):
        return None
    return f"otherwise must be one of {listed(Otherwise)}, not {quoted(otherwise)}."
