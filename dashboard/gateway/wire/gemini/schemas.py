"""Google's `Schema`, a part of OpenAPI's with types in capitals, as a JSON Schema. Pure."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from dashboard.gateway.wire.gemini.address import camel

Json = dict[str, Any]

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


def _typed(told: Json, schema: Json) -> Json:
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
