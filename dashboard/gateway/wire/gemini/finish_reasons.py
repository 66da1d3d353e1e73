"""Maps the end of a turn to Gemini's `finishReason`. Pure.

| chat completions would say | the model stopped              | `finishReason`                                |
|----------------------------|--------------------------------|-----------------------------------------------|
| `stop`, `tool_calls`       |                                | `STOP`                                        |
| `length`                   |                                | `MAX_TOKENS`                                  |
| `content_filter`           | by a word of Gemini's          | that word, such as `PROHIBITED_CONTENT`       |
| `content_filter`           | before it began, by its prompt | none: `promptFeedback.blockReason` says it    |
| `content_filter`           | otherwise                      | `SAFETY`                                      |
"""

from collections.abc import Mapping

from agentcore.messages import ChatResponse
from dashboard.gateway.wire.answer_values import EndedTurn
from dashboard.gateway.wire.finish_reasons import FILTERED, FUNCTION_CALL, LENGTH, STOP, TOOL_CALLS

WORDS: Mapping[str, str] = {
    STOP: "STOP",
    TOOL_CALLS: "STOP",
    FUNCTION_CALL: "STOP",
    LENGTH: "MAX_TOKENS",
    FILTERED: "SAFETY",
}
#: Gemini's own words for what it withholds.
_WITHHELD = frozenset(
    {
        "BLOCKLIST",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
        "IMAGE_SAFETY",
        "LANGUAGE",
        "MODEL_ARMOR",
        "PROHIBITED_CONTENT",
        "RECITATION",
        "SAFETY",
        "SPII",
    }
)
_PROMPT = "promptFeedback"


def finish_reason(ended: EndedTurn) -> str:
    """The word that the caller is told."""
    if blocked := block_reason(ended):
        return blocked
    raw = ended.response.raw_stop_reason if ended.response else None
    is_theirs = ended.said.finish_reason == FILTERED and raw in _WITHHELD
    return raw if is_theirs and raw else WORDS[ended.said.finish_reason]


def block_reason(ended: EndedTurn) -> str:
    """The word by which Gemini blocked the prompt, so that there is no candidate; empty: it did not."""
    if ended.said.finish_reason != FILTERED or ended.response is None:
        return ""
    return _blocked_by(ended.response)


def _blocked_by(response: ChatResponse) -> str:
    return next((seen.raw or "" for seen in response.reason_trail if seen.source == _PROMPT), "")
