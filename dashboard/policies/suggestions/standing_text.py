"""What a turn had of a limit, and that an agent or its policy allows as much as is suggested already."""

from agentcore.number_format import number
from agentcore.policy import LIMIT_NAMES
from dashboard.agents.limit_fields import amount
from dashboard.policies.suggestions.suggestion import Number, Suggestion
from dashboard.policies.suggestions.suggestion_text import error_kind, name_of, was_in_words


def standing_in_words(
    limit: str, standing: Number | None, *, agent: str, own: bool, is_likely_enough: bool = False
) -> str:
    """That as much as is suggested is allowed already. `own`: the turn itself had set the limit that stopped it.
    `is_likely_enough`: it is less than is suggested, and likely enough."""
    likely = ", which is likely enough" if is_likely_enough else ""
    tail = f"{likely}; this turn set its own limit." if own else f" now{likely}."
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


def had_in_words(said: Suggestion) -> str:
    """`Max tokens per call was 60`: the setting that stopped the turn, as a sentence without its full stop."""
    forbade = (said.together or {}).get("error_policy")
    if forbade:
        words = ", ".join(f"{error_kind(key)} errors were set to stop" for key in forbade)
        return words[:1].upper() + words[1:]
    unset = said.limit == "max_tokens" and said.recorded is None and not said.unrecorded
    default = ". Without it, many servers apply a low default limit" if unset else ""
    return f"{name_of(said.limit)} {was_in_words(said)}{default}"
