"""The limits that may let a turn finish, the first to try first, each with the live re-runs that tried it.

Most often there is one. A cap that the provider, or the connection, does not allow is followed by continuations. Where
a re-run was complete with more continuations, and no larger cap was tried with success, those come first.

Also holds re-runs whose `max_tokens` the provider refused as too large, and the most that it says it allows.

Each vendor says it its own way, and none of them as data. OpenAI's and Qwen's words are those that users quote in issue
reports; the others are as their servers are known to say it, and none was recorded here. What fits no pattern still
counts as a refusal, without a number.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agentcore.reasons import TurnStatus
from agentcore.resource import resource_of
from agentcore.snapshot import Snapshot
from agentcore.values import replace
from dashboard.policies.suggestions.exhausted_limits import (
    RETRIED,
    ExhaustedLimit,
    continued_instead,
    exhausted_limit_of,
    of_cap,
)
from dashboard.policies.suggestions.limit_usage import UsageOf, usage_of
from dashboard.policies.suggestions.relatives import relatives_of, settings_changed
from dashboard.policies.suggestions.reruns import LimitTrial, reruns_of
from dashboard.policies.suggestions.suggestion import Goal, Lack, Suggestion
from dashboard.policies.suggestions.used_amounts import CONTINUING, goes_on_in_vain, is_total, is_whole, value_of
from dashboard.policies.suggestions.usual_limits import usual_limit
from dashboard.turns.models import Turn
from dashboard.turns.read_ahead import once

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


@dataclass(frozen=True, slots=True)
class TriedLimit:
    case: ExhaustedLimit
    reruns: tuple[LimitTrial, ...]  #: the oldest first

    @property
    def completed(self) -> bool:
        """Whether a re-run shows a value that is enough."""
        return any(tried.proves and tried.value > self.case.in_vain for tried in self.reruns)


def limit_trials(turn: Turn, last: Snapshot, usage: UsageOf = usage_of) -> tuple[TriedLimit, ...]:
    """Empty where the turn needs no limit raised, or none would have helped. A total that ended an answer comes after a
    larger cap only where a re-run was complete with that. `usage`: what turns like it used of a limit."""
    return once(("limits tried", turn.id, usage), lambda: _limit_trials(turn, last, usage))


def _limit_trials(turn: Turn, last: Snapshot, usage: UsageOf) -> tuple[TriedLimit, ...]:
    case = exhausted_limit_of(turn, last)
    if case is None:
        return ()
    first = _tried(case)
    if is_total(last, case.limit) and not first.completed:
        larger = _tried(of_cap(turn, last))
        return (larger, first) if larger.completed else (first,)
    if case.limit != "max_tokens" or case.goal is not Goal.FINISH:
        return (first,)
    first = replace(first, case=_bounded(first))
    if first.completed:
        return (first,)
    if (continued := _continued(turn, last)) is not None:
        return (continued, first)
    is_full = first.case.is_full or _is_hopeless(first.case, usage)
    if goes_on_in_vain(last):
        return () if is_full else (first,)
    if not (is_full or first.case.refused):
        return (first,)
    full_at = first.case.ceiling if is_full else None
    instead = continued_instead(turn, last)
    instead = replace(instead, refused=first.case.refused, most=first.case.most, full_at=full_at)
    return (_tried(instead),) if is_full else (first, _tried(instead))


def _is_hopeless(case: ExhaustedLimit, usage: UsageOf) -> bool:
    """Whether other turns needed more than all calls may request that the turn is allowed for one answer: to try as
    much as one call may request would be of no use."""
    if case.ceiling is None or case.turn.status == TurnStatus.COMPLETED or is_whole(case.last):
        return False
    known = usual_limit(case, usage)
    if isinstance(known, Suggestion):
        return False
    continued = case.last.limits.max_continuations
    if known.usual is not None:
        return known.usual.median > case.ceiling * (1 + continued)
    return known.lack is Lack.CEILING and not continued


def _continued(turn: Turn, last: Snapshot) -> TriedLimit | None:
    """What held continuations or envelope retries back, where a re-run was complete with more of it and nothing else;
    the newest one."""
    for other in reversed(relatives_of(turn)):
        given = settings_changed(turn, other) if other.status == TurnStatus.COMPLETED else {}
        if given and all(_is_more(name, value, last) for name, value in given.items()):
            tried = _tried(_of_given(turn, last, given))
            if tried.completed:
                return tried
    return None


def _is_more(name: str, value: Any, last: Snapshot) -> bool:
    bounds = (*CONTINUING, RETRIED) if resource_of(last) == RETRIED else CONTINUING
    stood = value_of(last, name) if name in bounds else None
    return stood is not None and (value is None or value > stood)


def _of_given(turn: Turn, last: Snapshot, given: Mapping[str, Any]) -> ExhaustedLimit:
    """The limit that stopped the turn, where that is one of those that were given; else the first of them."""
    stopped = resource_of(last)
    limit = stopped if stopped is not None and stopped in given else next(name for name in CONTINUING if name in given)
    rest = {name: value for name, value in given.items() if name != limit}
    return ExhaustedLimit(turn, last, limit, together={"limits": rest} if rest else None)


def _tried(case: ExhaustedLimit) -> TriedLimit:
    """With each limit that ended a re-run in place of the one that was tried, which the next re-run raises, too."""
    reruns = reruns_of(case)
    while (more := _ended_otherwise(case, reruns)) not in (None, case):
        case = more
        reruns = reruns_of(case)
    return TriedLimit(replace(case, in_vain=in_vain(reruns)), reruns)


def _ended_otherwise(case: ExhaustedLimit, reruns: tuple[LimitTrial, ...]) -> ExhaustedLimit | None:
    """By the newest re-run; None where it tells of the limit itself."""
    newest = next((tried for tried in reversed(reruns) if not tried.is_original), None)
    bound = newest.bound_otherwise if newest is not None else None
    if newest is None or bound is None:
        return None
    stood = newest.beside.get(bound, value_of(case.last, bound))
    return None if stood is None else case.ended_by(bound, stood)


def in_vain(reruns: Iterable[LimitTrial]) -> int:
    """The largest value that was not enough; 0 where there is none."""
    return max((tried.value for tried in reruns if tried.in_vain), default=0)


def _bounded(tried: TriedLimit) -> ExhaustedLimit:
    """With what a provider has refused."""
    refusal = refusal_of(tried.reruns)
    return tried.case if refusal is None else replace(tried.case, refused=refusal.value, most=refusal.most)
