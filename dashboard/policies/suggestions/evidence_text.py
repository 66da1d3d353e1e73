"""Why neither the recording nor other turns tell of a limit, in words. Output only: nothing parses it."""

from collections.abc import Callable, Mapping

from agentcore.number_format import count, number
from agentcore.policy import LIMIT_NAMES
from dashboard.agents.limit_fields import amount
from dashboard.policies.backtests.survival import LEAST_ENDED
from dashboard.policies.suggestions.suggestion import Evidence, Goal, Lack, Suggestion

#: Where the recording ends, by what is counted of other turns.
_ENDS: Mapping[str, str] = {
    "answer": "The recording ends before the answer does",
    "tool-call response": "The recording ends before the tool call does",
    "turn": "The recording ends at this limit",
}
#: Limits of the length of an answer, which are counted by turns all the same.
_OF_ANSWER = ("max_total_completion_tokens", "max_total_output_chars", "max_continuations")


def too_little(said: Suggestion) -> str:
    """What the recording shows, and why other turns support no estimate."""
    if said.goal is Goal.NO_REPAIR:
        return "The call that was requested again is not longer than what was truncated."
    known = said.evidence or Evidence(Lack.FEW, counted="answer" if said.limit == "max_tokens" else "turn")
    ends = _ENDS["answer" if said.limit in _OF_ANSWER else known.counted]
    if said.ended:
        ends = "The answer used all its tokens, so it may be cut off"
    return f"{ends}, and {_LACKS[known.lack](known)}{_sooner(said)}"


def _few(known: Evidence) -> str:
    few = f"too few {_longer(known)} are recorded for an estimate"
    if not known.of:
        return f"{few}."
    found = f"{count(known.ended, 'complete one')} of {known.noun} {known.of}, where an estimate needs {LEAST_ENDED}"
    return f"{few}: {found}. A turn and its re-runs count as one."


def _stopped(known: Evidence) -> str:
    of = f" of {known.noun} {known.of}"
    stopped = f"{number(known.cut)} of {number(known.cut + known.ended)}"
    return f"too many {_longer(known, of)} were cut or stopped for an estimate: {stopped}."


def _longer(known: Evidence, of: str = "") -> str:
    return f"turns{of} that used more of it" if known.counted == "turn" else f"longer {known.counted}s{of}"


_LACKS: Mapping[Lack, Callable[[Evidence], str]] = {
    Lack.FEW: _few,
    Lack.STOPPED: _stopped,
    Lack.UNREPORTED: lambda _: "too few calls show how many tokens this model counts and does not report.",
    Lack.CHARACTERS: lambda _: f"longer answers would exceed {LIMIT_NAMES['max_total_output_chars']}.",
    Lack.CEILING: lambda known: f"{_longer(known)} need more tokens than one call may request.",
}


def _sooner(said: Suggestion) -> str:
    """Of time: other turns that needed no more of it."""
    if said.sooner is None:
        return ""
    turns = f"{count(said.answers, 'completed turn')} of {said.noun} {said.of}"
    took = amount(said.limit, said.sooner)
    return f" The {turns} took at most {took}, so this one may complete as soon when it is run again."
