"""Whether a backtest is evidence for a policy version: it ran to its end, with these settings, in this policy's
place."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dashboard.agents.models import Policy
    from dashboard.policies.backtests.models import Backtest

#: How far a backtest is that has not judged all of its turns.
NOT_DONE = {
    "queued": "has not begun",
    "running": "is still running, after {done:,} of {total:,} turns",
    "cancelled": "was cancelled after {done:,} of {total:,} turns",
    "failed": "failed after {done:,} of {total:,} turns",
}
WAITS = ("queued", "running")  #: of these, those that may come to speak for it


def evidence_fault(backtest: "Backtest", said: Mapping[str, Any], policy: "Policy") -> str:
    """Why the backtest does not speak for these words of the policy: `used other settings`. Empty where it does.

    That it gave every turn another max_tokens is no fault: its sentence says so wherever it stands.
    """
    if fault := _other(backtest, said, policy):
        return fault
    return NOT_DONE.get(backtest.status, "").format(done=backtest.done, total=backtest.total)


def evidence_waits(backtest: "Backtest", said: Mapping[str, Any], policy: "Policy") -> bool:
    """Whether it will speak for them once it is done."""
    return backtest.status in WAITS and not _other(backtest, said, policy)


def _other(backtest: "Backtest", said: Mapping[str, Any], policy: "Policy") -> str:
    """How it tried something else. What was tried alone speaks for the first version of a policy: that had no place
    among the words of any turn."""
    if not same_words(backtest.policy, said):
        return "used other settings"
    stood_for = backtest.stands_for
    if stood_for is not None and stood_for != policy:
        return f"ran in place of another policy, “{stood_for}”"
    if stood_for is None and policy.versions.exists():
        return f"ran alone, not in place of “{policy}”"
    return ""


def same_words(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two clean bodies of a policy say the same; what is left out, null or empty says nothing."""
    return {name: value for name, value in one.items() if value} == {n: value for n, value in other.items() if value}
