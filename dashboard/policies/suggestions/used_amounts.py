"""How much a turn used of each limit, and what the limit stood at when it ended."""

from collections.abc import Callable, Mapping

from agentcore.reasons import NormalizedStopReason
from agentcore.resource import APPROVAL_SECONDS
from agentcore.snapshot import Snapshot
from dashboard.policies.suggestions.suggestion import Number


def approval_seconds(last: Snapshot) -> Number:
    """The time limit of an approval, which is also what a turn waited whose approval expired; 0: no limit."""
    approvals = last.setup.approvals if last.setup else None
    return (approvals.seconds if approvals else None) or 0


def _longest_known(last: Snapshot) -> int:
    """Tokens that the answer is known to need at least. A structured answer is requested whole again, with a larger
    cap, so what was truncated before is no part of it."""
    structured = last.setup is not None and last.setup.envelope_schema is not None
    if not structured or last.model_stop_reason != NormalizedStopReason.MAX_TOKENS or last.response is None:
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
