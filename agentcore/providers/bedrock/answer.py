"""One answer of Bedrock's Converse, gathered from its events or its whole body by the same rules."""

from collections.abc import Mapping, Sequence
from typing import Any

from agentcore.messages import Delta, TokenUsage, ToolCall
from agentcore.providers.bedrock.content import announce_block, begin_block, content_of, take_delta
from agentcore.providers.bedrock.request import plain_content
from agentcore.providers.bedrock.stop_reasons import normalize
from agentcore.providers.wire.block_answer import BlockAnswer
from agentcore.providers.wire.content_blocks import Block
from agentcore.providers.wire.named_errors import find_error
from agentcore.providers.wire.untrusted_json import count, mapping, sequence, string

_EVENTS = (
    "messageStart",
    "contentBlockStart",
    "contentBlockDelta",
    "contentBlockStop",
    "messageStop",
    "metadata",
)


class ConverseAnswer(BlockAnswer):
    """Collects one answer; neither a model nor an id is told in it."""

    noun = "Converse answer"

    def is_dialect(self, payload: Mapping[str, Any], /) -> bool:
        """Whether an object can be an event, an answer or an error of this dialect."""
        is_event = any(isinstance(payload.get(name), dict) for name in _EVENTS)
        is_whole = (
            "stopReason" in payload
            or "message" in mapping(payload.get("output"))
            or "latencyMs" in mapping(payload.get("metrics"))  # which AWS puts first, where a body may be cut
        )
        return is_event or is_whole or find_error(payload) is not None

    def _take(self, payload: Mapping[str, Any], /) -> Delta | None:
        started, piece, stopped, metadata = (
            mapping(payload.get(name)) for name in ("contentBlockStart", "contentBlockDelta", "messageStop", "metadata")
        )
        if "output" in payload or "stopReason" in payload:
            return self._take_whole(payload)
        if stopped or metadata or "messageStop" in payload:
            self.ended = True
        self._take_end(stopped, metadata)
        if started:
            return self._begin(_index(started), announce_block(mapping(started.get("start"))))
        return take_delta(self._blocks, _index(piece), mapping(piece.get("delta"))) if piece else None

    def _take_whole(self, payload: Mapping[str, Any]) -> Delta | None:
        message = mapping(mapping(payload.get("output")).get("message"))
        if not message:
            self._evidence.miss("message")
        blocks = [begin_block(mapping(content)) for content in sequence(message.get("content"))]
        shown = self._begin_all(blocks)
        self._take_end(payload, payload)
        return shown

    def _take_end(self, end: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
        raw = end.get("stopReason")
        if isinstance(raw, str):
            self._evidence.reasons.label("stopReason", string(raw), normalize(raw))
        usage = _read_usage(mapping(metadata.get("usage")))
        if usage is not None:
            self._evidence.usage, self._usage_is_final = usage, True

    def _content(self, blocks: Sequence[Block], /) -> list[Any] | None:
        return content_of(blocks)

    def _plain(self, text: str, calls: Sequence[ToolCall], /) -> list[Any]:
        return plain_content(text, calls)


def _index(event: Mapping[str, Any]) -> int | None:
    return count(event.get("contentBlockIndex"))


def _read_usage(usage: Mapping[str, Any]) -> TokenUsage | None:
    """Converse counts the cache beside the input; ours includes it. Its cache counts have two names each."""
    taken, given = count(usage.get("inputTokens")), count(usage.get("outputTokens"))
    if taken is None and given is None:
        return None
    read, written = (
        count(usage.get(f"cache{what}InputTokens")) or count(usage.get(f"cache{what}InputTokenCount")) or 0
        for what in ("Read", "Write")
    )
    return TokenUsage((taken or 0) + read + written, given or 0, 0, read)
