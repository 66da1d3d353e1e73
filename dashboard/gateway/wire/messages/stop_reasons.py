"""Maps the end of a turn to Anthropic's `stop_reason`. Pure.

| chat completions would say | the model stopped         | `stop_reason`                           |
|----------------------------|---------------------------|-----------------------------------------|
| `stop`                     | by a stop string          | `stop_sequence`, where the provider says so |
| `stop`                     | for any other reason      | `end_turn`                              |
| `tool_calls`               |                           | `tool_use`                              |
| `length`                   | `context_window_exceeded` | `model_context_window_exceeded`         |
| `length`                   | for any other reason      | `max_tokens`                            |
| `content_filter`           |                           | `refusal`                               |
"""

from collections.abc import Mapping

from agentcore.reasons import NormalizedStopReason
from dashboard.gateway.wire.answer_values import EndedTurn
from dashboard.gateway.wire.finish_reasons import FILTERED, FUNCTION_CALL, LENGTH, STOP, TOOL_CALLS

STOP_SEQUENCE, REFUSAL = "stop_sequence", "refusal"
WORDS: Mapping[str, str] = {
    STOP: "end_turn",
    TOOL_CALLS: "tool_use",
    FUNCTION_CALL: "tool_use",
    LENGTH: "max_tokens",
    FILTERED: REFUSAL,
}
_WINDOW = "model_context_window_exceeded"


def stop_reason(ended: EndedTurn) -> str:
    """The word that the caller is told."""
    reason, response = ended.said.finish_reason, ended.response
    if response is not None and reason == STOP and (response.raw_stop_reason or "").casefold() == STOP_SEQUENCE:
        return STOP_SEQUENCE
    window = NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED
    if response is not None and reason == LENGTH and response.stop_reason is window:
        return _WINDOW
    return WORDS[reason]
