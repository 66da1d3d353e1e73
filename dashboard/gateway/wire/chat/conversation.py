"""A client's messages as the core's, and its faults in OpenAI's words. Pure.

A message that is more than its role and a text keeps itself as `echo`: an OpenAI-style upstream is sent it as it came.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentcore.messages import Message, Role, ToolCall
from dashboard.gateway.wire.faults import Fault, missing, wrong_type, wrong_value
from dashboard.gateway.wire.parsed_request import MOST_MESSAGES
from dashboard.platform.strict_json import read_strictly

#: A client's roles, as ours. `function` is how results were told before there were tools.
ROLES: Mapping[str, Role] = {
    "system": Role.SYSTEM,
    "assistant": Role.ASSISTANT,
    "user": Role.USER,
    "function": Role.TOOL,
    "tool": Role.TOOL,
    "developer": Role.SYSTEM,
}
_PLAIN = frozenset({"role", "content"})
_TEXTS = frozenset({"text", "refusal"})  # kinds of content parts that any dialect can be told
_RESULT = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."


@dataclass(slots=True)
class Conversation:
    """Messages as they are read, one after the other. `beyond_text`: where the first part stands that is no text."""

    messages: list[Message] = field(default_factory=list)
    beyond_text: str | None = None
    _open: dict[str, str] = field(default_factory=dict)  #: ids of calls without a result yet, and what they call
    _legacy: dict[str, tuple[int, Mapping[str, Any]]] = field(default_factory=dict)  #: of these, by `function_call`
    _known: set[str] = field(default_factory=set)

    def take(self, given: Any, at: str) -> Fault | None:
        """Add a message that stands at `at`, such as `messages.[0]`; what is wrong with it."""
        if not isinstance(given, dict):
            return wrong_type(at, "an object", given)
        if "role" not in given:
            return missing(f"{at}.role")
        role = ROLES.get(given["role"]) if isinstance(given["role"], str) else None
        if role is None:
            return wrong_value(f"{at}.role", given["role"], tuple(ROLES))
        content = given.get("content")
        text = content if isinstance(content, str) else self._text(content, f"{at}.content")
        if isinstance(text, Fault):
            return text
        if role is Role.TOOL:
            return self._result(given, text, at)
        if role is Role.ASSISTANT:
            return self._said(given, text, at)
        if content is None:
            return wrong_type(f"{at}.content", "one of a string or array of objects", None)
        self.messages.append(Message(role, text, echo=_echo(given, text, role)))
        return None

    def unanswered(self) -> Fault | None:
        """Calls that no result follows: an upstream would refuse them, but for a `function_call`, which is told as it
        came."""
        for call_id, (place, given) in self._legacy.items():
            if self._open.pop(call_id, None) is not None:
                self.messages[place] = Message(Role.ASSISTANT, self.messages[place].text, echo=given)
        if not self._open:
            return None
        ids = ", ".join(self._open)[:400]
        message = (
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            f"'tool_call_id'. The following tool_call_ids did not have response messages: {ids}"
        )
        return Fault(400, message, param="messages")

    def _text(self, content: Any, at: str) -> str | Fault:
        if content is None:
            return ""
        if not isinstance(content, list):
            return wrong_type(at, "one of a string or array of objects", content)
        texts = []
        for n, part in enumerate(content):
            if not isinstance(part, dict):
                return wrong_type(f"{at}[{n}]", "an object", part)
            kind = part.get("type")
            if isinstance(kind, list | dict):
                return wrong_type(f"{at}[{n}].type", "a string", kind)
            said = part.get(kind) if kind in _TEXTS else None
            if isinstance(said, str):
                texts.append(said)
            elif self.beyond_text is None:
                self.beyond_text = f"{at}[{n}]"
        return "\n".join(texts)

    def _result(self, given: Mapping[str, Any], text: str, at: str) -> Fault | None:
        call_id = given.get("tool_call_id")
        if given["role"] == "function":
            named = given.get("name")
            if not isinstance(named, str):
                return missing(f"{at}.name")
            call_id = next((key for key, name in reversed(self._open.items()) if name == named), None)
            if call_id is None:  # its call was left out of the history: a result all the same
                self.messages.append(Message(Role.USER, text, echo={**given}))
                return None
        elif call_id is None:
            return missing(f"{at}.tool_call_id")
        if not isinstance(call_id, str) or call_id not in self._known:
            return Fault(400, _RESULT, param=f"{at}.role")
        self._open.pop(call_id, None)
        self.messages.append(Message(Role.TOOL, text, tool_call_id=call_id, echo=_echo(given, text, Role.TOOL)))
        return None

    def _said(self, given: Mapping[str, Any], text: str, at: str) -> Fault | None:
        asked = given.get("tool_calls") or []
        legacy = given.get("function_call")
        if not isinstance(asked, list):
            return wrong_type(f"{at}.tool_calls", "an array of objects", asked)
        if legacy and not asked:
            call_id = f"call_{len(self.messages)}"
            asked = [{"id": call_id, "type": "function", "function": legacy}]
            self._legacy[call_id] = (len(self.messages), {**given})
        calls = []
        for n, entry in enumerate(asked):
            call = _call(entry, f"{at}.tool_calls[{n}]")
            if isinstance(call, Fault):
                return call
            calls.append(call)
            self._open[call.id] = call.name
            self._known.add(call.id)
        echo = None if legacy else _echo(given, text, Role.ASSISTANT)
        self.messages.append(Message(Role.ASSISTANT, text, tuple(calls), echo=echo))
        return None


def read_messages(given: Any) -> Conversation | Fault:
    """The conversation of a request."""
    if not isinstance(given, list):
        return wrong_type("messages", "an array of objects", given)
    if not given:
        message = (
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead."
        )
        return Fault(400, message, code="empty_array", param="messages")
    if len(given) > MOST_MESSAGES:
        message = f"Invalid 'messages': array too long. Expected an array with maximum length {MOST_MESSAGES}."
        return Fault(400, message, code="array_above_max_length", param="messages")
    conversation = Conversation()
    for n, entry in enumerate(given):
        fault = conversation.take(entry, f"messages[{n}]")
        if fault is not None:
            return fault
    return conversation.unanswered() or conversation


def _echo(given: Mapping[str, Any], text: str, role: Role) -> dict[str, Any] | None:
    """The message itself, where role, text and calls do not say all of it."""
    if given.keys() <= _PLAIN and given["role"] == role and given.get("content") == text:
        return None
    if role is Role.TOOL and given.keys() <= {*_PLAIN, "tool_call_id"} and given.get("content") == text:
        return None
    return {**given}


def _call(entry: Any, at: str) -> ToolCall | Fault:
    if not isinstance(entry, dict):
        return wrong_type(at, "an object", entry)
    custom = entry.get("type") == "custom"
    body = entry.get("custom" if custom else "function")
    if not isinstance(body, dict):
        return missing(f"{at}.{'custom' if custom else 'function'}")
    call_id, name, raw = entry.get("id"), body.get("name"), body.get("input" if custom else "arguments")
    if not isinstance(call_id, str) or not call_id:
        return missing(f"{at}.id")
    if not isinstance(name, str):
        return missing(f"{at}.function.name")
    if not isinstance(raw, str):
        return wrong_type(f"{at}.function.arguments", "a string", raw)
    return ToolCall(call_id, name, {} if custom else _arguments(raw), raw, custom=custom)


def _arguments(raw: str) -> Mapping[str, Any]:
    """What a call was asked with; nothing where that is no object: then the text alone says it."""
    try:
        value = read_strictly(raw or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
