"""What live re-runs have shown, and why no other one is offered or started, in sentences. Nothing parses them."""

from agentcore.number_format import count, duration, number
from agentcore.policy import LIMIT_NAMES, limit_in_words
from agentcore.reasons import TurnStatus
from agentcore.replay import Certainty
from agentcore.sufficient_max_tokens import END_AT_MOST
from dashboard.agents.limit_fields import amount_used, setting
from dashboard.policies.suggestions.reruns import LimitTrial
from dashboard.policies.suggestions.shown_values import LIKELY_END
from dashboard.policies.suggestions.suggestion import Suggestion
from dashboard.replay.margin_text import whole_last_call, with_end
from dashboard.turns.models import Turn

_STOPPED = {TurnStatus.CANCELLED: "was cancelled", TurnStatus.INTERRUPTED: "was interrupted"}


def rerun_named(said: Suggestion) -> str:
    """`A live re-run`, with the value it was given where it needed less."""
    named = "The original turn" if said.original else "A live re-run"
    return (
        f"{named} with {LIMIT_NAMES[said.limit]} {setting(said.limit, said.given or 0)}" if needed_less(said) else named
    )


def rerun_found(said: Suggestion) -> str:
    """What it took: of the limit itself, in its unit; of the cap of a call and of retries, tokens."""
    of_limit = said.spent is not None and said.limit not in ("max_tokens", "max_retries")
    used = amount_used(said.limit, said.spent or 0) if of_limit else count(said.used or 0, "token")
    used = f"about {used}" if said.unreported_use else used
    less = of_limit and said.value < (said.spent or 0)
    why = f" This limit is checked before each call, so less than was used is enough.{_beyond(said)}" if less else ""
    room = whole_last_call(int(said.value), int(said.spent or 0), said.room) if of_limit else ""
    return f"completed in {count(said.calls or 1, 'call')} and used {used}.{why}{room}{_longest(said)}{_unlike(said)}"


def _beyond(said: Suggestion) -> str:
    """How a total of all tokens comes about: it has to exceed what was used before the last call."""
    if said.before is None or (more := int(said.value) - said.before) <= 0:
        return ""
    return f" {number(said.value)} is {number(more)} more than the {number(said.before)} used before its last call."


def _longest(said: Suggestion) -> str:
    """How a value comes about that is less than the re-run was given: its longest call, and an end."""
    if not said.by_longest:
        return ""
    call = f" Its longest call used {number(said.longest or 0)}." if (said.calls or 1) > 1 else ""
    return f"{call}{with_end(END_AT_MOST)}"


def _unlike(said: Suggestion) -> str:
    """Why what a re-run has shown is no more than likely."""
    if said.certainty is Certainty.CERTAIN:
        return ""
    if said.ended_at_it:
        margin = " The limit leaves a margin." if said.value > (said.given or 0) else ""
        return f" {_used_all(said)} may be cut off.{margin}"
    if said.may_be_cut:
        return f" Its last call used all tokens of {LIMIT_NAMES['max_tokens']}, so its answer may be cut off."
    if said.limit == "max_seconds":
        return " Another run may take longer."
    if said.limit == "max_retries":  # what a provider refuses at one time it need not refuse at another
        return " Another run may need more retries."
    if said.limit == "max_tokens" and needed_less(said) and said.unreported_use:
        return " The provider reported no tokens, so they are estimated by the text."
    is_less = needed_less(said) and not said.by_longest
    if is_less and (said.limit == "max_tokens" or (said.limit == "max_total_completion_tokens" and said.room is None)):
        return " Some servers also count the end of an answer, which they do not report."
    if said.limit == "max_tokens":
        return " It is not known to be the same answer."
    return " Its answers are not the recorded ones."


def _used_all(said: Suggestion) -> str:
    """A cap is of each call, and what is said before is used by all calls together."""
    if said.limit == "max_tokens" and (said.calls or 1) > 1:
        return f"One of its calls used all {number(said.given or 0)} tokens that a call may use, so what it wrote"
    return "It used all of them, so its answer"


def needed_less(said: Suggestion) -> bool:
    return said.given not in (None, said.value)


_NOT_STARTED = "No second re-run was started:"


def why_no_less(said: Suggestion) -> str:
    """Why no smaller `max_tokens` follows from a re-run that shows this one; empty where the re-run used all of it."""
    if said.by_longest:
        return ""
    if said.more_calls:
        calls = count(1 + said.more_calls, "call")
        return f"{_NOT_STARTED} this one took {calls} for one answer, so it does not show what one call needs."
    if said.longest is None or said.longest + LIKELY_END >= said.value:
        return ""
    if said.certainty is not Certainty.CERTAIN:
        return f"{_NOT_STARTED} the model may have written an answer of another length than it did for this turn."
    if said.unreported_use:
        return f"{_NOT_STARTED} the provider reported no tokens, so how many the answer needs is not known."
    used = count(said.longest, "token")
    return f"{_NOT_STARTED} this one reported {used}, but that does not show whether a limit near it is enough."


def unanswered_in_words(turn: Turn | None) -> str:
    """How a re-run ended that tells nothing, behind `a re-run with Max tokens per call 640`."""
    if turn is not None and turn.status == TurnStatus.PARTIAL and turn.resource:
        return f"was stopped by {limit_in_words(turn.resource)}"
    status = turn.status if turn else ""
    return _STOPPED.get(TurnStatus(status), "failed") if status else "failed"


def why_not_again(trial: LimitTrial) -> str:
    """Why the same value of a limit is not tried again after a re-run that completed and says nothing of the limit."""
    given, cap = f"{LIMIT_NAMES[trial.limit]} {setting(trial.limit, trial.value)}", LIMIT_NAMES["max_tokens"]
    if trial.limit == "max_seconds":
        return (
            f"with {given} completed in {duration((trial.turn.took_ms or 0) / 1000)}, which this turn was allowed as "
            "well. Runs take different times, so the same value is not tried again: a re-run under the recorded limit "
            "may complete, too."
        )
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
