"""The tools a request offers, also in the legacy form of `functions`. Pure."""

from collections.abc import Mapping
from typing import Any

from agentcore.messages import ToolSpec
from dashboard.gateway.wire.faults import Fault, missing, wrong_type
from dashboard.gateway.wire.parsed_request import ANYTHING, NO_TOOLS, OfferedTools, read_specs

_PLAIN = frozenset({"name", "description", "parameters"})


def read_tools(body: Mapping[str, Any]) -> OfferedTools | Fault:
    """`tools` and `tool_choice`, or else `functions` and `function_call`."""
    if body.get("tools"):
        return _tools(body["tools"], body.get("tool_choice"))
    if body.get("functions"):
        return _functions(body["functions"], body.get("function_call"))
    return NO_TOOLS


def _tools(given: Any, choice: Any) -> OfferedTools | Fault:
    if not isinstance(given, list):
        return wrong_type("tools", "an array of objects", given)
    specs, other, exact = [], "", True
    for n, entry in enumerate(given):
        if not isinstance(entry, dict):
            return wrong_type(f"tools[{n}]", "an object", entry)
        kind = entry.get("type", "function")
        if kind == "custom" and isinstance(entry.get("custom"), dict):
            named = entry["custom"]
            specs.append(ToolSpec(str(named.get("name", "")), str(named.get("description") or ""), ANYTHING))
        elif kind == "function":
            spec = _spec(entry.get("function"), f"tools[{n}].function")
            if isinstance(spec, Fault):
                return spec
            specs.append(spec)
        if kind != "function":
            other = other or str(kind)
        exact = exact and _is_said_by_its_spec(entry)
    return OfferedTools(tuple(specs), choice, _allowed(choice), () if exact else tuple(given), other)


def _allowed(choice: Any) -> frozenset[str] | None:
    """The names in `{type: allowed_tools, allowed_tools: {mode, tools}}`."""
    listed = choice.get("allowed_tools") if isinstance(choice, dict) else None
    tools = listed.get("tools") if isinstance(listed, dict) else None
    if not isinstance(tools, list):
        return None
    named = [tool.get("function") for tool in tools if isinstance(tool, dict)]
    return frozenset(str(function.get("name")) for function in named if isinstance(function, dict))


def _is_said_by_its_spec(entry: Mapping[str, Any]) -> bool:
    function = entry.get("function")
    return entry.keys() == {"type", "function"} and isinstance(function, dict) and function.keys() == _PLAIN


def _functions(given: Any, choice: Any) -> OfferedTools | Fault:
    if not isinstance(given, list):
        return wrong_type("functions", "an array of objects", given)
    specs = read_specs(given, _spec, "functions[{}]")
    if isinstance(specs, Fault):
        return specs
    named = {"type": "function", "function": choice} if isinstance(choice, dict) else choice
    return OfferedTools(specs, named, legacy=True)


def _spec(given: Any, at: str) -> ToolSpec | Fault:
    if not isinstance(given, dict):
        return missing(at) if given is None else wrong_type(at, "an object", given)
    name, schema = given.get("name"), given.get("parameters")
    if not isinstance(name, str) or not name:
        return missing(f"{at}.name")
    if schema is not None and not isinstance(schema, dict):
        return wrong_type(f"{at}.parameters", "an object", schema)
    described = given.get("description")
    return ToolSpec(name, described if isinstance(described, str) else "", ANYTHING if schema is None else schema)
