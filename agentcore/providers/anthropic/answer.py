"""One answer of the Messages API, gathered from its events or its whole body by the same rules.

Also holds token counts of the Messages API. A stream tells them twice, cumulatively: each later count replaces an
earlier.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from agentcore.messages import Delta, TokenUsage, ToolCall
from agentcore.providers.anthropic.content import begin_block, content_of, is_content, take_delta
from agentcore.providers.anthropic.request import plain_content
from agentcore.providers.anthropic.stop_reasons import normalize
from agentcore.providers.wire.block_answer import BlockAnswer
from agentcore.providers.wire.content_blocks import Block
from agentcore.providers.wire.named_errors import find_error
from agentcore.providers.wire.reason_tracker import fold
from agentcore.providers.wire.untrusted_json import count, mapping, sequence, string
from agentcore.reasons import REFUSAL_DETAILS, NormalizedStopReason

_COUNTS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_METRICS = {
    "inputTokenCount": "input_tokens",
    "outputTokenCount": "output_tokens",
    "cacheReadInputTokenCount": "cache_read_input_tokens",
    "cacheWriteInputTokenCount": "cache_creation_input_tokens",
}


class UsageCounts:
    """The counts of one answer, as the latest of its events tell them."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def take(self, usage: Mapping[str, Any]) -> None:
        """Adds the `usage` of an event or a body."""
        found = {name: usage.get(name) for name in _COUNTS}
        found["thinking_tokens"] = mapping(usage.get("output_tokens_details")).get("thinking_tokens")
        self._counts |= {name: known for name, value in found.items() if (known := count(value)) is not None}

    def take_metrics(self, metrics: Mapping[str, Any]) -> None:
        """Adds Bedrock's own counts, which only stand in where the answer has none."""
        if not self._counts:
            self.take({name: metrics.get(theirs) for theirs, name in _METRICS.items()})

    def read(self) -> TokenUsage | None:
        """Ours: input includes what was written to and read from the cache."""
        counts = self._counts
        if not counts:
            return None
        cached = counts.get("cache_read_input_tokens", 0)
        taken = counts.get("input_tokens", 0) + counts.get("cache_creation_input_tokens", 0) + cached
        thought = counts.get("thinking_tokens")
        none = thought == 0 or None
        return TokenUsage(taken, counts.get("output_tokens", 0), thought or 0, cached, no_reasoning=none)


_GUARDRAIL = "amazon-bedrock-guardrailAction"
_EVENTS = frozenset(
    {
        "message",
        "message_start",
        "message_delta",
        "message_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "ping",
    }
)


class MessageAnswer(BlockAnswer):
    """Collects one message, from Anthropic, from Bedrock's InvokeModel, or from a server that imitates them."""

    noun = "Messages API answer"

    def __init__(self, provider: str, max_tokens: int | None = None) -> None:
        super().__init__(provider, max_tokens)
        self._usage = UsageCounts()

    def is_dialect(self, payload: Mapping[str, Any], /) -> bool:
        """Whether an object can be an event, a message or an error of this dialect."""
        kind, content = string(payload.get("type")), payload.get("content")
        is_assistant = payload.get("role") == "assistant" and isinstance(content, list | str)
        is_message = "message".startswith(kind) and (is_assistant or is_content(content))
        return kind in _EVENTS or is_message or find_error(payload) is not None

    def _take(self, payload: Mapping[str, Any], /) -> Delta | None:
        index = count(payload.get("index"))
        match string(payload.get("type")):
            case "message_start":
                return self._take_message(mapping(payload.get("message")))
            case "content_block_start":
                return self._begin(index, begin_block(mapping(payload.get("content_block")), announced=True))
            case "content_block_delta":
                return take_delta(self._blocks, index, mapping(payload.get("delta")))
            case "message_delta":
                self._usage_is_final = True
                self._take_end(mapping(payload.get("delta")), mapping(payload.get("usage")))
            case "message_stop":
                self.ended = self._usage_is_final = True
                self._usage.take_metrics(mapping(payload.get("amazon-bedrock-invocationMetrics")))
                self._evidence.usage = self._usage.read()
            case kind if "message".startswith(kind):  # none at all, or what a body that is cut says of it
                self._usage_is_final = True
                return self._take_message(payload)
        return None

    def _take_message(self, message: Mapping[str, Any]) -> Delta | None:
        """A whole message, or one that is only announced: then its content is empty."""
        evidence = self._evidence
        evidence.response_id = evidence.response_id or string(message.get("id"))
        evidence.model = evidence.model or string(message.get("model"))
        said = message.get("content")
        contents = [{"type": "text", "text": said}] if isinstance(said, str) else sequence(said)
        blocks = [begin_block(mapping(content), announced=False) for content in contents]
        shown = self._begin_all(blocks)
        self._take_end(message, mapping(message.get("usage")))
        return shown

    def _take_end(self, end: Mapping[str, Any], usage: Mapping[str, Any]) -> None:
        self._usage.take(usage)
        self._evidence.usage = self._usage.read()
        raw = end.get("stop_reason")
        if not isinstance(raw, str):
            return
        self._evidence.reasons.label("stop_reason", string(raw), normalize(raw))
        if end.get(_GUARDRAIL) == "INTERVENED":  # Claude behind InvokeModel: the text is the guardrail's own
            self._evidence.reasons.sign(_GUARDRAIL, NormalizedStopReason.SAFETY_BLOCKED)
        if fold(raw) == "refusal":
            details = mapping(end.get(REFUSAL_DETAILS))
            category = string(details.get("category"))
            if category:
                self._evidence.reasons.aside(REFUSAL_DETAILS, category, NormalizedStopReason.SAFETY_BLOCKED)
            self._refusal = string(details.get("explanation")) or category or self._refusal

    def _content(self, blocks: Sequence[Block], /) -> list[Any] | None:
        return content_of(blocks)

    def _plain(self, text: str, calls: Sequence[ToolCall], /) -> list[Any]:
        return plain_content(text, calls)
