"""That an agent or its policy allows as much as is suggested already, in one sentence."""

from agentcore.number_format import number
from agentcore.policy import LIMIT_NAMES
from dashboard.agents.limit_fields import amount
from dashboard.policies.suggestions.suggestion import Number


def standing_in_words(limit: str, standing: Number | None, *, agent: str, own: bool) -> str:
    """That as much as is suggested is allowed already. `own`: the turn itself had set the limit that stopped it."""
    tail = "; this turn set its own limit." if own else " now."
    if limit == "max_tokens":
        allowed = (
            f"already allows {number(standing or 0)} tokens per call"
            if own
            else f"has {LIMIT_NAMES[limit]} {number(standing or 0)}"
        )
        return f"{agent} {allowed}{tail}"
    if standing is None:
        return f"The policy sets no such limit{tail}"
    return f"The policy {'already ' if own else ''}allows {amount(limit, standing)}{tail}"
