"""Whether a value of the core is what its annotations say. `serial` trusts who wrote a history, for it reads many; a
file's writer is a stranger.

The tests of a type are found out once: whole histories are asked about, and nearly every value fits.
"""

import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

_Test = Callable[[Any], bool]  #: whether a value is of one type, all the way down


def misfits(hint: Any, value: Any, place: str = "") -> Iterator[str]:
    """The places in a value that are not as annotated, with dots between the parts."""
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


@cache
def _test(hint: Any) -> _Test:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return _any_test([_test(inner) for inner in get_args(hint)])
    if origin in (tuple, frozenset):
        return _items_test(origin, _test(get_args(hint)[0]))
    if is_dataclass(hint):
        return _fields_test(hint)
    if hint is Any:
        return lambda _: True
    if origin is not None:  # Mapping[str, Any] and its like
        return lambda value: isinstance(value, Mapping)
    if hint is float:
        return lambda value: value.__class__ is float or value.__class__ is int
    if hint in (int, str, bool):
        return lambda value: value.__class__ is hint
    return lambda value: isinstance(value, hint)


def _any_test(tests: list[_Test]) -> _Test:
    return lambda value: any(test(value) for test in tests)


def _items_test(cls: type[tuple[Any, ...] | frozenset[Any]], test: _Test) -> _Test:
    return lambda value: isinstance(value, cls) and all(map(test, value))


def _fields_test(cls: Any) -> _Test:
    @cache  # found when first wanted, for a value may hold values of its own class
    def tests() -> tuple[tuple[str, _Test], ...]:
        return tuple((name, _test(hint)) for name, hint in _hints(cls))

    return lambda value: value.__class__ is cls and all(test(getattr(value, name)) for name, test in tests())


def _hints(cls: Any) -> tuple[tuple[str, Any], ...]:
    """The fields that are read, with their annotations; criteria are built where they are wanted."""
    hints = get_type_hints(cls)
    return tuple((f.name, hints[f.name]) for f in fields(cls) if f.compare and f.name != "criteria")
