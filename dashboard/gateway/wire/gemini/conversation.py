"""A Gemini request's conversation as the core's messages, and its faults in Google's words. Pure.

One content of a user's may hold results of calls and words: each result becomes a message of its own, as in the core.
What is more than a text keeps its parts as `echo`: an upstream of this dialect is sent them as they came.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentcore.machine.answer_classification import with_unique_ids
from agentcore.messages import Message, Role, ToolCall
from dashboard.gateway.wire.faults import Fault
from dashboard.gateway.wire.gemini.address import camel
from dashboard.gateway.wire.gemini.faults import expected, invalid, required
from dashboard.gateway.wire.parsed_request import MOST_MESSAGES

_USER, _MODEL = "user", "model"
#: `function` and `tool` is how some clients tell results.
_ROLES: Mapping[Any, str] = {_USER: _USER, None: _USER, "function": _USER, "tool": _USER, _MODEL: _MODEL}
#: Under these names a function tells what it returned, where that is all it tells.
_OUTPUTS = ("output", "result")
_NO_CALL = "no functionCall with this name and id stands before it, or it has its functionResponse already"

Part = dict[str, Any]


@dataclass(slots=True)
class Conversation:
    """Contents as they are read, one after the other. `beyond_text`: where the first part stands that no other dialect
    can be told."""

    messages: list[Message] = field(default_factory=list)
    beyond_text: str | None = None
    _open: dict[str, tuple[str, str]] = field(default_factory=dict)  #: by id, calls without a result: name and place
    _known: set[str] = field(default_factory=set)

    def take(self, given: Any, at: str) -> Fault | None:
        """Add a content that stands at `at`, such as `contents[0]`; what is wrong with it."""
        parts = parts_of(given, at)
        if isinstance(parts, Fault):
            return parts
        role = given.get("role")
        if not isinstance(role, str | None) or role not in _ROLES:
            return invalid(f"{at}.role", "please use a valid role: user, model")
        if _ROLES[role] == _MODEL:
            self._said(parts, f"{at}.parts")
            return None
        return self._told(parts, f"{at}.parts")

    def end(self) -> Fault | None:
        """Calls that no result follows: Google would refuse them."""
        if not self._open:
            return None
        names = ", ".join(name for name, _ in self._open.values())[:400]
        return invalid(next(iter(self._open.values()))[1], f"each functionCall needs a functionResponse: {names}")

    def _told(self, parts: list[Part], at: str) -> Fault | None:
        """What a user says, and what the tools returned."""
        if not parts:
            return invalid(at, "contents.parts must not be empty")
        results = [n for n, part in enumerate(parts) if "functionResponse" in part]
        for n in results:
            fault = self._result(parts[n], f"{at}[{n}]")
            if fault is not None:
                return fault
        words = [part for part in parts if "functionResponse" not in part]
        for n, part in enumerate(parts):
            if "text" not in part and n not in results:
                self._look(f"{at}[{n}]")
        if words:
            # Beside results the parts alone are kept, which then stand in the content of these.
            echo = words if results else None if _is_plain(words) else {"parts": words}
            self.messages.append(Message(Role.USER, "\n".join(_texts(words)), echo=echo))
        return None

    def _result(self, part: Part, at: str) -> Fault | None:
        result = part["functionResponse"]
        call_id = self._call_of(result)
        if call_id is None:
            return invalid(f"{at}.functionResponse", _NO_CALL)
        del self._open[call_id]
        if result.get("parts"):
            self._look(f"{at}.functionResponse.parts")
        text = _returned(result.get("response"))
        self.messages.append(Message(Role.TOOL, text, tool_call_id=call_id, echo=part))
        return None

    def _call_of(self, result: Part) -> str | None:
        """The call that it answers: by its id, or else the first one open of its name."""
        named = [call_id for call_id, (name, _) in self._open.items() if name == result["name"]]
        return result["id"] if result.get("id") in named else next(iter(named), None)

    def _said(self, parts: list[Part], at: str) -> None:
        calls = with_unique_ids(tuple(_call(n, part) for n, part in _calls_in(parts)), frozenset(self._known), 1)
        for n, part in enumerate(parts):
            if not ({"text", "functionCall"} & part.keys() or part.get("thought") is True):
                self._look(f"{at}[{n}]")
        for call in calls:
            self._open[call.id] = (call.name, at)
            self._known.add(call.id)
        echo = None if _is_plain(parts) else {"role": _MODEL, "parts": parts}
        said = [part for part in parts if part.get("thought") is not True]
        self.messages.append(Message(Role.ASSISTANT, "".join(_texts(said)), calls, echo=echo))

    def _look(self, at: str) -> None:
        """Notice what other dialects cannot be told."""
        if self.beyond_text is None:
            self.beyond_text = at


def read_contents(given: Any) -> Conversation | Fault:
    """The conversation of a request."""
    if given is None or given == []:
        return required("GenerateContentRequest.contents")
    if not isinstance(given, list):
        return expected("contents", "an array", given)
    if len(given) > MOST_MESSAGES:
        return invalid("contents", f"at most {MOST_MESSAGES} contents are allowed")
    conversation = Conversation()
    for n, content in enumerate(given):
        fault = conversation.take(content, f"contents[{n}]")
        if fault is not None:
            return fault
    return conversation.end() or conversation


def system_of(given: Any) -> Message | Fault | None:
    """What `systemInstruction` says; more than one plain text keeps itself."""
    if given is None:
        return None
    parts = parts_of(given, "systemInstruction")
    if isinstance(parts, Fault) or not parts:
        return parts if isinstance(parts, Fault) else None
    echo = None if _is_plain(parts) else {"parts": parts}
    return Message(Role.SYSTEM, "\n\n".join(_texts(parts)), echo=echo)


def parts_of(given: Any, at: str) -> list[Part] | Fault:
    """The parts of a content, under the names that JSON has for their fields."""
    if not isinstance(given, dict):
        return expected(at, "an object", given)
    parts = given.get("parts")
    if parts is None:
        return []
    if not isinstance(parts, list):
        return expected(f"{at}.parts", "an array", parts)
    read = []
    for n, part in enumerate(parts):
        if not isinstance(part, dict):
            return expected(f"{at}.parts[{n}]", "an object", part)
        known = {name: value for name, value in camel(part).items() if value is not None}
        fault = _wrong(known, f"{at}.parts[{n}]")
        if fault is not None:
            return fault
        read.append(known)
    return read


def _wrong(part: Part, at: str) -> Fault | None:
    if not isinstance(part.get("text", ""), str):
        return expected(f"{at}.text", "a string", part["text"])
    for kind in {"functionCall", "functionResponse"} & part.keys():
        if not isinstance(part[kind], dict):
            return expected(f"{at}.{kind}", "an object", part[kind])
        if not isinstance(part[kind].get("name"), str):
            return required(f"{at}.{kind}.name")
        if not isinstance(part[kind].get("id"), str | None):
            return expected(f"{at}.{kind}.id", "a string", part[kind]["id"])
    if not isinstance(part.get("functionCall", {}).get("args"), dict | None):
        return expected(f"{at}.functionCall.args", "an object", part["functionCall"]["args"])
    return None


def _calls_in(parts: list[Part]) -> list[tuple[int, Part]]:
    return list(enumerate(part["functionCall"] for part in parts if "functionCall" in part))


def _call(n: int, called: Part) -> ToolCall:
    arguments = called.get("args") or {}
    return ToolCall(
        called.get("id") or f"call_{n}", called["name"], arguments, json.dumps(arguments, ensure_ascii=False)
    )


def _returned(response: Any) -> str:
    """What a function returned, as a text."""
    if isinstance(response, dict) and len(response) == 1:
        output = next((response[name] for name in _OUTPUTS if isinstance(response.get(name), str)), None)
        if output is not None:
            return str(output)
    return json.dumps(response, ensure_ascii=False)


def _texts(parts: list[Part]) -> list[str]:
    return [part["text"] for part in parts if "text" in part]


def _is_plain(parts: list[Part]) -> bool:
    """Whether one text says all of it."""
    return len(parts) == 1 and parts[0].keys() == {"text"}
