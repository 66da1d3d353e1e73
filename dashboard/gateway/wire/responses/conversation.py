"""The items of a Responses request as the core's messages, and its faults in OpenAI's words. Pure.

What an assistant said, thought and called with is several items, one after the other: together they are one message.
What is more than a role and a text keeps its items as `echo`: an upstream of this dialect is sent them as they came.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentcore.messages import Message, Role, ToolCall
from agentcore.providers.openai_responses.items import OTHER_CLIENT_CALLS, call_id, client_calls
from agentcore.providers.openai_responses.request import written
from dashboard.gateway.wire.faults import Fault, missing, wrong_type, wrong_value
from dashboard.gateway.wire.parsed_request import MOST_MESSAGES
from dashboard.platform.strict_json import read_strictly

ROLES: Mapping[str, Role] = {
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
}
#: Begins the ids of thoughts that are not OpenAI's: the gateway wrote them for another dialect's model.
OUR_THOUGHTS = "rs_whystop_"
_TEXTS: Mapping[str, str] = {
    "input_text": "text",
    "output_text": "text",
    "text": "text",
    "summary_text": "text",
    "refusal": "refusal",
}
_CALLS = frozenset({"function_call", "custom_tool_call"})
_PLAIN_CALL = frozenset({"type", "id", "call_id", "name", "arguments", "input", "status"})
_PLAIN_RESULT = frozenset({"type", "id", "call_id", "output", "status"})
_PLAIN_MESSAGE = frozenset({"type", "id", "role", "status", "content"})
_EMPTY_LISTS = ("annotations", "logprobs")  #: of a text, which say nothing while they are empty

#: An item of an earlier answer, by its id alone: an answer is stored unless its request says otherwise.
REFERENCE = "item_reference"

Item = Mapping[str, Any]


@dataclass(slots=True)
class Conversation:
    """Messages as items are read, one after the other.

    `beyond_text`: where the first thing stands that no other dialect can be told.
    """

    messages: list[Message] = field(default_factory=list)
    beyond_text: str | None = None
    _said: list[Item] = field(default_factory=list)  #: items of the assistant's message that is not at its end
    _open: dict[str, str] = field(default_factory=dict)  #: ids of calls without a result, and of what kind they are
    _known: set[str] = field(default_factory=set)
    _refers: bool = False  #: to an item that only the upstream knows: it may be the call of any result

    def after(self, messages: Iterable[Message]) -> None:
        """Begin with messages that were read before."""
        for message in messages:
            self.messages.append(message)
            self._known |= {call.id for call in message.tool_calls}

    def take(self, given: Any, at: str) -> Fault | None:
        """Add an item that stands at `at`, such as `input[0]`; what is wrong with it."""
        if not isinstance(given, dict):
            return wrong_type(at, "an object", given)
        kind = kind_of(given)
        if not isinstance(kind, str):
            return missing(f"{at}.type") if kind is None else wrong_type(f"{at}.type", "a string", kind)
        if kind == "message":
            return self._message(given, at)
        if kind in _CALLS:
            return self._call({**given, "type": kind}, at)
        if kind.endswith(("_output", "_response")):
            return self._result(given, kind, at)
        self._other(given, kind, at)
        return None

    def end(self) -> Fault | None:
        """The conversation is whole: a call that no result follows is refused, as it would be upstream."""
        self._end_said()
        if not self._open:
            return None
        first, kind = next(iter(self._open.items()))
        named = "function call" if kind == "function_call" else kind.replace("_", " ")
        return Fault(400, f"No tool output found for {named} {first[:100]}.", param="input")

    def _message(self, given: Item, at: str) -> Fault | None:
        role = ROLES.get(given["role"]) if isinstance(given.get("role"), str) else None
        if role is None:
            return missing(f"{at}.role") if "role" not in given else wrong_value(f"{at}.role", given["role"], (*ROLES,))
        text = self._text(given.get("content"), f"{at}.content")
        if isinstance(text, Fault):
            return text
        if role is Role.ASSISTANT:
            self._said.append({**given, "type": "message"})
            return None
        self._end_said()
        plain = given["role"] == role and _is_plain(given)
        self.messages.append(Message(role, text, echo=None if plain else written([given])))
        return None

    def _text(self, content: Any, at: str) -> str | Fault:
        if isinstance(content, str):
            return content
        if not isinstance(content, list):
            return wrong_type(at, "one of a string or array of objects", content)
        texts = []
        for n, part in enumerate(content):
            if not isinstance(part, dict):
                return wrong_type(f"{at}[{n}]", "an object", part)
            kind = part.get("type")
            if not isinstance(kind, str):
                return missing(f"{at}[{n}].type") if kind is None else wrong_type(f"{at}[{n}].type", "a string", kind)
            said = part.get(_TEXTS.get(kind, ""))
            if isinstance(said, str):
                texts.append(said)
            elif kind in _TEXTS:
                return missing(f"{at}[{n}].{_TEXTS[kind]}")
            else:
                self._look(f"{at}[{n}]")
        return "\n".join(texts)

    def _call(self, given: Item, at: str) -> Fault | None:
        custom = given["type"] == "custom_tool_call"
        for name in ("call_id", "name", "input" if custom else "arguments"):
            value = given.get(name)
            if not isinstance(value, str):
                return missing(f"{at}.{name}") if value is None else wrong_type(f"{at}.{name}", "a string", value)
        if not given["call_id"]:
            return missing(f"{at}.call_id")
        self._said.append(given)
        self._open[given["call_id"]] = given["type"]
        self._known.add(given["call_id"])
        return None

    def _result(self, given: Item, kind: str, at: str) -> Fault | None:
        name = "approval_request_id" if kind == "mcp_approval_response" else "call_id"
        of = given.get(name)
        if not isinstance(of, str):
            return missing(f"{at}.{name}") if of is None else wrong_type(f"{at}.{name}", "a string", of)
        self._end_said()
        if of not in self._known and not self._refers:
            called = kind.removesuffix("_output").removesuffix("_call").replace("_", " ")
            return Fault(400, f"No tool call found for {called} call output with call_id {of[:100]}.", param="input")
        output = given.get("output", "")
        text = self._text(output, f"{at}.output") if kind in ("function_call_output", "custom_tool_call_output") else ""
        if isinstance(text, Fault):
            return text
        if kind != "function_call_output":
            self._look(at)
        self._open.pop(of, None)
        plain = kind == "function_call_output" and isinstance(output, str) and given.keys() <= _PLAIN_RESULT
        plain &= of in self._known
        self.messages.append(Message(Role.TOOL, text, tool_call_id=of, echo=None if plain else written([given])))
        return None

    def _other(self, given: Item, kind: str, at: str) -> None:
        """What the model thought, what a provider's tool did, or what nobody here knows."""
        if kind == "reasoning":
            if not str(given.get("id", "")).startswith(OUR_THOUGHTS):
                self._said.append(given)
            return
        self._look(at)
        self._said.append(given)
        self._refers |= kind == REFERENCE
        if kind in OTHER_CLIENT_CALLS and (of := call_id(given)):
            self._known.add(of)
            self._open[of] = kind

    def _look(self, at: str) -> None:
        if self.beyond_text is None:
            self.beyond_text = at

    def _end_said(self) -> None:
        """What the assistant said is followed by something else: it is a message."""
        items, self._said = self._said, []
        if not items:
            return
        texts = [text_of(item) for item in items if item.get("type") == "message"]
        calls = tuple(_as_call(item) for item in client_calls(items))
        plain = len(texts) <= 1 and all(map(_is_plain, items)) and _says_first(items)
        message = Message(Role.ASSISTANT, "".join(texts), calls, echo=None if plain else written(items))
        self.messages.append(message)


