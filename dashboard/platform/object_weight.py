"""How many bytes a value keeps in memory, with all that it refers to."""

import sys
from collections.abc import Iterable, Mapping
from enum import Enum
from types import FunctionType, MethodType, ModuleType

_SHARED = (type, Enum, FunctionType, MethodType, ModuleType)  #: what is there anyway


def weight_of(value: object) -> int:
    """Bytes. What is reached in two ways counts once; classes, functions and modules count for nothing."""
    seen, weight = {id(value)}, 0
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, _SHARED):
            continue
        weight += sys.getsizeof(one)
        for part in _parts(one):
            if id(part) not in seen:
                seen.add(id(part))
                waiting.append(part)
    return weight


def _parts(value: object) -> Iterable[object]:
    """What a value refers to."""
    if isinstance(value, str | bytes | bytearray | int | float | None):
        return ()
    if isinstance(value, Mapping):
        return (*value.keys(), *value.values())
    if isinstance(value, list | tuple | set | frozenset):
        return value
    held = getattr(value, "__dict__", {})
    slots = (name for kind in type(value).__mro__ for name in _names(kind))
    return (*held.values(), *(getattr(value, name) for name in slots if hasattr(value, name)))


def _names(kind: type) -> Iterable[str]:
    slots = kind.__dict__.get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else slots
    return (name for name in names if name not in ("__dict__", "__weakref__"))
