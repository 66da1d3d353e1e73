"""The content blocks of the Messages API: how they begin, how they grow, and how they are sent back."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from agentcore.messages import Delta
from agentcore.providers.wire.content_blocks import Block, BlockCollector, BlockKind
from agentcore.providers.wire.tool_calls import read_arguments
from agentcore.providers.wire.untrusted_json import mapping, sequence, string

_KINDS: Mapping[str, BlockKind] = {
    "text": BlockKind.TEXT,
    "thinking": BlockKind.THINKING,
    "tool_use": BlockKind.CALL,
}
_PROVIDERS_CALL = "_tool_use"  # server_tool_use, mcp_tool_use: run by Anthropic itself


def begin_block(content: Mapping[str, Any], *, announced: bool) -> Block:
    """A block as it stands in a whole message, or as a stream announces it: then its empty input is only a place."""
    name = string(content.get("type"))
    block = Block(_KINDS.get(name, BlockKind.OTHER), dict(content))
    if block.kind is BlockKind.TEXT:
        block.pieces = [string(content.get("text"))]
    elif block.kind is BlockKind.THINKING:
        block.pieces = [string(content.get("thinking"))]
        block.signature = [string(content.get("signature"))]
    elif block.kind is BlockKind.CALL or name.endswith(_PROVIDERS_CALL):
        block.id, block.name = string(content.get("id")), string(content.get("name"))
        block.take_arguments(content.get("input") or (None if announced else {}))
    return block


def take_delta(blocks: BlockCollector, index: int | None, delta: Mapping[str, Any]) -> Delta | None:
    """Adds a piece of a block; returns what is new of it to show."""
    match string(delta.get("type")):
        case "text_delta":
            text = string(delta.get("text"))
            blocks.find(index, BlockKind.TEXT).pieces.append(text)
            return Delta(text) if text else None
        case "thinking_delta":
            thoughts = string(delta.get("thinking"))
            blocks.find(index, BlockKind.THINKING).pieces.append(thoughts)
            return Delta(reasoning=thoughts) if thoughts else None
        case "signature_delta":
            signature = string(delta.get("signature"))
            blocks.find(index, BlockKind.THINKING).signature.append(signature)
            return Delta(signature=signature) if signature else None
        case "citations_delta":
            blocks.find(index, BlockKind.TEXT).added.append(delta.get("citation"))
        case "compaction_delta":
            blocks.find(index, BlockKind.OTHER).pieces.append(string(delta.get("content")))
        case "input_json_delta":
            return _take_arguments(blocks, index, string(delta.get("partial_json")))
    return None


def _take_arguments(blocks: BlockCollector, index: int | None, text: str) -> Delta | None:
    block = blocks.at(index)
    if block is None or block.kind not in (BlockKind.CALL, BlockKind.OTHER):
        block = blocks.find(index, BlockKind.CALL)
    if not text:
        return None
    block.pieces.append(text)
    return Delta(tool_arguments=text) if block.kind is BlockKind.CALL else None


def content_of(blocks: Sequence[Block]) -> list[Any] | None:
    """Blocks as the API takes them back. None where the input of a call cannot be read: then nothing of it fits."""
    content = []
    for block in blocks:
        if block.kind is BlockKind.TEXT:
            written: dict[str, Any] | None = _text_of(block)
        elif block.kind is BlockKind.THINKING:
            written = {**block.began, "type": "thinking", "thinking": block.text, "signature": "".join(block.signature)}
        else:
            written = _other_of(block)
            if written is None:
                return None
        if written is not None:
            content.append(written)
    return content


def _text_of(block: Block) -> dict[str, Any] | None:
    """A text; the API refuses blank ones, even its own."""
    if not block.text.strip():
        return None
    written = {**block.began, "type": "text", "text": block.text}
    if block.added:
        written["citations"] = [*sequence(block.began.get("citations")), *block.added]
    return written


def _other_of(block: Block) -> dict[str, Any] | None:
    if not block.name:
        return {**block.began, "content": block.text} if block.pieces else block.began
    arguments, issue = read_arguments(block.raw, cut=False)
    return None if issue else {**block.began, "input": arguments}


def is_blocks(echo: object) -> TypeGuard[list[dict[str, Any]]]:
    """Whether this can be what a user or the system says, as blocks: a list of objects, each with a type."""
    blocks = echo if isinstance(echo, list) else []
    return bool(blocks) and all(isinstance(block, dict) and isinstance(block.get("type"), str) for block in blocks)


def is_content(echo: object) -> TypeGuard[list[dict[str, Any]]]:
    """Whether this is content of the Messages API rather than another dialect's."""
    known = {*_KINDS, "redacted_thinking", "server_tool_use", "mcp_tool_use", "compaction"}
    if not isinstance(echo, list) or not all(isinstance(block, dict) for block in echo):
        return False
    return any(string(mapping(block).get("type")) in known for block in echo)


def calls_in(content: list[Any]) -> set[str]:
    """The ids of the client-side calls in content of the Messages API: each of them needs a result."""
    return {string(block.get("id")) for block in map(mapping, content) if block.get("type") == "tool_use"}
