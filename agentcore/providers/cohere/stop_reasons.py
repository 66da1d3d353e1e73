"""What every word means that Cohere sends as a finish reason, in both versions of its chat API."""

from collections.abc import Mapping

from agentcore.providers.wire.reason_tracker import fold
from agentcore.reasons import NormalizedStopReason

#: `ERROR` and `TIMEOUT` mean nothing of ours: they are unknown, and kept. `MAX_TOKENS` covers a full context too.
STOP_REASONS: Mapping[str, NormalizedStopReason] = {
    "complete": NormalizedStopReason.END_TURN,
    "stop_sequence": NormalizedStopReason.END_TURN,
    "tool_call": NormalizedStopReason.TOOL_CALL,
    "max_tokens": NormalizedStopReason.MAX_TOKENS,
    "error_limit": NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED,
    "error_toxic": NormalizedStopReason.SAFETY_BLOCKED,
    "user_cancel": NormalizedStopReason.CANCELLED,
}


def normalize(raw: str | None) -> NormalizedStopReason:
    """The table alone; UNKNOWN for no word and for words that stand for nothing of ours."""
    return STOP_REASONS.get(fold(raw), NormalizedStopReason.UNKNOWN) if raw else NormalizedStopReason.UNKNOWN
