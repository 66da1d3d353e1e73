"""Frozen values: made quickly, settled when they are made, then changed by copy, eight times as fast as `dataclasses`.

A turn is judged in some hundred copies, of values with up to forty slots; calling a frozen `__init__` takes 9 µs for a
snapshot, a copy 0.6. A frozen class refuses to be written to, so what is written is of another class:

1. the class's *draft* is a subclass that adds no slots and does not refuse;
2. every slot of a new draft is written: from the value that is copied and the changes, or (`quickly_made`) from what
   the value is made of;
3. the draft is declared to be of the class (`copy.__class__ = cls`) and is frozen from then on. Python allows that only
   between classes whose objects lie alike in memory, and raises TypeError for any other.

For slotted dataclasses only. A copy is not settled again, for no `__init__` runs: what changes must be settled already.
tests/agentcore/test_values.py holds them to what `dataclasses` make.
Type checkers see `dataclasses.replace` itself, and so know every field.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from functools import cache, partial, wraps
from typing import TYPE_CHECKING, Any, TypeVar

Made = TypeVar("Made")
_DECLARE = object.__dict__["__class__"].__set__  #: sets the class of a value that refuses to be written to

if TYPE_CHECKING:
    from dataclasses import replace
else:

    def replace(value, /, **changes):
        """A copy of the value with these fields changed. Raises TypeError for a field it does not have."""
        return _COPIERS[value.__class__][tuple(changes)](value, changes)


def changed(value: Made, changes: Mapping[str, Any]) -> Made:
    """The same copy for whom the changes are a dictionary already: `**` would make another of it."""
    cls: Any = value.__class__
    copy: Made = _COPIERS[cls][tuple(changes)](value, changes)
    return copy


@cache
def draft(cls: Any) -> Any:
    """A class whose objects lie alike in memory, and can be written to. Of a subclass Python sees that soonest."""
    written_to = {"__setattr__": object.__setattr__, "__delattr__": object.__delattr__}
    return type(cls.__name__, (cls,), {"__slots__": (), **written_to})


def copiers(cls: Any) -> Mapping[tuple[str, ...], Callable[[Any, Mapping[str, Any]], Any]]:
    """What `changed` finds by the value's class, by the names of the fields: for who changes one class all the time."""
    found: Mapping[tuple[str, ...], Callable[[Any, Mapping[str, Any]], Any]] = _COPIERS[cls]
    return found


def copier(cls: type[Made], *names: str) -> Callable[..., Made]:
    """What copies a value of this class with these fields changed: `copy(value, first, second)`. It takes half the time
    of `replace`, for places that change the same fields in every call."""
    return _copying(cls, f"value, {', '.join(names)}", {name: name for name in names})


def _copier(cls: Any, names: tuple[str, ...]) -> Callable[[Any, Mapping[str, Any]], Any]:
    """The same by a dictionary of the changes."""
    return _copying(cls, "value, changes", {name: f"changes[{name!r}]" for name in names})


class _Kept(dict[Any, Any]):
    """Makes what is not in it yet. Finding what is takes a quarter less than in `functools.cache`."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self.make = make

    def __missing__(self, key: Any) -> Any:
        self[key] = made = self.make(key)
        return made


#: By class, then by the names of the fields: programs change few sets of fields, so few copiers are kept.
_COPIERS = _Kept(lambda cls: _Kept(partial(_copier, cls)))


def _copying(cls: Any, arguments: str, changes: Mapping[str, str]) -> Callable[..., Any]:
    """Written out slot by slot, as `dataclasses` writes an `__init__`: a loop takes 2 µs."""
    for name in changes:
        if name not in cls.__slots__:
            raise TypeError(f"{cls.__name__} has no field {name!r}")
    lines = ["copy = new(draft)", *(f"copy.{name} = {changes.get(name, f'value.{name}')}" for name in cls.__slots__)]
    lines += ["copy.__class__ = cls", "return copy"]
    return _written(f"copier({arguments})", lines, new=object.__new__, draft=draft(cls), cls=cls)


def quickly_made(cls: type[Made]) -> type[Made]:
    """Decorates a frozen slotted dataclass of which every call makes some: its `__init__` takes a third of the time.

    It takes what the ordinary one takes, which still makes the values of subclasses: those may lie otherwise in memory.
    """
    made: Any = cls
    ordinary, known = made.__init__, fields(made)
    plain = [field.name for field in known if field.init and not field.kw_only]
    named = [field.name for field in known if field.init and field.kw_only]
    unset = dict(zip(reversed(plain), reversed(ordinary.__defaults__ or ()), strict=False))
    given = ", ".join([*plain, *(f"{name}={name}" for name in named)])
    lines = [f"if self.__class__ is not cls: return ordinary(self, {given})", "declare(self, draft)"]
    lines += [f"self.{field.name} = {_source(field)}" for field in known]
    lines.append("self.__class__ = cls")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    quick: Any = _written(
        f"__init__({', '.join(['self', *plain, *(['*', *named] if named else [])])})",
        lines,
        cls=cls,
        draft=draft(made),
        ordinary=ordinary,
        declare=_DECLARE,
        factories={field.name: field.default_factory for field in known},
        unset=unset | (ordinary.__kwdefaults__ or {}),
    )
    quick.__defaults__, quick.__kwdefaults__ = ordinary.__defaults__, ordinary.__kwdefaults__
    made.__init__ = wraps(ordinary)(quick)
    return cls


def _source(field: Field[Any]) -> str:
    """What a new value has in this field: what is given, or what its factory makes."""
    name, made = field.name, f"factories[{field.name!r}]()"
    if field.default_factory is MISSING:
        return name
    return f"{name} if {name} is not unset[{name!r}] else {made}" if field.init else made


def _written(signature: str, lines: list[str], **known: Any) -> Callable[..., Any]:
    """The function of these lines, which know these names."""
    exec("\n    ".join([f"def {signature}:", *lines]), known)  # noqa: S102
    written: Callable[..., Any] = known[signature.partition("(")[0]]
    return written


def settle(value: object, **kinds: Callable[[Any], Any]) -> None:
    """Make fields of a new value what they are declared to be: of a word its enumeration, of a list a tuple.

    For `__post_init__`. Programs write `Message("user", …)` and pass lists; judgement compares members and adds tuples.
    Raises ValueError for a word the enumeration does not have.
    """
    for name, kind in kinds.items():
        given = getattr(value, name)
        if given.__class__ is not kind and given is not None:
            if kind is tuple and isinstance(given, str | bytes | Mapping):
                raise TypeError(f"{name} is a list")  # of which Python would make one of letters, or of keys
            object.__setattr__(value, name, kind(given))


__all__ = ["changed", "copier", "copiers", "draft", "quickly_made", "replace", "settle"]
