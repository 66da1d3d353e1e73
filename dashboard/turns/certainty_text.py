"""The certainty of a what-if in words: the level, its assumptions, and the outcome at both ends of their ranges."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from agentcore.number_format import count, number, percent
from agentcore.policy import limit_in_words
from agentcore.replay import Assumed, Assumption, Certainty, Why
from dashboard.turns.reason_looks import reason_label

#: The certainties from the strongest to the weakest, each in one sentence.
MEANINGS: Mapping[Certainty, str] = {
    Certainty.RECORDED: "All its calls are the recorded ones: the same requests, limits and answers.",
    Certainty.CERTAIN: "It follows from the recording, for any provider that generates the same content.",
    Certainty.ESTIMATED: "It depends on assumptions, which are listed. Within their ranges, the turn ends in one way.",
    Certainty.UNDECIDABLE: "The recording does not determine it. Only a live re-run can show it.",
}

#: The words of pages for what a live re-run has shown of a value, each in one sentence.
SHOWN_BY_RERUN: Mapping[str, str] = {
    "proven": "A live re-run completed under this limit.",
    "measured": "A live re-run under this limit has shown how the turn ends.",
}

_CAP = limit_in_words("max_tokens")
_TIME = limit_in_words("max_seconds")
NOT_KNOWN = reason_label(Certainty.UNDECIDABLE)  #: what pages call it; the API's word is `undecidable`


def certainty_word(certainty: str) -> str:
    """The word of pages for a certainty: the API's `estimated` is `likely`, and its `undecidable` is `not known`."""
    return reason_label(certainty)


#: Why one is undecidable, each as a part of a sentence.
WHYS: Mapping[Why, str] = {
    Why.ASSUMPTIONS: "two endings are possible, depending on the assumptions",
    Why.MORE_TEXT: "the recording ends here, and the model would have continued",
    Why.ITERATION: "the recording has no call of this iteration",
    Why.OTHER_REQUEST: "a call would send a request that no recorded call sent",
    Why.ANOTHER_ANSWER: "a request is sent more often than in the recording, and may get a different answer",
    Why.REPAIR: "the recording has no such request to repair a tool call",
    Why.FAILED_CALL: "a recorded call broke off, and how it would have continued is not known",
    Why.TIMED_OUT: f"{_TIME} ended a recorded call, and how it would have continued is not known",
    Why.REFUSAL: "whether the provider refuses a request under these limits is not recorded",
    Why.CUT_BELOW_CAP: f"a recorded answer was cut below {_CAP}, and where it would be cut now is not known",
    Why.OUTPUT_AT_CAP: "a recorded answer was reported as complete, used all its tokens, and may have been cut",
    Why.TOOL_CALLS: f"the recording does not show how the tool calls would be written within {_CAP}",
    Why.TOOL_RESULTS: "a tool would be called with arguments that were never tried in the recording",
    Why.TOOL_SECONDS: f"the tools might not end within {_TIME}",
    Why.WINDOW: "a call might not fit into the context window",
    Why.OPERATOR: "an operator changed the conversation or a tool call, and the turn now differs there",
    Why.BLOCKED: "the answer was blocked at its end, and what it would show before that is not known",
    Why.NOT_BEGUN: "the recording has no prompt",
    Why.WORK: "evaluating the rest would take too long",
}

NOT_JUDGED = "not_judged"  #: why a stored turn is undecidable of which no what-if could be made
#: Why a stored turn is undecidable, by the reason's name.
UNDECIDED: Mapping[str, str] = {
    **{why.value: words for why, words in WHYS.items()},
    NOT_JUDGED: "its recording cannot be evaluated under this policy",
}

#: What is assumed, with a range for `{}`.
ASSUMED: Mapping[Assumed, str] = {
    Assumed.REPEATS: "A continuation repeats {} tokens at the seam",
    Assumed.REASONING: f"Reasoning uses {{}} of the tokens that {_CAP} allows",
    Assumed.POSITION: "Cuts fall at characters {} of the text",
    Assumed.USAGE: "A call without exact usage spent {} output tokens",
    Assumed.WORDING: "The continued text takes {} tokens",
    Assumed.FAILURES: "{} of the calls fail",
    Assumed.INPUT: "A call that was never made reads {} input tokens",
    Assumed.SECONDS: "A call that was never made takes {} seconds",
    Assumed.TRUNCATION: "{} of the truncated answers are reported as ended",
    Assumed.OPERATORS: "The operator repeats {} of the recorded actions",
}

