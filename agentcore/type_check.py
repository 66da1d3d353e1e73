"""Whether a value of this package matches its annotations. `serial` trusts stored histories; imported files are not
trusted.

The checks of a type are built once, because whole histories are checked and almost every value is valid.
"""

import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

from agentcore.argument_validation import LARGEST_NUMBER

_CALCULABLE = 10**300  #: beyond which a whole number is no `float`
_Test = Callable[[Any], bool]  #: whether a value is of one type, all the way down


def misfits(hint: Any, value: Any, place: str = "") -> Iterator[str]:
    """The locations in a value that do not match the annotations, as dotted paths."""
    if _test(hint)(value):
        return
    if get_origin(hint) is tuple and isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from misfits(get_args(hint)[0], item, f"{place}.{index}")
    elif is_dataclass(hint) and type(value) is hint:
        for name, inner in _hints(hint):
            yield from misfits(inner, getattr(value, name), f"{place}.{name}".lstrip("."))
    else:
        yield place


def is_calculable(value: object) -> bool:
    """Whether this is a number that can be computed with. It may be fractional, negative or very large."""
    return value.__class__ in (int, float) and -_CALCULABLE <= value <= _CALCULABLE


@cache
def _plain(hint: Any) -> frozenset[type]:
    """The classes whose values are of this type without being looked into; nearly every field holds one of these."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return frozenset().union(*map(_plain, get_args(hint)))
    if origin is Mapping:
        return frozenset({dict})
    looked_into = is_dataclass(hint) or hint in (int, float)
    return frozenset({hint}) if isinstance(hint, type) and not looked_into else frozenset()


@cache
def _test(hint: Any) -> _Test:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        tests = [_test(inner) for inner in get_args(hint)]
        return lambda value: any(test(value) for test in tests)
    if origin in (tuple, frozenset):
        return _items_test(origin, _test(get_args(hint)[0]))
    if is_dataclass(hint):
        return _fields_test(hint)
    if hint is Any:
        return lambda _: True
    if origin is not None:  # Mapping[str, Any] and its like
        return lambda value: isinstance(value, Mapping)
    if hint in (int, float):
        return _number_test(hint)
    if hint in (str, bool):
        return lambda value: value.__class__ is hint
    return lambda value: isinstance(value, hint)


def _number_test(hint: type) -> _Test:
    """Of numbers with which arithmetic cannot fail."""
    classes = (int,) if hint is int else (int, float)
    return lambda value: value.__class__ in classes and -LARGEST_NUMBER <= value <= LARGEST_NUMBER


def _items_test(cls: type[tuple[Any, ...] | frozenset[Any]], test: _Test) -> _Test:
    return lambda value: isinstance(value, cls) and all(map(test, value))


def _fields_test(cls: Any) -> _Test:
    @cache  # found when first wanted, for a value may hold values of its own class
    def tests() -> tuple[tuple[str, frozenset[type], _Test], ...]:
        return tuple((name, _plain(hint), _test(hint)) for name, hint in _hints(cls))

    def is_whole(value: Any) -> bool:
        if value.__class__ is not cls:
            return False
        for name, plain, test in tests():
            field = getattr(value, name)
            if field.__class__ not in plain and not test(field):
                return False
        return True

    return is_whole


def _hints(cls: Any) -> tuple[tuple[str, Any], ...]:
    """The fields that are read, with their annotations; criteria are built where they are wanted."""
    hints = get_type_hints(cls)
    return tuple((f.name, hints[f.name]) for f in fields(cls) if f.compare and f.name != "criteria")
