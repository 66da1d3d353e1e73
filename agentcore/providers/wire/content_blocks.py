"""The content of an answer that comes as blocks (Anthropic, Bedrock): gathered whole or from pieces, read strictly."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from agentcore.messages import CallIssue, ToolCall
from agentcore.providers.wire.tool_calls import read_arguments, write_json
from agentcore.providers.wire.untrusted_json import string


class BlockKind(StrEnum):
    """What a block is to us. OTHER: what the provider did or keeps for itself; it only has to be sent back."""

    TEXT = "text"
    THINKING = "thinking"
    CALL = "call"
    OTHER = "other"


@dataclass(slots=True)
class Block:
    """One block as far as it has come. `began`: its fields as they came first, for sending it back."""

    kind: BlockKind
    began: dict[str, Any] = field(default_factory=dict)
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)  #: of the text, the thoughts, or the arguments
    signature: list[str] = field(default_factory=list)
    added: list[Any] = field(default_factory=list)  #: citations, results: what a stream adds beside the pieces
    parsed: dict[str, Any] | None = None  #: arguments that came as an object

    @property
    def text(self) -> str:
        """What its pieces add up to."""
        return "".join(self.pieces)

    @property
    def raw(self) -> str:
        """The text of the arguments; pieces that followed an object replace it."""
        return self.text or ("" if self.parsed is None else write_json(self.parsed))

    def take_arguments(self, value: object) -> None:
        """Arguments that came at once: an object, or (where a server does not keep to its dialect) their text."""
        if isinstance(value, dict):
            self.parsed = value
        elif value is not None:
            self.pieces.append(string(value) or "[]")  # read as malformed: neither text nor an object


class BlockCollector:
    """Gathers the blocks of one answer in the order in which they began."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._by_index: dict[int | None, Block] = {}

    def begin(self, index: int | None, block: Block) -> Block:
        """Adds a block; pieces with its index are its own from now on."""
        self.blocks.append(block)
        self._by_index[index] = block
        return block

    def find(self, index: int | None, kind: BlockKind) -> Block:
        """The block that a piece of this kind belongs to; a new one where none has been announced."""
        block = self._by_index.get(index)
        if block is None or block.kind is not kind:
            block = self.begin(index, Block(kind))
        return block

    def at(self, index: int | None) -> Block | None:
        """The block that began with this index, if one did."""
        return self._by_index.get(index)

    def text_of(self, kind: BlockKind) -> str:
        """All text of this kind."""
        return "".join(block.text for block in self.blocks if block.kind is kind)

    def calls(self, *, cut: bool, at_cap: bool) -> Iterator[ToolCall]:
        """The client-side calls, whole and broken. `cut`: the answer is known to have been cut short.

        `at_cap`: it used all its tokens, which only corroborates.
        """
        position = 0
        for block in self.blocks:
            if block.kind is BlockKind.CALL and (block.name or block.raw or block.id):
                last = block is self.blocks[-1]
                yield _read_call(block, f"call_{position}", cut=cut, at_cap=at_cap, last=last)
                position += 1


def _read_call(block: Block, fallback_id: str, *, cut: bool, at_cap: bool, last: bool) -> ToolCall:
    raw = block.raw
    is_object = block.parsed is not None and not block.pieces
    # What stands before another block was written to its end, so only the last one can lack its arguments.
    arguments, issue = read_arguments(raw, cut=(cut or at_cap) and (last or not _is_blank(raw)))
    if issue is None and is_object and last and cut:
        issue = CallIssue.TRUNCATED  # an object of the keys that were finished looks like a whole one
    if issue is None and not block.name:
        issue = CallIssue.TRUNCATED if cut and last else CallIssue.MALFORMED
    if issue is not None:
        return ToolCall(block.id or fallback_id, block.name, {}, raw, issue, shown_whole=False)
    return ToolCall(block.id or fallback_id, block.name, arguments, raw, shown_whole=not (is_object and last))


def _is_blank(raw: str) -> bool:
    return raw.strip() in ("", "null")
