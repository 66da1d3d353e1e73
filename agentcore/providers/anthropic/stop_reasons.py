"""What every word means that the Messages API sends as a stop reason, and those of servers that imitate it."""

from collections.abc import Mapping

from agentcore.providers.wire.reason_tracker import fold
from agentcore.reasons import NormalizedStopReason

_WORDS: Mapping[NormalizedStopReason, str] = {
    NormalizedStopReason.END_TURN: "end_turn stop_sequence stop",
    NormalizedStopReason.TOOL_CALL: "tool_use tool_calls",
    NormalizedStopReason.MAX_TOKENS: "max_tokens length",
    NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED: "model_context_window_exceeded",
    NormalizedStopReason.SAFETY_BLOCKED: "refusal content_filter content_filtered guardrail_intervened sensitive",
    NormalizedStopReason.CANCELLED: "cancelled abort aborted",
    NormalizedStopReason.PAUSED: "pause_turn compaction",
}

STOP_REASONS: Mapping[str, NormalizedStopReason] = {
    word: reason for reason, words in _WORDS.items() for word in words.split()
}


def normalize(raw: str | None) -> NormalizedStopReason:
    """The table alone; UNKNOWN for no word and for words that stand for nothing of ours."""
    return STOP_REASONS.get(fold(raw), NormalizedStopReason.UNKNOWN) if raw else NormalizedStopReason.UNKNOWN
