"""What gathering an answer of content blocks has in common (Anthropic, Bedrock): the calls, the cut, and the echo."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentcore.messages import ChatResponse, Delta, ToolCall
from agentcore.providers.wire.content_blocks import Block, BlockCollector, BlockKind
from agentcore.providers.wire.named_errors import error_inside, find_error
from agentcore.providers.wire.response_assembly import Evidence, Parts, echoable, has_cut_call, with_malformed_call
from agentcore.reasons import NormalizedStopReason


class BlockAnswer(ABC):
    """Collects one answer. `max_tokens` is the cap that was asked for, where known: evidence for truncation."""

    noun: str

    def __init__(self, provider: str, max_tokens: int | None = None) -> None:
        self._evidence = Evidence(provider, max_tokens)
        self._blocks = BlockCollector()
        self._refusal = ""
        self.ended = False
        self._usage_is_final = False

    @abstractmethod
    def is_dialect(self, payload: Mapping[str, Any], /) -> bool:
        """Whether an object can be a piece, an answer or an error of this dialect."""

    @abstractmethod
    def _take(self, payload: Mapping[str, Any], /) -> Delta | None:
        """Adds an event or a whole body that is no error; returns what is new of it to show."""

    @abstractmethod
    def _content(self, blocks: Sequence[Block], /) -> list[Any] | None:
        """Blocks as the dialect wants them back; None where one of them cannot be written."""

    @abstractmethod
    def _plain(self, text: str, calls: Sequence[ToolCall], /) -> list[Any]:
        """The content that a request makes of text and calls alone."""

    def take(self, payload: Mapping[str, Any], /, *, whole: bool) -> Delta | None:  # noqa: ARG002
        """Adds a piece, or (`whole`) a complete body; returns what is new of it to show."""
        error = find_error(payload)
        if error is None:
            return self._take(payload)
        self._evidence.take_error(error_inside(error))
        return None

    def response(self, *, closed: bool, cut_body: bool = False) -> ChatResponse:
        """The answer so far. `closed`: its end was seen; `cut_body`: it is one JSON body that ends too early."""
        evidence, blocks = self._evidence, self._blocks
        broke_off = evidence.broke_off(closed=closed or self.ended, cut_body=cut_body)
        cut = broke_off or evidence.reasons.saw_cut
        at_cap = self._usage_is_final and evidence.at_cap
        calls = list(blocks.calls(cut=cut, at_cap=at_cap))
        if evidence.reasons.says_malformed_call:
            calls = with_malformed_call(calls)
        if at_cap and (broke_off or has_cut_call(calls)):
            evidence.reasons.sign("usage", NormalizedStopReason.MAX_TOKENS)
        parts = Parts(blocks.text_of(BlockKind.TEXT), blocks.text_of(BlockKind.THINKING), self._refusal, calls)
        response = evidence.settle(parts, broke_off=broke_off)
        silent = response.diagnostics if not self._is_warm_up(response) else ()
        return replace(response, diagnostics=silent, echo=echoable(response, self._echo(response, cut=cut)))

    def _begin(self, index: int | None, block: Block) -> Delta | None:
        """Adds a block; returns what it already says."""
        self._blocks.begin(index, block)
        if block.kind is BlockKind.CALL:
            return Delta(tool_name=block.name) if block.name else None
        text = block.text if block.kind is BlockKind.TEXT else ""
        reasoning = block.text if block.kind is BlockKind.THINKING else ""
        return Delta(text, reasoning) if text or reasoning else None

    def _begin_all(self, blocks: Sequence[Block]) -> Delta | None:
        """Adds the blocks of a whole message; returns what they say to a reader."""
        news = [self._begin(index, block) for index, block in enumerate(blocks)]
        text = "".join(delta.text for delta in news if delta is not None)
        reasoning = "".join(delta.reasoning for delta in news if delta is not None)
        return Delta(text, reasoning) if text or reasoning else None

    def _is_warm_up(self, response: ChatResponse) -> bool:
        """`max_tokens: 0` fills a cache: that nothing comes of it is what was asked for."""
        cap, usage = self._evidence.cap, response.usage
        nothing = usage is not None and usage.output_tokens == 0 and not self._blocks.blocks
        asked = cap == 0 or (cap is None and response.stop_reason is NormalizedStopReason.MAX_TOKENS)
        return nothing and asked

    def _echo(self, response: ChatResponse, *, cut: bool) -> list[Any] | None:
        """The content as it came, where text and calls alone would not do."""
        if response.error is not None or response.stop_reason is NormalizedStopReason.SAFETY_BLOCKED:
            return None
        blocks = self._blocks.blocks
        content = self._content([block for block in blocks if not (cut and block is blocks[-1] and _is_torn(block))])
        paused = response.stop_reason is NormalizedStopReason.PAUSED
        needed = paused or content != self._plain(response.text, response.tool_calls)
        return content if content and needed else None


def _is_torn(block: Block) -> bool:
    """Whether the last block of a cut answer can never be sent back: unsigned thoughts, half of a provider's call."""
    if block.kind is BlockKind.THINKING:
        return not any(block.signature)
    return block.kind is BlockKind.OTHER and bool(block.name or block.pieces)
