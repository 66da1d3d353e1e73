"""How much a turn used of each limit, and what the limit stood at when it ended."""

from collections.abc import Callable, Mapping
from typing import Any

from agentcore.messages import CallIssue
from agentcore.reasons import NormalizedStopReason
from agentcore.resource import APPROVAL_SECONDS, IDLE, resource_of
from agentcore.snapshot import Snapshot
from dashboard.policies.suggestions.suggestion import Number

LARGER = 4  #: times what was used: a live try that should leave no doubt
#: What bounds how often a cut answer is continued. A larger cap needs no continuation, so none of them holds it back.
CONTINUING = ("max_continuations", "max_total_completion_tokens", "max_total_tokens")
#: Stands among the limits for the tokens of calls that returned tool calls: a cap that cut one is estimated by others.
CALLS = "tool_calls"


def approval_seconds(last: Snapshot) -> Number:
    """The time limit of an approval, which is also what a turn waited whose approval expired; 0: no limit."""
    approvals = last.setup.approvals if last.setup else None
    return (approvals.seconds if approvals else None) or 0


def is_cut_call(last: Snapshot) -> bool:
    """Whether the last call of a turn returned a truncated tool call."""
    calls = last.response.broken_tool_calls if last.response is not None else ()
    return last.repairing is CallIssue.TRUNCATED or any(call.issue is CallIssue.TRUNCATED for call in calls)


def is_whole(last: Snapshot) -> bool:
    """Whether what was cut is requested again whole: a tool call or a structured answer is never continued."""
    return is_cut_call(last) or (last.setup is not None and last.setup.envelope_schema is not None)


def began_anew(last: Snapshot) -> bool:
    """Whether the last answers added nothing and had text of their own: no continuation helps."""
    assert last.end is not None, "asked of ended turns"
    return last.end.terminal_reason == "repetition" and not last.eaten


def goes_on_in_vain(last: Snapshot) -> bool:
    """Whether the last answers added nothing, reasoning or text: a continuation more adds nothing either."""
    assert last.end is not None, "asked of ended turns"
    return last.end.terminal_reason == "repetition" or last.idle_answers >= IDLE


def _longest_known(last: Snapshot) -> int:
    """Tokens that the answer is known to need at least. A structured answer and a tool call are requested whole again,
    with a larger cap, so what was truncated before is no part of them; nor are answers that added nothing."""
    if last.end is not None and began_anew(last):
        each = (last.response.usage.output_tokens if last.response and last.response.usage else 0) or last.sent_cap or 0
        return max(last.spent.output_tokens - last.idle_answers * each, min(each, last.spent.output_tokens))
    if not is_whole(last) or last.model_stop_reason != NormalizedStopReason.MAX_TOKENS or last.response is None:
        return last.spent.output_tokens
    usage = last.response.usage
    return usage.output_tokens if usage and usage.output_tokens else last.sent_cap or last.spent.output_tokens


#: What a turn used of each limit, by its last snapshot.
USED: Mapping[str, Callable[[Snapshot], Number]] = {
    "max_tokens": _longest_known,
    "max_continuations": lambda last: last.spent.continuations,
    "max_total_completion_tokens": lambda last: last.spent.output_tokens,
    "max_total_output_chars": lambda last: last.spent.output_chars,
    "max_tool_repair_attempts": lambda last: last.spent.tool_repairs,
    "max_steps": lambda last: last.iteration,
    "max_total_tokens": lambda last: last.spent.total_tokens,
    "max_seconds": lambda last: last.spent.seconds,
    "schema_rounds": lambda last: last.spent.envelope_retries,
    "max_retries": lambda last: last.spent.consecutive_failures,
    APPROVAL_SECONDS: approval_seconds,
}


def used_of(limit: str, last: Snapshot) -> int:
    """How much of a limit a turn used, by its last snapshot. Whole units, rounded up."""
    return -int(-USED[limit](last) // 1)


def value_of(last: Snapshot, limit: str) -> Number | None:
    """What a limit of the policy stood at in the end; None: no limit."""
    value: Number | None = getattr(last.limits, limit)
    return last.completion_budget if limit == "max_total_completion_tokens" else value


def is_at_least(given: Any, asked: Any) -> bool:
    """Of one setting; None: no limit."""
    if None in (given, asked) or isinstance(asked, str):
        return given is None or bool(given == asked)
    return bool(given >= asked)


def is_cut_envelope(last: Snapshot) -> bool:
    """Whether the turn ended with a structured answer that its cap truncated, and no envelope retry was left."""
    assert last.end is not None, "asked of ended turns"
    was_cut = last.model_stop_reason == NormalizedStopReason.MAX_TOKENS and not last.cut_below_cap
    truncated = last.end.terminal_reason == "envelope_truncation_unrecoverable"
    return was_cut and truncated and resource_of(last) == "schema_rounds"


def is_total(last: Snapshot, limit: str | None) -> bool:
    """Whether it is a total of tokens that somebody has set. That has to be raised: a larger cap would spend more than
    was to be spent."""
    return limit in CONTINUING[1:] and getattr(last.limits, limit) is not None


def larger(last: Snapshot, limit: str, times: int = 1) -> int | None:
    """Clearly more than a limit's value; None where there is no limit."""
    value = value_of(last, limit)
    return None if value is None else int(share(limit, LARGER * times) * value)


def share(limit: str, times: Number) -> Number:
    """How many times as much of a limit so many times the answer takes. Each call is sent all answers before it again,
    so input grows with the square of the calls."""
    return times**2 if limit == "max_total_tokens" else times


def is_short(last: Snapshot, limit: str, times: int) -> bool:
    """Whether `LARGER` times what was used of a limit is all that it allows, or more: a continuation may repeat some of
    the text. The first call of an answer is no continuation, and takes its share of the text."""
    value = last.completion_budget if limit == "max_total_completion_tokens" else getattr(last.limits, limit)
    first = 1 if limit == "max_continuations" else 0
    return value is not None and LARGER * times * (used_of(limit, last) + first) - first >= value


def wider(*beside: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The settings beside a limit, of each limit the largest value; None where there are none."""
    whole: dict[str, Any] = {}
    limits: dict[str, Any] = {}
    for settings in filter(None, beside):
        whole |= settings
        for name, value in (settings.get("limits") or {}).items():
            told = (value, limits.get(name, value))
            limits[name] = None if None in told else max(told)
    return ({**whole, "limits": limits} if limits else whole) or None
