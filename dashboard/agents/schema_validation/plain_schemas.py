"""Which schemas cost so little, whatever the value, that asking another process would cost more. Pure.

They are trees of plain words: without references and combinations each part of a value is judged by one subschema, so
the work grows with the value alone. What is not known to be plain is not cheap.
"""

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

MOST_SCHEMA = 8_000  #: characters of a schema as JSON
MOST_VALUE = 32_000  #: the same of a value
MOST_OF_BOTH = 8_000_000  #: their product: each listed value may be compared with each part of the value
_MOST_SUBSCHEMAS = 200
_MOST_DEEP = 20
_EXACT = 2**53  #: integers that are compared at once

_DIALECTS = frozenset(
    {
        "https://json-schema.org/draft/2020-12/schema",
        "https://json-schema.org/draft/2019-09/schema",
        "http://json-schema.org/draft-07/schema#",
        "http://json-schema.org/draft-07/schema",
    }
)
_FORMATS = frozenset({"date", "date-time", "time", "uuid"})  #: that are read once, from left to right


def is_plain(schema: str, value: str = "") -> bool:
    """Both as JSON."""
    small = len(schema) <= MOST_SCHEMA and len(value) <= MOST_VALUE
    return small and len(schema) * len(value) <= MOST_OF_BOTH and _is_plain_text(schema)


@lru_cache(maxsize=512)
def _is_plain_text(schema: str) -> bool:
    return _are_plain([json.loads(schema)])


def _are_plain(level: list[Any]) -> bool:
    """Of all subschemas of one level, and those below."""
    seen = 0
    for _ in range(_MOST_DEEP):
        seen += len(level)
        if seen > _MOST_SUBSCHEMAS or not all(map(_is_plain, level)):
            return False
        level = [inner for schema in level if isinstance(schema, Mapping) for inner in _within(schema)]
        if not level:
            return True
    return False


def _is_plain(schema: Any) -> bool:
    if isinstance(schema, bool):
        return True
    return isinstance(schema, Mapping) and all(word in _WORDS and _WORDS[word](given) for word, given in schema.items())


def _within(schema: Mapping[str, Any]) -> list[Any]:
    inner = [schema[word] for word in ("items", "additionalProperties") if word in schema]
    return [*schema.get("properties", {}).values(), *inner]


def _anything(_given: Any) -> bool:
    return True


def _is_text(given: Any) -> bool:
    return isinstance(given, str)


def _is_number(given: Any) -> bool:
    return isinstance(given, int | float) and abs(given) < _EXACT


def _is_scalar(given: Any) -> bool:
    return given is None or isinstance(given, str) or _is_number(given)


def _are(each: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda given: isinstance(given, list) and all(map(each, given))


def _is_object(given: Any) -> bool:
    return isinstance(given, Mapping)


def _is_schema(given: Any) -> bool:
    return isinstance(given, Mapping | bool)


_NUMBERS = (
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems",
    "minProperties", "maxProperties",
)  # fmt: skip
#: Each word that is plain, and what it may say.
_WORDS: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("title", "description", "$comment"), _is_text),
    **dict.fromkeys(("default", "examples", "deprecated", "readOnly", "writeOnly"), _anything),
    **dict.fromkeys(_NUMBERS, _is_number),
    "$schema": lambda given: isinstance(given, str) and given in _DIALECTS,
    "type": lambda given: _is_text(given) or _are(_is_text)(given),
    "properties": _is_object,
    "required": _are(_is_text),
    "items": _is_schema,
    "additionalProperties": _is_schema,
    "enum": _are(_is_scalar),
    "const": _is_scalar,
    "format": lambda given: isinstance(given, str) and given in _FORMATS,
}
