"""Attribute values as plain Python values, within bounds of depth, number and length."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

MOST_ATTRIBUTES = 2_000  #: of one span; what comes after is left out
MOST_DEPTH = 24  #: lists and maps in one another
MOST_CHARACTERS = 4_000_000  #: of one text, which is cut there
MOST_INTEGER = 2**63


class DeepError(ValueError):
    """A value is nested too deeply."""


def bounded_text(value: str) -> str:
    return value if len(value) <= MOST_CHARACTERS else value[:MOST_CHARACTERS]


def of_protobuf(value: Any, depth: int = 0) -> Any:
    """An `AnyValue`; bytes are left out."""
    if depth > MOST_DEPTH:
        raise DeepError
    match value.WhichOneof("value"):
        case "string_value":
            return bounded_text(value.string_value)
        case "int_value":
            return value.int_value
        case "bool_value":
            return value.bool_value
        case "double_value":
            return finite(value.double_value)
        case "array_value":
            return [of_protobuf(item, depth + 1) for item in value.array_value.values]
        case "kvlist_value":
            return {item.key: of_protobuf(item.value, depth + 1) for item in value.kvlist_value.values}
    return None


def of_json(value: Any, depth: int = 0) -> Any:
    """The same in protobuf's JSON form: `{"stringValue": …}`."""
    if depth > MOST_DEPTH:
        raise DeepError
    if not isinstance(value, Mapping):
        return None
    for name, held in value.items():
        match name:
            case "stringValue":
                return bounded_text(held) if isinstance(held, str) else None
            case "intValue":
                return integer(held)
            case "boolValue":
                return held if isinstance(held, bool) else None
            case "doubleValue":
                return finite(held) if isinstance(held, float | int) and not isinstance(held, bool) else None
            case "arrayValue":
                return [of_json(item, depth + 1) for item in listed(held, "values")]
            case "kvlistValue":
                return pairs_of(listed(held, "values"), depth + 1)
    return None


def pairs_of(entries: Iterable[Any], depth: int = 0) -> dict[str, Any]:
    """A list of keys and values in JSON form as one object."""
    pairs = (entry for entry in entries if isinstance(entry, Mapping) and isinstance(entry.get("key"), str))
    return {entry["key"]: of_json(entry.get("value"), depth) for entry in pairs}


def listed(value: Any, name: str) -> list[Any]:
    """The list of this name; empty where there is none."""
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, list) else []


def integer(value: Any) -> int | None:
    """A number that JSON writes as text, for it may be too large for a double."""
    if isinstance(value, str) and len(value) <= 20 and value.lstrip("-").isdecimal() and value.isascii():
        try:
            value = int(value)
        except ValueError:
            return None
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and -MOST_INTEGER <= value < 2 * MOST_INTEGER else None


def finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
