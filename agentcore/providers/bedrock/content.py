"""The content blocks of Converse, a union of members: how they begin, how they grow, and how they are sent back."""

from collections.abc import Mapping, Sequence
from typing import Any

from agentcore.messages import Delta
from agentcore.providers.wire.content_blocks import Block, BlockCollector, BlockKind
from agentcore.providers.wire.tool_calls import read_arguments
from agentcore.providers.wire.untrusted_json import mapping, sequence, string

_PROVIDERS_CALL = "server_tool_use"  # run by Bedrock itself, as Nova's grounding


def begin_block(content: Mapping[str, Any]) -> Block:
    """A block as it stands in a whole message."""
    if "text" in content:
        return Block(BlockKind.TEXT, pieces=[string(content["text"])])
    if "citationsContent" in content:
        cited = sequence(mapping(content["citationsContent"]).get("content"))
        texts = [string(mapping(part).get("text")) for part in cited]
        return Block(BlockKind.TEXT, dict(content), pieces=texts)
    thoughts = mapping(mapping(content.get("reasoningContent")).get("reasoningText"))
    if thoughts:
        signature = string(thoughts.get("signature"))
        return Block(BlockKind.THINKING, pieces=[string(thoughts.get("text"))], signature=[signature])
    block = _other(content)
    if "toolUse" in content:
        block.take_arguments(mapping(content["toolUse"]).get("input"))
    return block


def announce_block(start: Mapping[str, Any]) -> Block:
    """A block as a stream announces it, without what follows in its pieces."""
    return _other(start) if "toolUse" in start else begin_block(start)


def _other(start: Mapping[str, Any]) -> Block:
    """A call, or what only has to be sent back: nothing of it where nothing is said."""
    call = mapping(start.get("toolUse"))
    if not call:
        return Block(BlockKind.OTHER, dict(start) if any(start.values()) else {})
    kind = BlockKind.OTHER if call.get("type") == _PROVIDERS_CALL else BlockKind.CALL
    return Block(kind, dict(start), id=string(call.get("toolUseId")), name=string(call.get("name")))


def take_delta(blocks: BlockCollector, index: int | None, delta: Mapping[str, Any]) -> Delta | None:
    """Adds a piece of a block; returns what is new of it to show."""
    if "text" in delta:
        text = string(delta["text"])
        blocks.find(index, BlockKind.TEXT).pieces.append(text)
        return Delta(text) if text else None
    if "toolUse" in delta:
        return _take_arguments(blocks, index, mapping(delta["toolUse"]).get("input"))
    if "reasoningContent" in delta:
        return _take_thoughts(blocks, index, mapping(delta["reasoningContent"]))
    if "toolResult" in delta:
        blocks.find(index, BlockKind.OTHER).added += sequence(delta["toolResult"])
    elif "citation" in delta:
        blocks.find(index, BlockKind.TEXT).added.append(delta["citation"])
    return None


def _take_thoughts(blocks: BlockCollector, index: int | None, thoughts: Mapping[str, Any]) -> Delta | None:
    redacted = string(thoughts.get("redactedContent"))
    if redacted:
        blocks.begin(index, Block(BlockKind.OTHER, {"reasoningContent": {"redactedContent": redacted}}))
        return None
    block, text = blocks.find(index, BlockKind.THINKING), string(thoughts.get("text"))
    block.pieces.append(text)
    block.signature.append(string(thoughts.get("signature")))
    return Delta(reasoning=text) if text else None


def _take_arguments(blocks: BlockCollector, index: int | None, arguments: object) -> Delta | None:
    block = blocks.at(index)
    if block is None or block.kind not in (BlockKind.CALL, BlockKind.OTHER):
        block = blocks.find(index, BlockKind.CALL)
    if isinstance(arguments, dict):
        block.take_arguments(arguments)
    text = string(arguments)
    if not text:
        return None
    block.pieces.append(text)
    return Delta(tool_arguments=text) if block.kind is BlockKind.CALL else None


def content_of(blocks: Sequence[Block]) -> list[Any] | None:
    """Blocks as Converse takes them back. None where the input of a call cannot be read: then nothing of it fits."""
    content = []
    for block in blocks:
        written = _written(block)
        if written is None:
            return None
        content += written
    return content


def _written(block: Block) -> list[Any] | None:
    """A block for sending back, as a list of one; nothing for what Converse refuses; None for what cannot be read."""
    if block.kind is BlockKind.TEXT:
        return _text_of(block)
    if block.kind is BlockKind.THINKING:
        # Only signed thoughts are wanted back; models that do not sign theirs refuse them.
        signature = "".join(block.signature)
        return (
            [{"reasoningContent": {"reasoningText": {"text": block.text, "signature": signature}}}] if signature else []
        )
    if block.name:
        arguments, issue = read_arguments(block.raw, cut=False)
        return None if issue else [{"toolUse": {**mapping(block.began.get("toolUse")), "input": arguments}}]
    if block.added:
        return [{"toolResult": {**mapping(block.began.get("toolResult")), "content": block.added}}]
    return [block.began] if block.began else []


def _text_of(block: Block) -> list[Any]:
    if not block.text.strip():
        return []
    if block.added:
        return [{"citationsContent": {"content": [{"text": block.text}], "citations": block.added}}]
    return [block.began or {"text": block.text}]


def is_content(echo: object) -> bool:
    """Whether this is content of Converse rather than another dialect's."""
    members = {"toolUse", "toolResult", "reasoningContent", "citationsContent"}
    if not isinstance(echo, list) or not all(isinstance(block, dict) for block in echo):
        return False
    return any(not members.isdisjoint(mapping(block)) for block in echo)


def calls_in(content: list[Any]) -> set[str]:
    """The ids of the client-side calls in content of Converse: each of them needs a result."""
    calls = [mapping(mapping(block).get("toolUse")) for block in content]
    return {string(call.get("toolUseId")) for call in calls if call and call.get("type") != _PROVIDERS_CALL}
