import pytest

from agentcore.providers import get_provider
from agentcore.providers.anthropic.stop_reasons import STOP_REASONS as ANTHROPIC
from agentcore.providers.bedrock.stop_reasons import STOP_REASONS as BEDROCK
from agentcore.reasons import NormalizedStopReason as Reason
from tests.agentcore.providers.wires import answer, answer_events, converse, message, message_stream, read, said
from tests.together import together

#: Every word of providers.md §1.6, and those of servers that imitate the API.
MESSAGES = {
    "end_turn": Reason.END_TURN,
    "stop_sequence": Reason.END_TURN,
    "stop": Reason.END_TURN,
    "tool_use": Reason.TOOL_CALL,
    "tool_calls": Reason.TOOL_CALL,
    "max_tokens": Reason.MAX_TOKENS,
    "length": Reason.MAX_TOKENS,
    "model_context_window_exceeded": Reason.CONTEXT_WINDOW_EXCEEDED,
    "refusal": Reason.SAFETY_BLOCKED,
    "content_filter": Reason.SAFETY_BLOCKED,
    "content_filtered": Reason.SAFETY_BLOCKED,
    "guardrail_intervened": Reason.SAFETY_BLOCKED,
    "sensitive": Reason.SAFETY_BLOCKED,
    "pause_turn": Reason.PAUSED,
    "compaction": Reason.PAUSED,
    "cancelled": Reason.CANCELLED,
    "abort": Reason.CANCELLED,
    "aborted": Reason.CANCELLED,
}
#: Every word of providers.md §1.8, InvokeModel's variants included.
CONVERSE = {
    "end_turn": Reason.END_TURN,
    "stop_sequence": Reason.END_TURN,
    "stop": Reason.END_TURN,
    "finish": Reason.END_TURN,
    "complete": Reason.END_TURN,
    "endoftext": Reason.END_TURN,
    "tool_use": Reason.TOOL_CALL,
    "tool_call": Reason.TOOL_CALL,
    "malformed_tool_use": Reason.TOOL_CALL,
    "malformed_model_output": Reason.TOOL_CALL,
    "malformed_function_call": Reason.TOOL_CALL,
    "max_tokens": Reason.MAX_TOKENS,
    "length": Reason.MAX_TOKENS,
    "model_context_window_exceeded": Reason.CONTEXT_WINDOW_EXCEEDED,
    "guardrail_intervened": Reason.SAFETY_BLOCKED,
    "content_filtered": Reason.SAFETY_BLOCKED,
    "content_filter": Reason.SAFETY_BLOCKED,
    "refusal": Reason.SAFETY_BLOCKED,
    "error_toxic": Reason.SAFETY_BLOCKED,
    "pause_turn": Reason.PAUSED,
    "compaction": Reason.PAUSED,
}
UNKNOWN = ["a_new_word", "error", "failed", "terminated", "invalid_query", "max_tool_invocations", "", " "]


def test_every_stop_reason_is_listed():
    assert (ANTHROPIC, BEDROCK) == (MESSAGES, CONVERSE)


@together
@pytest.mark.parametrize(
    ("provider", "word", "reason"),
    [("anthropic", *pair) for pair in MESSAGES.items()] + [("bedrock", *pair) for pair in CONVERSE.items()],
)
def test_a_stop_reason_is_matched_in_any_case_and_kept_verbatim(provider, word, reason):
    normalize = get_provider(provider).normalize
    assert {normalize(word), normalize(word.upper()), normalize(f" {word}\n")} == {reason}
    raw = word.upper()
    whole = (
        message({"type": "text", "text": "x"}, reason=raw)
        if provider == "anthropic"
        else answer({"text": "x"}, reason=raw)
    )
    assert get_provider(provider).decode_response(whole).raw_stop_reason == raw


@together
@pytest.mark.parametrize("provider", ["anthropic", "bedrock"])
@pytest.mark.parametrize("word", UNKNOWN)
def test_an_unmapped_stop_reason_is_kept(provider, word):
    assert get_provider(provider).normalize(word) is Reason.UNKNOWN
    assert get_provider(provider).normalize(None) is Reason.UNKNOWN
    streams = {
        "anthropic": message_stream(said(0, "Hello"), reason=word),
        "bedrock": converse(*answer_events({"contentBlockDelta": {"delta": {"text": "Hello"}}}, reason=word)),
    }
    response = read(provider, streams[provider])
    assert (response.stop_reason, response.raw_stop_reason) == (Reason.UNKNOWN, word)
    assert (response.text, response.incomplete_stream, response.error) == ("Hello", False, None)