def read_input(given: Any, before: Sequence[Message] = (), answered: Sequence[Item] = ()) -> Conversation | Fault:
    """The conversation of a request. `before`: the one it goes on from, and `answered`: the answer to that."""
    if isinstance(given, str):
        given = [{"role": "user", "content": given}]
    if not isinstance(given, list):
        return wrong_type("input", "one of a string or array of objects", given)
    if len(given) + len(before) > MOST_MESSAGES:
        message = f"Invalid 'input': array too long. Expected an array with maximum length {MOST_MESSAGES}."
        return Fault(400, message, code="array_above_max_length", param="input")
    conversation = Conversation()
    conversation.after(before)
    for n, item in enumerate((*answered, *given), start=-len(answered)):
        at = f"input[{n}]" if n >= 0 else f"previous_response_id.output[{n + len(answered)}]"
        fault = conversation.take(item, at)
        if fault is not None:
            return fault
    return conversation.end() or conversation


def kind_of(item: Item) -> Any:
    """The type of an item, which messages and references may leave out."""
    if "role" in item:
        return item.get("type", "message")
    named_alone = item.get("type") is None and item.keys() | {"type"} == {"id", "type"}
    return REFERENCE if named_alone else item.get("type")


def references_in(given: Any) -> tuple[str, ...]:
    """The ids of the items that stand in the input by their id alone, each once."""
    items = [item for item in given if isinstance(item, dict)] if isinstance(given, list) else []
    named = (item.get("id") for item in items if kind_of(item) == REFERENCE)
    return tuple(dict.fromkeys(each for each in named if isinstance(each, str)))


def text_of(item: Item) -> str:
    """The text of a message."""
    content = item.get("content")
    if isinstance(content, str):
        return content
    said = (part.get(_TEXTS.get(str(part.get("type")), "")) for part in content or () if isinstance(part, dict))
    return "".join(text for text in said if isinstance(text, str))


def _is_plain(item: Item) -> bool:
    """Whether a message, or a call, is said by its text, or by its name and arguments."""
    if item.get("type") in _CALLS:
        return item.keys() <= _PLAIN_CALL
    content = item.get("content")
    if item.get("type", "message") != "message" or not item.keys() <= _PLAIN_MESSAGE:
        return False
    return isinstance(content, str) or (isinstance(content, list) and len(content) == 1 and _is_plain_text(content[0]))


def _is_plain_text(part: Item) -> bool:
    kept = {name for name in part if name not in _EMPTY_LISTS or part[name]}
    return kept == {"type", "text"}


def _says_first(items: Sequence[Item]) -> bool:
    """Whether nothing was called before it was said: text and calls tell no other order."""
    return all(item.get("type") != "message" for item in items[1:])


def _as_call(item: Item) -> ToolCall:
    kind = str(item.get("type"))
    if kind == "custom_tool_call":
        return ToolCall(call_id(item), str(item.get("name")), {}, str(item.get("input", "")), custom=True)
    if kind == "function_call":
        raw = str(item.get("arguments", ""))
        return ToolCall(call_id(item), str(item.get("name")), _arguments(raw), raw)
    return ToolCall(call_id(item), kind)


def _arguments(raw: str) -> Mapping[str, Any]:
    """What a call was asked with; nothing where that is no object: then the text alone says it."""
    try:
        value = read_strictly(raw or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
