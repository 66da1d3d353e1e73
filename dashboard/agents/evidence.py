"""Whether a backtest speaks for a version: it must have tried these words, in this policy's place, to its end."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dashboard.agents.models import Policy
    from dashboard.backtests.models import Backtest

#: How a backtest is over that judged only some of its turns, whichever came first.
ENDED_EARLY = {"cancelled": "was cancelled", "failed": "failed"}


def evidence_fault(backtest: "Backtest", said: Mapping[str, Any], policy: "Policy") -> str:
    """Why the backtest does not speak for these words of the policy: `tried other words`. Empty where it does.

    That it gave every turn another max_tokens is no fault: its sentence says so wherever it stands.
    """
    if not same_words(backtest.policy, said):
        return "tried other words"
    stood_for = backtest.stands_for
    if stood_for is not None and stood_for != policy:
        return f"tried them in the place of another policy, “{stood_for}”"
    if ended := ENDED_EARLY.get(backtest.status):
        return f"{ended} after {backtest.done:,} of {backtest.total:,} turns"
    return ""


def same_words(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two clean bodies of a policy say the same; what is left out, null or empty says nothing."""
    return {name: value for name, value in one.items() if value} == {n: value for n, value in other.items() if value}