#: In place of a range of nothing to nothing.
ASSUMED_NOTHING: Mapping[Assumed, str] = {
    Assumed.WORDING: "The provider gives the same answers as in the recorded calls",
    Assumed.USAGE: "The provider reports every output token that it counts",
    Assumed.FAILURES: "The calls that failed in the recording fail again, and no others fail",
    Assumed.TRUNCATION: "The provider reports a truncated answer as truncated",
    Assumed.OPERATORS: "The operator repeats the recorded actions",
}

#: What one end of an assumed range says: for nothing of it, and for `{}`.
ENDS: Mapping[Assumed, tuple[str, str]] = {
    Assumed.REPEATS: ("nothing is repeated", "{} tokens are repeated at each seam"),
    Assumed.REASONING: ("reasoning uses no tokens", f"reasoning uses {{}} of the tokens that {_CAP} allows"),
    Assumed.USAGE: ("a call without exact usage spent nothing", "a call without exact usage spent {} tokens"),
    Assumed.WORDING: ("the text takes no tokens", "the continued text takes {} tokens"),
    Assumed.FAILURES: ("no call fails", "{} calls fail"),
    Assumed.INPUT: ("a new call reads nothing", "a new call reads {} input tokens"),
    Assumed.SECONDS: ("a new call takes no time", "a new call takes {} seconds"),
    Assumed.TRUNCATION: ("a truncated answer is reported as truncated", "a truncated answer is reported as ended"),
    Assumed.OPERATORS: ("the operator acts too late", "the operator acts in time"),
}


def why_in_words(why: Why | None) -> str:
    """Why a what-if is undecidable, as a part of a sentence; empty where it is not."""
    return "" if why is None else WHYS[why]


def undecided_in_words(why: str) -> str:
    """Why a stored turn is undecidable, as a part of a sentence. An unknown name stands for itself."""
    return UNDECIDED.get(why, why)


def assumption_shown(assumption: Assumption) -> dict[str, Any]:
    """The assumption as the API returns it."""
    return {
        "name": assumption.name.value,
        "low": assumption.low,
        "high": assumption.high,
        "source": assumption.source,
        "came_true": assumption.came_true,
    }


def assumption_in_words(assumption: Assumption) -> str:
    """`A continuation repeats 0–48 tokens at the seam (95th percentile of 41 stored calls)`."""
    source = f" ({assumption.source})" if assumption.source else ""
    words = ASSUMED if assumption.high else {**ASSUMED, **ASSUMED_NOTHING}
    return f"{words[assumption.name].format(_range(assumption))}{source}"


def assumption_and_share(assumption: Assumption) -> str:
    """The same, and where it often fails how often estimates came true all the same."""
    words, share = assumption_in_words(assumption), assumption.came_true
    if share is None:
        return words
    return f"{words}. In tests with providers for which this does not hold, {percent(share)} of the estimates came true"


def _range(assumption: Assumption) -> str:
    low, high = _rounded(assumption.low), _rounded(assumption.high)
    return low if low == high else f"{low}–{high}"


def _rounded(value: float) -> str:
    """Whole from ten on; a smaller amount with one digit, where it has one."""
    return number(round(value, 0 if value >= 10 else 1))


def if_low(assumes: Iterable[Assumption]) -> str:
    """What the smaller ends of the assumed ranges say: `If nothing is repeated`."""
    return _if(assumes, lambda assumption: assumption.low, "earlier")


def if_high(assumes: Iterable[Assumption]) -> str:
    """What the larger ends say: `If 48 tokens are repeated at each seam`."""
    return _if(assumes, lambda assumption: assumption.high, "later")


def _if(assumes: Iterable[Assumption], end: Callable[[Assumption], float], where: str) -> str:
    """Where a cut falls is a consequence of the others, and told only where it stands alone."""
    ranges = [assumption for assumption in assumes if assumption.low != assumption.high and assumption.name in ENDS]
    if not ranges:
        return f"If cuts fall {where} in the text"
    return f"If {' and '.join(_end(assumption.name, end(assumption)) for assumption in ranges)}"


def _end(name: Assumed, value: float) -> str:
    nothing, some = ENDS[name]
    return some.format(_rounded(value)) if value else nothing


def ending_in_words(columns: Mapping[str, Any], *, undecidable: bool) -> str:
    """How a turn of these columns ended, briefly: `completed in 4 calls`, `stopped at Max continuations`."""
    if undecidable:
        return "the recording ends before the turn does"
    calls = count(columns["attempts"], "call")
    if columns["status"] == "completed":
        return f"completed in {calls}"
    if columns["resource"]:
        return f"stopped at {limit_in_words(columns['resource'])} after {calls}"
    return f"{reason_label(columns['terminal_reason'])} after {calls}"
