"""What every word means that Bedrock sends as a stop reason: Converse's own, and those of models behind InvokeModel."""

from collections.abc import Mapping

from agentcore.providers.wire.reason_tracker import fold
from agentcore.reasons import MALFORMED_CALL_WORDS, NormalizedStopReason

_WORDS: Mapping[NormalizedStopReason, str] = {
    NormalizedStopReason.END_TURN: "end_turn stop_sequence stop finish complete endoftext",
    NormalizedStopReason.TOOL_CALL: "tool_use tool_call",
    NormalizedStopReason.MAX_TOKENS: "max_tokens length",
    NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED: "model_context_window_exceeded",
    NormalizedStopReason.SAFETY_BLOCKED: "guardrail_intervened content_filtered content_filter refusal error_toxic",
    NormalizedStopReason.PAUSED: "pause_turn compaction",
}

STOP_REASONS: Mapping[str, NormalizedStopReason] = {
    word: reason for reason, words in _WORDS.items() for word in words.split()
} | dict.fromkeys(MALFORMED_CALL_WORDS, NormalizedStopReason.TOOL_CALL)


def normalize(raw: str | None) -> NormalizedStopReason:
    """The table alone; UNKNOWN for no word and for words that stand for nothing of ours."""
    return STOP_REASONS.get(fold(raw), NormalizedStopReason.UNKNOWN) if raw else NormalizedStopReason.UNKNOWN
