"""What every word means that an OpenAI-compatible server sends as a stop reason.

Gateways pass on the words of whoever stands behind them (OpenRouter's `native_finish_reason`), so all dialects' words
are here; `eos`, `limit` and `word` are llama.cpp's own. Words that mean nothing of ours (`error`, `repetition`,
`other` …) are absent: they are unknown, and kept. Source: providers.md §0.1.
"""

from collections.abc import Mapping

from agentcore.providers.wire.reason_tracker import fold
from agentcore.reasons import MALFORMED_CALL_WORDS, NormalizedStopReason

_WORDS: Mapping[NormalizedStopReason, str] = {
    NormalizedStopReason.END_TURN: (
        "stop end_turn stop_sequence complete completed eos eos_token word finish reason_stop"
    ),
    NormalizedStopReason.TOOL_CALL: "tool_calls function_call tool_use tool_call reason_tool_calls requires_action",
    NormalizedStopReason.MAX_TOKENS: (
        "length max_tokens max_output_tokens limit reason_max_len continuation requires_continuation"
    ),
    NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED: "model_context_window_exceeded model_length reason_max_context",
    NormalizedStopReason.SAFETY_BLOCKED: (
        "content_filter content_filtered guardrail_intervened refusal safety recitation language blocklist "
        "prohibited_content spii image_safety image_prohibited_content image_recitation model_armor jailbreak "
        "escalation sensitive error_toxic content_policy_violation invalid_prompt bio_policy cyber_policy "
        "misalignment_policy_violation"
    ),
    NormalizedStopReason.CANCELLED: "cancelled abort aborted user_cancel steered",
    NormalizedStopReason.PAUSED: "pause_turn compaction",
}

STOP_REASONS: Mapping[str, NormalizedStopReason] = {
    word: reason for reason, words in _WORDS.items() for word in words.split()
} | dict.fromkeys(MALFORMED_CALL_WORDS, NormalizedStopReason.TOOL_CALL)


def normalize(raw: str | None) -> NormalizedStopReason:
    """The table alone; UNKNOWN for no word and for words that stand for nothing of ours."""
    return STOP_REASONS.get(fold(raw), NormalizedStopReason.UNKNOWN) if raw else NormalizedStopReason.UNKNOWN
