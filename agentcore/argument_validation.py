"""Validation of public constructors and functions: wrong input raises an error that names the argument.

`strict` decorates a frozen slotted dataclass. Its constructor then checks every field against its annotation and its
range in one generated expression. A value that fails is checked again, to say what is wrong. The check is shallow,
because a nested value was checked when it was constructed; only JSON is checked to its full depth. Copies
(`values.replace`) and values that `serial` reads (`unchecked`) are not checked: stored histories must stay readable.
"""

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import StrEnum
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar, Union, get_args, get_origin

from agentcore.json_values import foreign, is_json


class CoreError(Exception):
    """The base class of all exceptions of this package."""


class WrongInput(CoreError, ValueError, TypeError):
    """An argument of a public function or class is invalid. The message names it and says what is expected."""


_Made = TypeVar("_Made")
#: The smallest and the largest value that a number may have; None: any.
Range = tuple[float | None, float | None]
#: The enumeration of the values that a text may have.
Words = type[StrEnum]

_NOT_NEGATIVE: Range = (0, None)
LARGEST_NUMBER = 2**53  #: larger integers are not exact as floats, and arithmetic may fail
_DIGITS = 40  #: of a number that is shown in an error
_ABSENT = object()  #: in place of an argument that is not given and has no default


_Told = ParamSpec("_Told")
_Given = TypeVar("_Given")


def door(function: Callable[_Told, _Given]) -> Callable[_Told, _Given]:
    """Decorates a public function: an unknown or missing argument raises `WrongInput`."""

    @wraps(function)
    def called(*args: _Told.args, **named: _Told.kwargs) -> _Given:
        try:
            return function(*args, **named)
        except TypeError as error:
            # One that was raised within the function is about something else.
            if isinstance(error, WrongInput) or error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise
            refusal = _unfitting(function.__name__, error, list(signature(function).parameters))
        raise refusal

    return called


def _unfitting(owner: str, error: TypeError, known: Sequence[str]) -> WrongInput:
    """Python's own words for it, which name the argument, and what there is."""
    words = str(error).partition("() ")[2] or str(error)
    return WrongInput(f"{owner}: {words}. It takes {', '.join(known) or 'nothing'}.")


def strict(**ranges: Range | Words) -> Callable[[type[_Made]], type[_Made]]:
    """Decorates a class so that its constructor raises `WrongInput`. Numbers are at least 0 where no range is given.

    A text with an enumeration must be one of its values, or None, and stays a text: stored texts are read unchecked.
    """

    def decorate(cls: type[_Made]) -> type[_Made]:
        made: Any = cls
        known = {field.name: field for field in fields(made) if field.init}
        rules = {name: _rule(field.type, ranges.get(name, _NOT_NEGATIVE)) for name, field in known.items()}
        unchecked = made.__init__
        made.__unchecked__ = unchecked
        made.__init__ = _checked(cls.__name__, unchecked, known, rules)
        return cls

    return decorate


def _rule(hint: Any, given: Range | Words) -> tuple[Any, Range]:
    return (Union[given, None], _NOT_NEGATIVE) if isinstance(given, type) else (hint, given)  # noqa: UP007


def unchecked(cls: type[_Made]) -> Callable[..., _Made]:
    """Return a constructor of this class without validation, for stored data."""
    init = cls.__dict__.get("__unchecked__")
    if init is None:
        return cls

    def make(**values: Any) -> _Made:
        value = cls.__new__(cls)
        init(value, **values)
        return value

    return make


def required(value: object, cls: type, name: str) -> None:
    """Raise `WrongInput` if an argument is not of this class."""
    if not isinstance(value, cls):
        raise WrongInput(f"{name} must be {_a(cls.__name__)}, not {shown(value)}.")


def optional(value: object, cls: type, name: str) -> None:
    """Raise `WrongInput` if an argument is neither of this class nor None."""
    if value is not None and not isinstance(value, cls):
        raise WrongInput(f"{name} must be {_a(cls.__name__)} or None, not {shown(value)}.")


