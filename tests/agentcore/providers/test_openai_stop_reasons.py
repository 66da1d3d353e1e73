import pytest

from agentcore.providers import get_provider
from agentcore.reasons import NormalizedStopReason as Reason
from tests.together import together

WORDS = {
    Reason.END_TURN: [
        "stop", "end_turn", "stop_sequence", "STOP", "COMPLETE", "STOP_SEQUENCE", "eos", "eos_token", "completed",
        "complete", "FINISH", "REASON_STOP",
    ],
    Reason.TOOL_CALL: [
        "tool_calls", "function_call", "tool_use", "TOOL_CALL", "REASON_TOOL_CALLS", "requires_action",
        "MALFORMED_FUNCTION_CALL", "malformed_tool_use", "malformed_model_output",
    ],
    Reason.MAX_TOKENS: [
        "length", "max_tokens", "MAX_TOKENS", "max_output_tokens", "limit", "LENGTH", "REASON_MAX_LEN", "CONTINUATION",
        "requires_continuation",
    ],
    Reason.CONTEXT_WINDOW_EXCEEDED: ["model_context_window_exceeded", "model_length", "REASON_MAX_CONTEXT"],
    Reason.SAFETY_BLOCKED: [
        "content_filter", "content_filtered", "guardrail_intervened", "refusal", "SAFETY", "RECITATION", "LANGUAGE",
        "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION",
        "MODEL_ARMOR", "JAILBREAK", "ESCALATION", "sensitive", "ERROR_TOXIC", "content_policy_violation",
        "invalid_prompt", "bio_policy", "misalignment_policy_violation", "cyber_policy",
    ],
    Reason.CANCELLED: ["cancelled", "abort", "aborted", "USER_CANCEL", "steered"],
    Reason.PAUSED: ["pause_turn", "compaction"],
    Reason.UNKNOWN: [
        "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE", "MALFORMED_RESPONSE", "OTHER",
        "NO_IMAGE", "IMAGE_OTHER", "PUP_LIMITED_DISABLED", "FINISH_REASON_UNSPECIFIED", "error", "ERROR", "TIMEOUT",
        "REASON_TIME_LIMIT", "network_error", "insufficient_system_resource", "repetition", "max_messages",
        "budget_exceeded", "failed", "queued", "in_progress", "terminated", "", "  ", "stopp", "42", "ünknown",
    ],
}  # fmt: skip
MALFORMED = {"malformed_function_call", "malformed_tool_use", "malformed_model_output"}
TABLE = [(word, reason) for reason, words in WORDS.items() for word in words]


@together
@pytest.mark.parametrize(("word", "reason"), TABLE)
def test_every_stop_reason_is_mapped_as_in_the_table(word, reason):
    normalize = get_provider("openai").normalize
    assert normalize(word) is reason
    assert normalize(f" {word.upper()}\n") is reason
    assert normalize(word.lower()) is reason


def test_a_missing_stop_reason_is_unknown():
    assert get_provider("openai").normalize(None) is Reason.UNKNOWN


@together
@pytest.mark.parametrize(("word", "reason"), [row for row in TABLE if row[0].strip()])
def test_every_stop_reason_is_kept_verbatim(word, reason):
    payload = {"choices": [{"finish_reason": word, "message": {"content": "text"}}]}
    response = get_provider("openai").decode_response(payload)
    assert response.raw_stop_reason == word
    assert response.reason_trail[0].normalized is reason
    malformed = response.broken_tool_calls
    assert response.stop_reason is (Reason.END_TURN if reason is Reason.TOOL_CALL and not malformed else reason)
    assert bool(malformed) is (word.lower() in MALFORMED)
