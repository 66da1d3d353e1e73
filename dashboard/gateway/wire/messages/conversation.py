"""A Messages request's conversation as the core's messages, and its faults in Anthropic's words. Pure.

One message of a user's may hold results of calls and words: each result becomes a message of its own, as in the core.
What is more than a text keeps its blocks as `echo`: an upstream of this dialect is sent them as they came.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentcore.messages import Message, Role, ToolCall
from dashboard.gateway.wire.faults import Fault
from dashboard.gateway.wire.messages.faults import expected, invalid, required
from dashboard.gateway.wire.parsed_request import MOST_MESSAGES

_ROLES: Mapping[str, Role] = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM}
#: Blocks of an assistant that another dialect is not told: thoughts are signed for Anthropic's models alone.
_THOUGHTS = frozenset({"thinking", "redacted_thinking"})
_TEXT = frozenset({"type", "text"})
_RESULT = frozenset({"type", "tool_use_id", "content"})

_EMPTY = "all messages must have non-empty content except for the optional final assistant message"

Block = Mapping[str, Any]


@dataclass(slots=True)
class Conversation:
    """Messages as they are read, one after the other.

    `beyond_text`: where the first block stands that no other dialect can be told. `cited`: where citations are asked
    for, which stand within an answer's text.
    """

    messages: list[Message] = field(default_factory=list)
    beyond_text: str | None = None
    cited: str = ""
    _open: dict[str, str] = field(default_factory=dict)  #: ids of calls without a result, and where they stand
    _known: set[str] = field(default_factory=set)

    def take(self, given: Any, at: str) -> Fault | None:
        """Add a message that stands at `at`, such as `messages.0`; what is wrong with it."""
        if not isinstance(given, dict):
            return expected(at, "an object", given)
        role = _ROLES.get(given["role"]) if isinstance(given.get("role"), str) else None
        if role is None:
            return invalid(f"{at}.role", "Input should be 'user', 'assistant' or 'system'")
        if "content" not in given:
            return required(f"{at}.content")
        content = blocks_of(given["content"], f"{at}.content")
        if isinstance(content, Fault):
            return content
        if role is Role.ASSISTANT:
            return self._said(content, f"{at}.content", is_text=isinstance(given["content"], str))
        return self._told(role, given, content, f"{at}.content")

    def end(self) -> Fault | None:
        """Calls that no result follows: an upstream would refuse them."""
        if not self._open:
            return None
        ids = ", ".join(self._open)[:400]
        why = f"`tool_use` ids were found without `tool_result` blocks immediately after: {ids}. Each `tool_use` block "
        return invalid(next(iter(self._open.values())), f"{why}must have a corresponding `tool_result` block after it.")

    def _told(self, role: Role, given: Block, content: list[Block], at: str) -> Fault | None:
        """What a user or the system says; of a user, also what the tools returned."""
        if role is Role.SYSTEM:
            self.messages.append(Message(role, "\n".join(_texts(content)), echo={**given}))
            return None
        if not content:
            return invalid(
                at, "all messages must have non-empty content except for the optional final assistant message"
            )
        words: list[Block] = []
        for n, block in enumerate(content):
            if block["type"] != "tool_result":
                self._look(block, f"{at}.{n}")
                words.append(block)
                continue
            self._speak(words)
            fault = self._result(block, f"{at}.{n}")
            if fault is not None:
                return fault
        self._speak(words)
        return None

    def _speak(self, words: list[Block]) -> None:
        if words:
            self.messages.append(Message(Role.USER, "\n".join(_texts(words)), echo=_echo(words)))
            words.clear()

    def _result(self, block: Block, at: str) -> Fault | None:
        call_id = block.get("tool_use_id")
        if not isinstance(call_id, str):
            return required(f"{at}.tool_use_id")
        if call_id not in self._known:
            why = f"unexpected `tool_use_id` found in `tool_result` blocks: {call_id[:100]}. Each `tool_result` block "
            return invalid(at, f"{why}must have a corresponding `tool_use` block in the previous message.")
        given = block.get("content")
        content = blocks_of("" if given is None else given, f"{at}.content")
        if isinstance(content, Fault):
            return content
        for n, part in enumerate(content):
            self._look(part, f"{at}.content.{n}")
        self._open.pop(call_id, None)
        plain = block.keys() <= _RESULT and isinstance(given, str)
        self.messages.append(
            Message(Role.TOOL, "\n".join(_texts(content)), tool_call_id=call_id, echo=None if plain else {**block})
        )
        return None

    def _said(self, content: list[Block], at: str, *, is_text: bool) -> Fault | None:
        calls: list[ToolCall] = []
        for n, block in enumerate(content):
            if block["type"] == "tool_use":
                call = _call(block, f"{at}.{n}")
                if isinstance(call, Fault):
                    return call
                calls.append(call)
                self._open[call.id] = at
                self._known.add(call.id)
            elif block["type"] not in _THOUGHTS:
                self._look(block, f"{at}.{n}")
        text = "".join(_texts(content))
        echo = None if is_text else _signed(content)
        self.messages.append(Message(Role.ASSISTANT, text, tuple(calls), echo=echo))
        return None

    def _look(self, block: Block, at: str) -> None:
        """Notice what other dialects cannot be told, and what makes an answer one that cannot be put together."""
        cites = block.get("citations")
        if not self.cited and isinstance(cites, dict) and cites.get("enabled") is True:
            self.cited = f"{at}.citations"
        if self.beyond_text is None and block["type"] != "text":
            self.beyond_text = at


def read_messages(given: Any) -> Conversation | Fault:
    """The conversation of a request."""
    if not isinstance(given, list):
        return expected("messages", "an array", given)
    if not given:
        return invalid("messages", "at least one message is required")
    if len(given) > MOST_MESSAGES:
        return invalid("messages", f"at most {MOST_MESSAGES} messages are allowed")
    conversation = Conversation()
    for n, entry in enumerate(given):
        fault = conversation.take(entry, f"messages.{n}")
        if fault is not None:
            return fault
    return conversation.end() or conversation


def system_of(given: Any) -> Message | Fault | None:
    """What `system` says; blocks that are more than texts keep themselves, such as those with `cache_control`."""
    blocks = blocks_of("" if given is None else given, "system")
    if isinstance(blocks, Fault) or not blocks:
        return blocks if isinstance(blocks, Fault) else None
    return Message(Role.SYSTEM, "\n\n".join(_texts(blocks)), echo=_echo(blocks))


def blocks_of(given: Any, at: str) -> list[Block] | Fault:
    """Content as blocks, each with a type; a text is one block, and an empty one is none."""
    if isinstance(given, str):
        return [{"type": "text", "text": given}] if given else []
    if not isinstance(given, list):
        return expected(at, "a string or an array of blocks", given)
    for n, block in enumerate(given):
        if not isinstance(block, dict):
            return expected(f"{at}.{n}", "an object", block)
        if not isinstance(block.get("type"), str):
            return required(f"{at}.{n}.type")
        if block["type"] == "text" and not isinstance(block.get("text"), str):
            return required(f"{at}.{n}.text.text")
    return given


def _texts(blocks: Iterable[Block]) -> Iterator[str]:
    return (block["text"] for block in blocks if block["type"] == "text")


def _echo(blocks: list[Block]) -> list[Block] | None:
    """The blocks themselves, where their text does not say all of them."""
    return None if len(blocks) == 1 and blocks[0].keys() == _TEXT else list(blocks)


def _signed(blocks: list[Block]) -> list[Block] | None:
    """An assistant's blocks as they came, but for thoughts that nobody signed: those are another dialect's, told by us,
    and Anthropic refuses them."""
    kept = [block for block in blocks if block["type"] != "thinking" or block.get("signature")]
    return kept or None


def _call(block: Block, at: str) -> ToolCall | Fault:
    call_id, name, given = block.get("id"), block.get("name"), block.get("input")
    if not isinstance(call_id, str) or not call_id:
        return required(f"{at}.id")
    if not isinstance(name, str):
        return required(f"{at}.name")
    if not isinstance(given, dict):
        return expected(f"{at}.input", "an object", given)
    return ToolCall(call_id, name, given, json.dumps(given, ensure_ascii=False))