def shown(value: object) -> str:
    """Return a wrong value as shown in an error: a number or a short text unchanged, anything else as its type."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, int) and abs(value) >= 10**_DIGITS:  # of many digits Python makes no text
        return f"a number of more than {_DIGITS} digits"
    plain = value is None or isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= 40)
    return f"{value!r}" if plain else _a(type(value).__name__)


def _shown_inside(hint: Any, given: Any) -> str:
    """The wrong value; of a list the first member that is wrong, of an object the first value that is no JSON."""
    if (hint is Any or isinstance(given, Mapping)) and (parts := foreign(given)):
        return f"one with {shown(parts[0])}"
    if get_origin(hint) is not tuple or not isinstance(given, tuple | list):
        return shown(given)
    if not given:
        return "an empty one"
    item = get_args(hint)[0]
    return f"one with {shown(next((one for one in given if not _belongs(item, one)), given))}"


def _belongs(item: Any, one: Any) -> bool:
    """Whether this may be a member of a list of `item`."""
    if not isinstance(item, type):
        return asks(one)
    return one in [str(member) for member in item] if issubclass(item, StrEnum) else isinstance(one, item)


def asks(one: object) -> bool:
    """Whether this object is a criterion: it has `explain` or `decide`. A class is not; its instances may be."""
    return not isinstance(one, type) and callable(getattr(one, "decide", getattr(one, "explain", None)))


def _a(noun: str) -> str:
    return f"{'an' if noun[:1] in 'AEIOUaeio' else 'a'} {noun}"


def _checked(name: str, plain: Callable[..., None], known: Mapping[str, Field[Any]], rules: Mapping[str, Any]) -> Any:
    """The constructor with its arguments by name, as `dataclasses` write one: `*args` would take twice as long."""
    used: dict[str, Any] = {"plain": plain, "NoneType": type(None), "Mapping": Mapping}
    used["refuse"] = lambda value: _refuse(name, value, rules)
    used["unknown"] = lambda given: _unknown(name, given, list(known))
    used["too_many"] = lambda given: _too_many(name, len(given), list(known))
    tests = [test for field, (hint, range_) in rules.items() if (test := _test(f"self.{field}", hint, range_, used))]
    positional = [field for field in known if not known[field].kw_only]
    named = [field for field in known if known[field].kw_only]
    for field in named:
        used[f"default_{field}"] = known[field].default
    arguments = ", ".join([*positional, "*_more", *(f"{n}=default_{n}" for n in named), "**_unknown"])
    passed = ", ".join([*positional, *(f"{n}={n}" for n in named)])
    lines = (
        f"def __init__(self, {arguments}):",
        "    if _unknown: unknown(_unknown)",
        "    if _more: too_many(_more)",
        f"    try: plain(self, {passed})",
        "    except (TypeError, ValueError, AttributeError): refuse(self); raise",
        f"    if not ({' and '.join(tests) or 'True'}): refuse(self)",
    )
    exec("\n".join(lines), used)  # noqa: S102
    init: Any = used["__init__"]
    needed = len(positional) - len(plain.__defaults__ or ())
    init.__defaults__ = (_ABSENT,) * needed + (plain.__defaults__ or ())  # Python's own refusal would be no `CoreError`
    init.__doc__ = plain.__doc__
    init.__wrapped__ = plain
    return init


def _test(place: str, hint: Any, range_: Range, used: dict[str, Any]) -> str:
    """An expression that is true of almost every right value, and of no wrong one; empty where anything is right."""
    used["is_json"] = is_json
    if hint is Any:
        return f"({place} is None or is_json({place}))"
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        tests = [_test(place, one, range_, used) for one in inner if one is not type(None)]
        return "" if "" in tests else f"({place} is None or {' or '.join(tests)})" if type(None) in inner else ""
    if origin is tuple:
        empty = f"{place} and" if range_[0] else f"not {place} or"
        return f"({place}.__class__ is tuple and ({empty} {_items(place, inner[0], used)}))"
    if origin is not None:
        mapping = isinstance(origin, type) and issubclass(origin, Mapping)
        kind = f"({place}.__class__ is dict or isinstance({place}, Mapping))"
        return f"({kind} and (not {place} or is_json({place})))" if mapping else f"callable({place})"
    if hint in (int, float):
        low, high = range_
        of = f"({place}.__class__ is int{f' or {place}.__class__ is float' if hint is float else ''})"
        least, most = -LARGEST_NUMBER if low is None else low, LARGEST_NUMBER if high is None else high
        return f"({of} and {least} <= {place} <= {most})"
    used[hint.__name__] = hint
    return f"{place}.__class__ is {hint.__name__}"


def _items(place: str, item: Any, used: dict[str, Any]) -> str:
    if not isinstance(item, type):
        used["asks"] = asks
        return f"not [1 for item in {place} if not asks(item)]"
    used[item.__name__] = item
    return f"not [1 for item in {place} if item.__class__ is not {item.__name__}]"


def _unknown(owner: str, given: Mapping[str, object], known: Sequence[str]) -> None:
    raise WrongInput(f"{owner} has no argument {next(iter(given))}. It takes {', '.join(known) or 'none'}.")


def _too_many(owner: str, more: int, known: Sequence[str]) -> None:
    raise WrongInput(f"{owner} was given {more} too many. It takes {', '.join(known) or 'nothing'}.")


def _refuse(owner: str, value: object, rules: Mapping[str, Any]) -> None:
    """Say what is wrong with the first field that is; nothing where all may pass, as a subclass may."""
    for name, (hint, range_) in rules.items():
        given = getattr(value, name, MISSING)
        if given is _ABSENT:
            raise WrongInput(f"{owner}: {name} is missing. It takes {', '.join(rules)}.")
        if given is not MISSING and (expected := _expected(hint, range_, given)):
            raise WrongInput(f"{owner}: {name} must be {expected}, not {_shown_inside(hint, given)}.")


def _expected(hint: Any, range_: Range, given: Any) -> str:
    """What is expected in this place, in words; empty where the value is right."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return "" if is_json(given) else "JSON"
    if origin in (Union, types.UnionType):
        return _expected_of_any(inner, range_, given)
    if origin is tuple:
        return _expected_items(inner[0], given) or ("a list that is not empty" if range_[0] and not given else "")
    if origin is not None:
        mapping = isinstance(origin, type) and issubclass(origin, Mapping)
        right = isinstance(given, Mapping) and is_json(given) if mapping else callable(given)
        return "" if right else "an object of JSON, with string keys" if mapping else "a function"
    if hint in (int, float):
        return _expected_number(hint, range_, given)
    if hint is bool:
        return "" if isinstance(given, bool) else "True or False"
    if issubclass(hint, StrEnum):
        words = [str(member) for member in hint]
        return "" if given in words else f"one of {', '.join(words)}"
    if getattr(hint, "_is_protocol", False):
        return "" if callable(getattr(given, "resolve", None)) else "an object with resolve(state)"
    return "" if isinstance(given, hint) else "text" if hint is str else _a(hint.__name__)


