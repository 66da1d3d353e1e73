"""Re-runs whose `max_tokens` the provider refused as too large, and the most that it says it allows.

Each vendor says it its own way, and none of them as data. OpenAI's and Qwen's words are those that users quote in issue
reports; the others are as their servers are known to say it, and none was recorded here. What fits no pattern still
counts as a refusal, without a number.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from agentcore.reasons import TurnStatus
from dashboard.policies.suggestions.reruns import LimitTrial

#: By who says so. `most`: the largest cap that is allowed; `below`: the smallest that is not.
PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (who, re.compile(words, re.IGNORECASE))
    for who, words in (
        ("OpenAI, Azure", r"supports at most (?P<most>\d+) (?:completion|output) tokens"),
        ("OpenAI Responses", r"expected a value <= (?P<most>\d+)"),
        ("Anthropic", r"> (?P<most>\d+), which is the maximum allowed number of output tokens"),
        ("Gemini, Vertex AI", r"supported range is from \d+ \(inclusive\) to (?P<below>\d+) \(exclusive\)"),
        ("Gemini, Vertex AI", r"supported range is from \d+ \(inclusive\) to (?P<most>\d+) \(inclusive\)"),
        ("Bedrock", r"exceeds the model limit of (?P<most>\d+)"),
        ("Bedrock", r"is not less or equal to (?P<most>\d+)"),
        ("DeepSeek, Qwen", r"range of max_tokens (?:is|should be) \[\d+, ?(?P<most>\d+)\]"),
        ("Groq, Cohere, Text Generation Inference", r"must be (?:less than or equal to|<=|at most) `?(?P<most>\d+)"),
        ("vLLM", r"\(\d+ > (?P<window>\d+) - (?P<input>\d+)\)"),
    )
)
#: What a message calls the cap by which it refuses a request.
_CAP = re.compile(r"max_?(?:completion_?|output_?|new_?)?tokens|maximum tokens|num_predict", re.IGNORECASE)
#: What such a message may be about instead: the name of the field, the balance, the rate.
_OTHERWISE = re.compile(r"unsupported|not supported|unrecognized|afford|credit|quota|per min|rate limit", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CapRefusal:
    """`value`: the smallest cap that was refused; `most`: the largest that the provider names as allowed; None: it
    names none."""

    value: int
    most: int | None = None


def refusal_in(message: str, value: int) -> CapRefusal | None:
    """What an error says of a cap of so many tokens; None where it refuses something else."""
    if _OTHERWISE.search(message) or not _CAP.search(message):
        return None
    named = [most for _, words in PATTERNS if (found := words.search(message)) and (most := _most(found)) < value]
    return CapRefusal(value, next((most for most in named if most >= 1), None))


def _most(found: re.Match[str]) -> int:
    told = {name: int(digits) for name, digits in found.groupdict().items()}
    if "window" in told:
        return told["window"] - told["input"]
    return told["below"] - 1 if "below" in told else told["most"]


def refusal_of(reruns: Iterable[LimitTrial]) -> CapRefusal | None:
    """The least that was refused of `max_tokens`, unless as much was answered otherwise."""
    tried = tuple(reruns)
    refused = [found for each in tried if (found := _refused(each)) is not None]
    answered = max((each.value for each in tried if each.in_vain or each.completed), default=0)
    standing = [found for found in refused if found.value > answered]
    most = min((found.most for found in standing if found.most is not None), default=None)
    least = min((found.value for found in standing), default=None)
    return None if least is None else CapRefusal(least, most)


def _refused(trial: LimitTrial) -> CapRefusal | None:
    ended = trial.turn
    failed = ended.status == TurnStatus.FAILED and ended.terminal_reason == "provider_error"
    unanswered = trial.limit == "max_tokens" and failed and not ended.output_tokens
    return refusal_in(ended.error_message, trial.value) if unanswered else None
