"""The tools a Gemini request offers, and how the model is to choose among them. Pure.

Also holds Google's `Schema`, a part of OpenAPI's with types in capitals, as a JSON Schema.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from agentcore.messages import ToolSpec
from dashboard.gateway.wire.faults import Fault
from dashboard.gateway.wire.gemini.address import camel
from dashboard.gateway.wire.gemini.faults import expected, invalid, required
from dashboard.gateway.wire.parsed_request import ANYTHING, NO_TOOLS, OfferedTools, read_specs

Schema = dict[str, Any]

_TYPES = frozenset({"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"})
#: What says nothing of which values are valid, or stands in another word.
_LEFT_OUT = frozenset({"type", "nullable", "propertyOrdering", "example"})
#: Whole numbers, which Google's JSON writes as texts.
_COUNT = re.compile(r"[0-9]{1,18}")
_COUNTS = frozenset({"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"})


def json_schema(given: Any) -> Any:
    """The same as a JSON Schema; what is no schema is given back as it is, for a validator to refuse."""
    if not isinstance(given, dict):
        return given
    schema = camel(given)
    told = {name: _FIELDS.get(name, _same)(value) for name, value in schema.items() if name not in _LEFT_OUT}
    told |= {name: int(told[name]) for name in _COUNTS & told.keys() if _COUNT.fullmatch(str(told[name]))}
    return _typed(told, schema)


def _typed(told: Schema, schema: Schema) -> Schema:
    kind = schema.get("type")
    word = kind.lower() if isinstance(kind, str) and kind.upper() in _TYPES else kind
    nullable = schema.get("nullable") is True
    if nullable and isinstance(told.get("enum"), list):
        told["enum"] = [*told["enum"], None]
    if word is None or word == "TYPE_UNSPECIFIED":
        return told
    return {"type": [word, "null"] if nullable and isinstance(word, str) else word, **told}


def _same(value: Any) -> Any:
    return value


def _each(value: Any) -> Any:
    return [json_schema(each) for each in value] if isinstance(value, list) else value


def _named(value: Any) -> Any:
    return {name: json_schema(each) for name, each in value.items()} if isinstance(value, dict) else value


_FIELDS: Mapping[str, Callable[[Any], Any]] = {
    "anyOf": _each,
    "items": json_schema,
    "prefixItems": _each,
    "properties": _named,
    "defs": _named,
    "additionalProperties": json_schema,
}


DECLARED = "functionDeclarations"
_CLIENTS_OWN = frozenset({DECLARED, "computerUse"})  #: tools that the client runs; Google runs all others
_CHOSEN, _NAMES = "functionCallingConfig", "allowedFunctionNames"
#: Its words for a choice, in those of chat completions.
_CHOICES: Mapping[str, str] = {
    "MODE_UNSPECIFIED": "auto",
    "AUTO": "auto",
    "VALIDATED": "auto",
    "ANY": "required",
    "NONE": "none",
}

Json = Mapping[str, Any]


def read_tools(body: Json) -> OfferedTools | Fault:
    """`tools` and `toolConfig`."""
    given = body.get("tools")
    if given is None:
        return NO_TOOLS
    if not isinstance(given, list) or not all(isinstance(tool, dict) for tool in given):
        return expected("tools", "an array of objects", given)
    lists = [camel(tool).get(DECLARED) or [] for tool in given]
    if not all(isinstance(each, list) for each in lists):
        return expected(f"tools.{DECLARED}", "an array of objects", next(x for x in lists if not isinstance(x, list)))
    specs = read_specs([entry for each in lists for entry in each], _spec, f"tools.{DECLARED}[{{}}]")
    if isinstance(specs, Fault):
        return specs
    choice = _choice(body.get("toolConfig"))
    if isinstance(choice, Fault):
        return choice
    other = next((kind for kind in _kinds(given) if kind != DECLARED), "")
    return OfferedTools(specs, *choice, other=other) if specs or other else NO_TOOLS


def run_by_provider(body: Json) -> bool:
    """Whether Google runs one of the tools, and leaves in its answer what came of it."""
    return any(kind not in _CLIENTS_OWN for kind in _kinds(body.get("tools")))


def _kinds(given: Any) -> Iterator[str]:
    """Each tool that is offered, by the field it stands in."""
    tools = given if isinstance(given, list) else []
    return (kind for tool in tools if isinstance(tool, dict) for kind, said in camel(tool).items() if said is not None)


def _spec(entry: Any, at: str) -> ToolSpec | Fault:
    if not isinstance(entry, dict):
        return expected(at, "an object", entry)
    entry = camel(entry)
    name, described = entry.get("name"), entry.get("description")
    if not isinstance(name, str) or not name:
        return required(f"{at}.name")
    schema = entry.get("parametersJsonSchema")
    if schema is None:
        schema = json_schema(entry.get("parameters"))
    if schema is not None and not isinstance(schema, dict):
        return expected(f"{at}.parameters", "an object", schema)
    return ToolSpec(name, described if isinstance(described, str) else "", schema or ANYTHING)


def _choice(config: Any) -> tuple[Any, frozenset[str] | None] | Fault:
    """The choice as chat completions have it, None where nothing is said; and the names that it leaves."""
    chosen = camel(config).get(_CHOSEN) if isinstance(config, dict) else config
    if chosen is None:
        return None, None
    if not isinstance(chosen, dict):
        return expected("toolConfig", "an object", chosen)
    chosen = camel(chosen)
    mode, names = chosen.get("mode") or "AUTO", chosen.get(_NAMES) or []
    if not isinstance(mode, str) or mode not in _CHOICES:
        return invalid(f"toolConfig.{_CHOSEN}.mode", f"expected one of {', '.join(_CHOICES)}")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return expected(f"toolConfig.{_CHOSEN}.{_NAMES}", "an array of strings", names)
    return _in_chat_form(_CHOICES[mode], names)


def _in_chat_form(word: str, names: list[str]) -> tuple[Any, frozenset[str] | None]:
    tools = [{"type": "function", "function": {"name": name}} for name in names]
    if word == "required" and len(tools) == 1:
        return tools[0], None
    if not tools or word == "none":
        return word, None
    return {"type": "allowed_tools", "allowed_tools": {"mode": word, "tools": tools}}, frozenset(names)
