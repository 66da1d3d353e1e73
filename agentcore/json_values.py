"""Whether a value is JSON all the way down, as histories are stored: no NaN, no infinity, string keys, no cycle."""

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

_PLAIN = frozenset({str, bool, type(None)})
_NUMBERS = frozenset({int, float})
_LISTS = frozenset({list, tuple})
_HOLDERS = _LISTS | {dict}  #: asked first: to ask by `isinstance` takes five times as long
_LEAST, _MOST = -(2.0**63), 2.0**63  #: of a number that is surely one; others are looked at more closely
_MOST_BITS = 14_000  #: of a whole number: Python makes no text of one with more than 4,300 digits
MOST_LEVELS = 1_000  #: lists and objects in one another, beyond which no reader of JSON follows


def is_json(value: Any) -> bool:
    """Whether this is JSON; tuples count as lists, and any mapping with string keys as an object."""
    return not foreign(value)


def _is_number(part: Any) -> bool:
    """Whether this is a number that can be written as JSON."""
    if isinstance(part, float):
        return isfinite(part)
    return isinstance(part, int) and part.bit_length() <= _MOST_BITS


def _is_flat(value: Mapping[Any, Any]) -> bool:
    """Whether it holds nothing but texts and plain numbers, as most values do that are looked at: all is JSON then."""
    for key, part in value.items():
        kind = part.__class__
        if key.__class__ is not str or not (kind in _PLAIN or (kind in _NUMBERS and _LEAST <= part <= _MOST)):
            return False
    return True


def foreign(value: Any) -> list[Any]:
    """The first part of a value that is no JSON, in a list; an empty one where all of it is."""
    if value.__class__ is dict and _is_flat(value):
        return []
    level: Iterable[Any] = (value,)
    for _ in range(MOST_LEVELS):
        inner: dict[int, Any] = {}  #: by identity, so that what stands in many places is looked at once
        for part in level:
            kind = part.__class__
            if kind in _PLAIN:
                continue
            if kind in _HOLDERS or isinstance(part, Mapping | list | tuple):
                inner[id(part)] = part
            elif not (_is_number(part) or isinstance(part, str)):
                return [part]
        if not inner:
            return []
        level = []
        for part in inner.values():
            if part.__class__ in _LISTS or not isinstance(part, Mapping):
                level += part
                continue
            for key in part:
                if key.__class__ is not str and not isinstance(key, str):
                    return [key]
            level += part.values()
    return [value]
