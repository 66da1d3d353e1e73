"""What the page's small forms say of a turn that runs."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError


def breakpoint_asked(given: Mapping[str, Any]) -> dict[str, Any]:
    """A breakpoint as the page's form says it, its budget in percent. Raises `ValidationError`."""
    names = {"breakpoint": "state", "trigger": "trigger", "stop_reason": "stop_reason", "tool": "tool"}
    asked: dict[str, Any] = {key: given[name] for name, key in names.items() if given.get(name)}
    percent = str(given.get("budget") or "").strip().removesuffix("%").strip()
    if percent:
        try:
            asked["budget_below"] = float(percent) / 100
        except ValueError as error:
            raise ValidationError(f"Enter the budget as a percentage such as 10, not “{percent}”.") from error
    return asked