def _expected_of_any(inner: tuple[Any, ...], range_: Range, given: Any) -> str:
    kinds = [kind for kind in inner if kind is not type(None)]
    if given is None and len(kinds) < len(inner):
        return ""
    wanted = [_expected(kind, range_, given) for kind in kinds]
    if "" in wanted:
        return ""
    return " or ".join([*wanted, *(["None"] if len(kinds) < len(inner) else [])])


def _expected_items(item: Any, given: Any) -> str:
    if isinstance(given, tuple | list) and all(_belongs(item, one) for one in given):
        return ""
    if not isinstance(item, type):
        return "a list of criteria, each with decide(state) or explain(state)"
    if issubclass(item, StrEnum):
        return f"a list of words, each one of {', '.join(item)}"
    return f"a list of {f'{item.__name__} values' if is_dataclass(item) else 'words'}"


def _expected_number(hint: Any, range_: Range, given: Any) -> str:
    low, high = range_
    noun = "a whole number" if hint is int else "a number"
    kind = int if hint is int else int | float
    is_number = isinstance(given, kind) and not isinstance(given, bool)
    if is_number and (-LARGEST_NUMBER if low is None else low) <= given <= (LARGEST_NUMBER if high is None else high):
        return ""
    if high is None and is_number and given > LARGEST_NUMBER:
        high = LARGEST_NUMBER
    bounds = "" if low is None else f" of at least {low:g}" if high is None else f" from {low:g} to {high:,}"
    return f"{noun}{bounds}"


__all__ = ["CoreError", "Range", "WrongInput", "asks", "optional", "required", "shown", "strict", "unchecked"]
