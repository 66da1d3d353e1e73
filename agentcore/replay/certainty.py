"""How certain a what-if is: the four certainties of design §3.9, and the assumptions an estimate takes, as data."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from agentcore.argument_validation import strict
from agentcore.values import quickly_made


class Certainty(StrEnum):
    """The certainty of one step of a what-if, or of the whole. Ordered from the strongest to the weakest."""

    RECORDED = "recorded"  #: the same request under the same cap: the recorded answer or failure itself
    CERTAIN = "certain"  #: it follows for any provider that generates the same content
    ESTIMATED = "estimated"  #: it depends on assumptions, and both ends of each assumed range have the same ending
    UNDECIDABLE = "undecidable"  #: the recording does not determine it

    @property
    def rank(self) -> int:
        """0 for the strongest, 3 for the weakest."""
        return _ORDER[self]


_ORDER = {certainty: rank for rank, certainty in enumerate(Certainty)}


def weakest(certainties: Iterable[Certainty]) -> Certainty:
    """The weakest of these; `RECORDED` where there are none."""
    return max(certainties, key=_ORDER.__getitem__, default=Certainty.RECORDED)


class Assumed(StrEnum):
    """What an estimate may assume. The value is the assumption's name in the API."""

    REPEATS = "repeats"  #: tokens that a continuation repeats at the seam, per continuation
    REASONING = "reasoning"  #: tokens of reasoning in a call that was never made, per call
    POSITION = "position"  #: characters of text at which a truncated call ends
    #: output tokens of a call whose usage was not reported or not exact; also whether unreported tokens count
    USAGE = "usage"
    WORDING = "wording"  #: tokens that text generated after a hint takes in one call
    FAILURES = "failures"  #: failed calls, if other calls are made than were recorded
    INPUT = "input_tokens"  #: input tokens of a call that was never made
    SECONDS = "seconds"  #: duration of a call that was never made, in seconds
    TRUNCATION = "truncation"  #: truncated answers that are reported as ended: 0 for none, 1 for all
    OPERATORS = "operators"  #: actions of operators that are repeated: 0 for none, 1 for all


class Why(StrEnum):
    """Why a what-if is undecidable. The value is the reason's name in the API."""

    ASSUMPTIONS = "assumptions"  #: the two ends of the assumed ranges have different endings
    MORE_TEXT = "more_text"  #: the text that the model would have written beyond the recording
    ITERATION = "iteration"  #: no call of this iteration was recorded
    OTHER_REQUEST = "other_request"  #: the answer to a request that no recorded call sent
    ANOTHER_ANSWER = "another_answer"  #: the answer to a request that is sent more often than it was recorded
    REPAIR = "repair"  #: the answer to a tool-call repair that was never requested
    FAILED_CALL = "failed_call"  #: the rest of a call that failed or was cancelled
    TIMED_OUT = "timed_out"  #: the rest of a call that max_seconds ended
    REFUSAL = "refusal"  #: whether a request would be refused under another limit
    CUT_BELOW_CAP = "cut_below_cap"  #: the point of truncation of an answer that was truncated below max_tokens
    OUTPUT_AT_CAP = "output_at_cap"  #: whether a “complete” answer that used every token was truncated
    TOOL_CALLS = "tool_calls"  #: the full text of tool calls that were truncated or broken
    TOOL_RESULTS = "tool_results"  #: the results of tool calls that were never run
    TOOL_SECONDS = "tool_seconds"  #: the results of tools that do not end within max_seconds
    WINDOW = "context_window"  #: whether a call fits into the context window
    OPERATOR = "operator"  #: what an operator would have done with another text
    BLOCKED = "blocked"  #: the rest of an answer that was blocked at its end
    NOT_BEGUN = "not_begun"  #: the recording has no prompt
    WORK = "work"  #: the computation exceeds its bound


#: An assumption about the provider that neither the recording nor a stored call proves.
UNTOLD = "no call of this iteration was cut at its limit, so tokens that count towards it may be unreported"
#: The same, about whether the provider reports truncations.
CUT_AS_TOLD = "no truncation was recorded, so it is not known whether this provider reports one as such"
#: The share of estimates that came true in our examination for providers that violate the assumption
#: (docs/explanation/certainty.md).
EXAMINED: Mapping[str, float] = {UNTOLD: 0.89, CUT_AS_TOLD: 0.67}


@quickly_made
@dataclass(frozen=True, slots=True)
class Assumption:
    """One assumption of an estimate: a range, and where it comes from. The unit is that of its name (`Assumed`)."""

    name: Assumed  #: what is assumed
    low: float  #: the end at which the turn needs least
    high: float  #: the end at which it needs most
    source: str  #: in words, such as "largest of this recording" or "95th percentile of 41 stored calls"

    @property
    def came_true(self) -> float | None:
        """The share of estimates that came true in our examination where this does not hold; None where at least
        nine in ten did."""
        return EXAMINED.get(self.source)


@strict()
@dataclass(frozen=True, slots=True)
class Observed:
    """One figure of a model's stored calls, per continuation."""

    p95: float  #: the 95th percentile, in tokens
    calls: int  #: how many stored calls it was taken from


@strict()
@dataclass(frozen=True, slots=True)
class Pace:
    """How long the stored calls of a model took: `first` + tokens × `token` seconds."""

    first: float  #: seconds until the first token of an answer, the median
    token: float  #: seconds of each output token after that, the median


@strict()
@dataclass(frozen=True, slots=True)
class Experience:
    """Evidence from the stored calls of a model. Figures from fewer than `LEAST_CALLS` calls are not used."""

    repeats: Observed | None = None  #: tokens repeated at the seam
    reasoning: Observed | None = None  #: tokens of reasoning in a continuation
    counts_reasoning: bool | None = None  #: whether reasoning counts towards max_tokens; None where no call shows it
    #: whether calls are truncated exactly at their reported usage; None: too few calls show it
    reports_all: bool | None = None
    unreported: Observed | None = None  #: tokens that counted towards the cap of a truncated call and were not reported
    tells_cuts: bool | None = None  #: whether a truncated answer is reported as one; None if no call shows it
    pace: Pace | None = None  #: None: the calls of the recording alone tell how long a call takes


LEAST_CALLS = 20  #: The minimum number of stored calls for a figure to narrow an assumption.
