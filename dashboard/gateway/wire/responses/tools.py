"""The tools a Responses request offers, and how the model is to choose among them. Pure.

What is read here has the form of chat completions, which is what other dialects are told from; an upstream of this
dialect is sent the tools as they came.
"""

from collections.abc import Mapping
from typing import Any

from agentcore.messages import ToolSpec
from dashboard.gateway.wire.faults import Fault, missing, wrong_type
from dashboard.gateway.wire.parsed_request import ANYTHING, NO_TOOLS, OfferedTools, read_specs

_FUNCTION = "function"
#: Types of tools that the client runs; all others are run by the provider, within the answer.
_RUN_BY_CLIENTS = (_FUNCTION, "custom", "computer", "local_shell", "apply_patch", "namespace")
_PLAIN = frozenset({"type", "name", "description", "parameters"})

Json = dict[str, Any]


def read_tools(body: Mapping[str, Any]) -> OfferedTools | Fault:
    """`tools` and `tool_choice`."""
    given = body.get("tools")
    if not given:
        return NO_TOOLS
    if not isinstance(given, list):
        return wrong_type("tools", "an array of objects", given)
    specs = read_specs(given, _spec, "tools[{}]")
    if isinstance(specs, Fault):
        return specs
    choice = _choice(body.get("tool_choice"))
    if isinstance(choice, Fault):
        return choice
    other = next((entry["type"] for entry in given if entry["type"] != _FUNCTION), "") or _other_choice(choice)
    exact = all(entry.keys() <= _PLAIN for entry in given)
    named = tuple(spec for spec in specs if spec.name)
    verbatim = () if exact else tuple(_in_chat_form(entry) for entry in given)
    return OfferedTools(named, choice, _allowed(choice), verbatim, other)


def run_by_provider(body: Mapping[str, Any]) -> bool:
    """Whether the provider runs one of the tools, and leaves in its answer what came of it."""
    kinds = (entry.get("type") for entry in body.get("tools") or () if isinstance(entry, dict))
    return any(isinstance(kind, str) and not kind.startswith(_RUN_BY_CLIENTS) for kind in kinds)


def _spec(entry: Any, at: str) -> ToolSpec | Fault:
    if not isinstance(entry, dict):
        return wrong_type(at, "an object", entry)
    kind, name, schema = entry.get("type"), entry.get("name"), entry.get("parameters")
    if not isinstance(kind, str):
        return missing(f"{at}.type") if kind is None else wrong_type(f"{at}.type", "a string", kind)
    described = entry.get("description")
    words = described if isinstance(described, str) else ""
    if kind != _FUNCTION:
        return ToolSpec(name if isinstance(name, str) else "", words, ANYTHING)
    if not isinstance(name, str) or not name:
        return missing(f"{at}.name")
    if schema is not None and not isinstance(schema, dict):
        return wrong_type(f"{at}.parameters", "an object", schema)
    return ToolSpec(name, words, ANYTHING if schema is None else schema)


def _in_chat_form(entry: Json) -> Json:
    described = {name: value for name, value in entry.items() if name != "type" and value is not None}
    return {"type": entry["type"], entry["type"]: described}


def _choice(given: Any) -> Any:
    """The choice as chat completions have it; None where nothing is said."""
    if given is None or isinstance(given, str):
        return given
    if not isinstance(given, dict):
        return wrong_type("tool_choice", "one of a string or object", given)
    kind = given.get("type")
    if kind == _FUNCTION:
        name = given.get("name")
        return {"type": kind, kind: {"name": name}} if isinstance(name, str) else missing("tool_choice.name")
    if kind == "allowed_tools":
        listed = given.get("tools")
        if not isinstance(listed, list) or not all(isinstance(tool, dict) for tool in listed):
            return wrong_type("tool_choice.tools", "an array of objects", listed)
        tools = [{"type": _FUNCTION, _FUNCTION: {"name": tool.get("name")}} for tool in listed]
        return {"type": kind, kind: {"mode": given.get("mode", "auto"), "tools": tools}}
    return {**given}


def _other_choice(choice: Any) -> str:
    """The type of a tool that has to be called and that no other dialect knows."""
    kind = choice.get("type") if isinstance(choice, dict) else None
    return "" if kind in (None, _FUNCTION, "allowed_tools") else str(kind)


def _allowed(choice: Any) -> frozenset[str] | None:
    """The names that a choice of `allowed_tools` leaves."""
    listed = choice.get("allowed_tools") if isinstance(choice, dict) else None
    return None if listed is None else frozenset(str(tool[_FUNCTION]["name"]) for tool in listed["tools"])
