"""What an answer of the Responses API consists of: its output items, read whole or put together from a stream."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from agentcore.messages import ToolCall
from agentcore.providers.wire.response_assembly import Parts
from agentcore.providers.wire.tool_calls import CallCollector
from agentcore.providers.wire.untrusted_json import mapping, sequence, string

#: Calls that the client answers, though they are no functions of its own: where their arguments stand.
OTHER_CLIENT_CALLS: Mapping[str, str] = {
    "computer_call": "action",
    "shell_call": "action",
    "local_shell_call": "action",
    "apply_patch_call": "operation",
    "mcp_approval_request": "arguments",
}
Item = Mapping[str, Any]


def read_parts(items: Sequence[Item], *, cut: bool) -> Parts:
    """The parts of an answer. `cut`: there is evidence that it was cut short."""
    messages = [part for item in items if item.get("type") == "message" for part in content_of(item)]
    text = "".join(string(part.get("text")) for part in messages if part.get("type") in ("output_text", "text"))
    refusal = "".join(string(part.get("refusal")) for part in messages if part.get("type") == "refusal")
    thoughts = [thought for item in items if item.get("type") == "reasoning" for thought in thoughts_of(item)]
    return Parts(text, "\n\n".join(thoughts), refusal.strip() and refusal, read_calls(items, cut=cut))


def content_of(item: Item) -> list[Item]:
    """The content of an item as typed parts; some servers send plain text."""
    content = item.get("content")
    if isinstance(content, str):
        return [{"type": "output_text", "text": content}]
    return [mapping(part) for part in sequence(content)]


def thoughts_of(item: Item) -> list[str]:
    """What a reasoning item shows of its thoughts: the thoughts themselves, else their summary."""
    for parts in (content_of(item), [mapping(part) for part in sequence(item.get("summary"))]):
        texts = [text for part in parts if (text := string(part.get("text")))]
        if texts:
            return texts
    return []


def read_calls(items: Sequence[Item], *, cut: bool) -> list[ToolCall]:
    """The client-side calls, whole or with their issue."""
    collector = CallCollector()
    for item in client_calls(items):
        collector.take_whole(_entry(item))
    return [call for call, _ in collector.read(cut=cut or any(map(is_unfinished, items)))]


def client_calls(items: Iterable[Item]) -> Iterator[Item]:
    """The calls that wait for the client. One whose output stands beside it was run by the provider."""
    kept = list(items)
    answered = {call_id(item) for item in kept if string(item.get("type")).endswith("_output")} - {""}
    for item in kept:
        kind = string(item.get("type"))
        if not (kind in ("function_call", "custom_tool_call") or kind in OTHER_CLIENT_CALLS):
            continue
        if call_id(item) not in answered and _says_anything(item):
            yield item


def call_id(item: Item) -> str:
    """The id a result refers to."""
    return string(item.get("call_id")) or ("" if is_function(item) else string(item.get("id")))


def is_function(item: Item) -> bool:
    """Whether a call is one of the client's own tools, with arguments or with free text."""
    return item.get("type") in ("function_call", "custom_tool_call")


def was_cut(items: Sequence[Item]) -> bool:
    """Whether the provider says of an item that it was not finished."""
    return any(is_unfinished(item) for item in items if item.get("type") == "message" or is_function(item))


def is_unfinished(item: Item) -> bool:
    """Whether an item carries the mark of one that was cut short."""
    return item.get("status") == "incomplete"


def _says_anything(item: Item) -> bool:
    if not is_function(item):
        return True
    return any(item.get(key) for key in ("name", "arguments", "input"))


def _entry(item: Item) -> dict[str, Any]:
    """A call in the words of the chat completions, whose collector reads it."""
    kind, name = string(item.get("type")), string(item.get("name"))
    if kind == "custom_tool_call":
        custom = {"name": name, "input": item.get("input")}
        return {"id": call_id(item), "type": "custom", "custom": custom}
    arguments = item.get(OTHER_CLIENT_CALLS.get(kind, "arguments"))
    function = {"name": name if kind == "function_call" else kind, "arguments": arguments}
    return {"id": call_id(item), "type": "function", "function": function}
