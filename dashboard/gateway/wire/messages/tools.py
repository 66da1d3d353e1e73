"""The tools a Messages request offers, and how the model is to choose among them. Pure."""

from collections.abc import Mapping
from typing import Any

from agentcore.messages import ToolSpec
from dashboard.gateway.wire.faults import Fault
from dashboard.gateway.wire.messages.faults import expected, invalid, required
from dashboard.gateway.wire.parsed_request import ANYTHING, NO_TOOLS, OfferedTools, read_specs

#: Types of Anthropic's own tools that the client runs; all others are run by Anthropic, within the answer.
_RUN_BY_CLIENTS = ("bash_", "text_editor_", "computer_", "memory_", "browser_")
_PLAIN = frozenset({"name", "description", "input_schema"})
#: Its words for a choice, in those of chat completions.
_CHOICES: Mapping[str, str] = {"auto": "auto", "any": "required", "none": "none"}


def read_tools(body: Mapping[str, Any]) -> OfferedTools | Fault:
    """`tools` and `tool_choice`."""
    given = body.get("tools")
    if not given:
        return NO_TOOLS
    if not isinstance(given, list):
        return expected("tools", "an array", given)
    specs = read_specs(given, _spec, "tools.{}")
    if isinstance(specs, Fault):
        return specs
    choice = _choice(body.get("tool_choice"))
    if isinstance(choice, Fault):
        return choice
    other = next((kind for entry in given if (kind := _typed(entry))), "")
    plain = all(entry.keys() <= _PLAIN for entry in given)
    named = tuple(spec for spec in specs if spec.name)
    return OfferedTools(named, choice, verbatim=() if plain else tuple(given), other=other)


def run_by_provider(body: Mapping[str, Any]) -> bool:
    """Whether Anthropic runs one of the tools, and leaves in its answer what came of it."""
    kinds = [_typed(entry) for entry in body.get("tools") or () if isinstance(entry, dict)]
    return any(kind and not kind.startswith(_RUN_BY_CLIENTS) for kind in kinds)


def is_parallel(body: Mapping[str, Any]) -> bool:
    """Whether several tools may be called at once."""
    choice = body.get("tool_choice")
    return not (isinstance(choice, dict) and choice.get("disable_parallel_tool_use") is True)


def _typed(entry: Mapping[str, Any]) -> str:
    """The type of a tool of Anthropic's own; empty for one that the client describes."""
    kind = entry.get("type")
    return "" if kind in (None, "custom") else str(kind)


def _spec(entry: Any, at: str) -> ToolSpec | Fault:
    if not isinstance(entry, dict):
        return expected(at, "an object", entry)
    name, schema, described = entry.get("name"), entry.get("input_schema"), entry.get("description")
    if _typed(entry):
        return ToolSpec(name if isinstance(name, str) else "", "", ANYTHING)
    if not isinstance(name, str) or not name:
        return required(f"{at}.name")
    if schema is None:
        return required(f"{at}.input_schema")
    if not isinstance(schema, dict):
        return expected(f"{at}.input_schema", "an object", schema)
    return ToolSpec(name, described if isinstance(described, str) else "", schema)


def _choice(given: Any) -> Any:
    """The choice as chat completions have it; None where nothing is said."""
    if given is None:
        return None
    if not isinstance(given, dict):
        return expected("tool_choice", "an object", given)
    kind, name = str(given.get("type")), given.get("name")
    if kind == "tool":
        return (
            {"type": "function", "function": {"name": name}} if isinstance(name, str) else required("tool_choice.name")
        )
    if kind not in _CHOICES:
        return invalid("tool_choice.type", "Input should be 'auto', 'any', 'tool' or 'none'")
    return _CHOICES[kind]
