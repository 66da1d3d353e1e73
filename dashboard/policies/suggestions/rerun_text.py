"""Why no re-run is offered or started beside what re-runs have shown: sentences for the head of a turn's page."""

from agentcore.number_format import count
from agentcore.policy import LIMIT_NAMES
from agentcore.replay import Certainty
from dashboard.agents.limit_fields import setting
from dashboard.policies.suggestions.reruns import LimitTrial
from dashboard.policies.suggestions.shown_values import LIKELY_END
from dashboard.policies.suggestions.suggestion import Suggestion

_NOT_STARTED = "No second re-run was started:"


def why_no_less(said: Suggestion) -> str:
    """Why no smaller `max_tokens` follows from a re-run that shows this one; empty where the re-run used all of it."""
    if said.longest is not None:
        return ""
    if (said.calls or 1) > 1:
        return (
            f"{_NOT_STARTED} this one took {count(said.calls or 1, 'call')}, so it does not show what one call needs."
        )
    if said.used is None or said.used + LIKELY_END >= said.value:
        return ""
    if said.certainty is not Certainty.CERTAIN:
        return f"{_NOT_STARTED} the model may have written an answer of another length than it did for this turn."
    used = count(said.used, "token")
    return f"{_NOT_STARTED} this one reported {used}, but that does not show whether a limit near it is enough."


def why_not_again(trial: LimitTrial) -> str:
    """Why the same value of a limit is not tried again after a re-run that completed and says nothing of the limit."""
    given, cap = f"{LIMIT_NAMES[trial.limit]} {setting(trial.limit, trial.value)}", LIMIT_NAMES["max_tokens"]
    if not trial.may_be_cut:
        return (
            f"with {given} completed with another answer, which used no more of {LIMIT_NAMES[trial.limit]} than this "
            "turn was allowed. It does not show how much this turn's answer needs, and the same value is not tried "
            "again."
        )
    return (
        f"with {given} completed, but its last call used all tokens of {cap}, so its answer may be cut off, and it "
        f"used no more of {LIMIT_NAMES[trial.limit]} than this turn was allowed. The same value is not tried again; "
        f"a larger {cap} may help."
    )
