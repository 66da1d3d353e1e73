"""How many bytes a value keeps in memory, with all that it refers to."""

import sys
from collections.abc import Iterable, Mapping
from enum import Enum
from types import FunctionType, MethodType, ModuleType

_THERE_ANYWAY = (type, Enum, FunctionType, MethodType, ModuleType)
_PLAIN = (str, bytes, bytearray, int, float)


def weight_of(value: object) -> int:
    """Bytes. What is reached in two ways counts once. Classes, functions and modules count for nothing, and what
    Django's own objects refer to counts only where it was read from the database: the rest is there anyway."""
    seen, weight = {id(value)}, 0
    waiting = [value]
    while waiting:
        one = waiting.pop()
        kind = type(one)  # `isinstance` would have a lazy object made
        if issubclass(kind, _THERE_ANYWAY):
            continue
        weight += sys.getsizeof(one)
        for part in _parts(one, kind):
            if id(part) not in seen:
                seen.add(id(part))
                waiting.append(part)
    return weight


def _parts(value: object, kind: type) -> Iterable[object]:
    """What a value refers to."""
    if value is None or issubclass(kind, _PLAIN):
        return ()
    if issubclass(kind, Mapping):
        assert isinstance(value, Mapping)
        return (*value.keys(), *value.values())
    if issubclass(kind, list | tuple | set | frozenset):
        return tuple(value)  # type: ignore[arg-type]
    held = getattr(value, "__dict__", {})
    if kind.__module__.startswith("django."):
        return (held.get("_result_cache"),)
    slots = (name for each in kind.__mro__ for name in _names(each))
    return (*held.values(), *(getattr(value, name) for name in slots if hasattr(value, name)))


def _names(kind: type) -> Iterable[str]:
    slots = kind.__dict__.get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else slots
    return (name for name in names if name not in ("__dict__", "__weakref__"))
