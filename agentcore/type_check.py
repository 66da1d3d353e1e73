"""Whether a value of the core is what its annotations say. `serial` trusts who wrote a history, for it reads many; a
file's writer is a stranger."""

import types
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints


def misfits(hint: Any, value: Any, place: str = "") -> Iterator[str]:
    """The places in a value that are not as annotated, with dots between the parts."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        if not any(_fits(inner, value) for inner in get_args(hint)):
            yield place
    elif origin is tuple:
        yield from _misfits_of_items(get_args(hint)[0], value, place) if isinstance(value, tuple) else (place,)
    elif origin is frozenset:
        inner = get_args(hint)[0]
        if not isinstance(value, frozenset) or not all(_fits(inner, item) for item in value):
            yield place
    elif is_dataclass(hint):
        yield from _misfits_of_fields(hint, value, place) if type(value) is hint else (place,)
    elif not _plainly_fits(hint, origin, value):
        yield place


def _fits(hint: Any, value: Any) -> bool:
    return next(misfits(hint, value), None) is None


def _misfits_of_items(inner: Any, value: tuple[Any, ...], place: str) -> Iterator[str]:
    for index, item in enumerate(value):
        yield from misfits(inner, item, f"{place}.{index}")


def _misfits_of_fields(cls: Any, value: Any, place: str) -> Iterator[str]:
    for name, hint in _hints(cls):
        yield from misfits(hint, getattr(value, name), f"{place}.{name}".lstrip("."))


@cache
def _hints(cls: Any) -> tuple[tuple[str, Any], ...]:
    """The fields that are read, with their annotations; criteria are built where they are wanted."""
    hints = get_type_hints(cls)
    return tuple((f.name, hints[f.name]) for f in fields(cls) if f.compare and f.name != "criteria")


def _plainly_fits(hint: Any, origin: Any, value: Any) -> bool:
    if hint is Any:
        return True
    if origin is not None:  # Mapping[str, Any] and its like
        return isinstance(value, Mapping)
    if hint is float:
        return type(value) in (int, float)
    return type(value) is hint if hint in (int, str, bool) else isinstance(value, hint)
