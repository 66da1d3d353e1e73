"""How large a JSON Schema, a pattern of it and a value are: what a step of judging costs depends on that.

A schema that is too large is refused before it is compiled, for compiling cannot be stopped either. The bounds are of
the schema alone, so that they say the same at every replay.
"""

import re
from collections.abc import Generator, Iterator, Mapping
from functools import lru_cache
from math import frexp
from typing import Any, NamedTuple

from agentcore.argument_validation import CoreError
from agentcore.json_values import MOST_LEVELS

MOST_SUBSCHEMAS = 30_000  #: objects and arrays: 5,000 properties, each of which may be null, have 25,000
MOST_STATES = 20_000  #: of all patterns together: a state takes some hundred bytes
TOO_MANY = (
    "The schema is too large: it has {parts:,} objects and arrays, {over:,} more than the "
    f"{MOST_SUBSCHEMAS:,} that it may have. Split it, or name what is repeated under “$defs” and refer to it."
)
TOO_MANY_STATES = (
    "The patterns of the schema are too large: together they have at least {states:,} states, and may have "
    f"{MOST_STATES:,}. A bounded repeat such as {{{{0,900}}}} counts as often as it repeats."
)
#: Pairs of a subschema and a part of the value that are looked at to count steps, half a million a second.
MOST_LOOKED_AT = 400_000
NESTED = "The schema or the value is nested too deeply to be judged: it has more than {most:,} levels."
TOO_MANY_NAMES = (
    "The value is too large for this schema: {names:,} names, each compared with {patterns:,} patterns of "
    "“patternProperties”, are {over:,} more comparisons than the "
    f"{MOST_LOOKED_AT:,} that are made for one object."
)
LONG = 64  #: characters that are copied or compared in the time of one value
_LONG_PATTERN = 2_000  #: characters from which on a pattern is too large
BACKTRACKS = 100_000  #: that the engine for lookaround and back references may do for one text, in some 2 ms
_BACKTRACKING = 10_000  #: steps that take as long
_DOUBLINGS = 14  #: characters from which on backtracking can take all of these
_TRIED = 10  #: backtracks in the time of one step
_ASIDE = 8  #: characters that lookaround goes through at each of them, in the time of one
_READ = 20  #: states, or characters where the states are few, that are gone through in the time of one step
_FEW = 100  #: states that the engine turns into a table
_FANCY = re.compile(r"\(\?(?:[=!>]|<[=!])|\\[1-9]|\\k|[*+?}]\+")
_OPENS = re.compile(r"\(\?(?:[:=!>]|<[=!])")
_CHOICE = re.compile(r"[*+?{|]")
_REPEATED_GROUP = re.compile(r"\)[*+?{]")
_TOKEN = re.compile(
    r"""(?P<wide>\\[wWsSdD] | \\[pP](?:\{[^{}]*\}|.)) | \\. | (?P<set>\[\^?\]?(?:\\.|\[:?|[^\]\\])*+\]) | (?P<any>\.)
    | (?P<open>\() | (?P<close>\)) | \{(?P<least>\d{1,6})(?P<more>,(?P<most>\d{1,6})?)?\} | .""",
    re.VERBOSE | re.DOTALL,
)
_STATES = {"wide": 20, "set": 8, "any": 4}  #: of what is more than one character


_PLAIN = frozenset({str, int, float, bool, type(None)})
_COMPARED = 2  #: values that are compared with one another in the time of one step
_HASHED = 5  #: values that are looked at for `uniqueItems`, the same
_NAMED = 20  #: names that are looked up, the same
_COUNTED = 2_000  #: characters that are counted, the same
_EXACT = 53  #: bits that a float holds
_MEASURED = 4  #: the square of a long integer's words that is compared with a bound, in the time of one step
_DIVIDED = 16  #: powers of two that numbers are away from 1, for a step of dividing them
_DESCRIBED = 4  #: steps for each value that is judged by the schema of schemas
_META = ("https://json-schema.org/", "http://json-schema.org/")


class TooMuchWork(CoreError, ValueError):
    """Judging would take too many steps, or nobody can say how many."""


def check(schema: Any) -> None:
    """Raises `TooMuchWork` for a schema that would take too long, or too much memory, to compile."""
    states = subschemas = 0
    for subschemas, part in enumerate(parts_of(schema), 1):
        states += sum(map(states_of, _patterns(part))) if subschemas <= MOST_SUBSCHEMAS else 0
        if states > MOST_STATES:
            raise TooMuchWork(TOO_MANY_STATES.format(states=states))
    if subschemas > MOST_SUBSCHEMAS:
        raise TooMuchWork(TOO_MANY.format(parts=subschemas, over=subschemas - MOST_SUBSCHEMAS))


def parts_of(schema: Any) -> Iterator[Any]:
    """All objects and arrays within it, itself included."""
    waiting = within([schema])
    while waiting:
        part = waiting.pop()
        yield part
        waiting += within(part)


def within(part: Any) -> list[Any]:
    """The objects and arrays that an object or an array holds. Of its other values there may be 200,000, and each is
    asked for its class alone."""
    held = part.values() if isinstance(part, Mapping) else part
    return [one for one in held if type(one) not in _PLAIN and isinstance(one, Mapping | list | tuple)]


def _patterns(part: Any) -> Iterator[str]:
    if isinstance(part, Mapping):
        if isinstance(pattern := part.get("pattern"), str):
            yield pattern
        if isinstance(named := part.get("patternProperties"), Mapping):
            yield from (name for name in named if isinstance(name, str))


def states_of(pattern: str) -> int:
    """About how many states a regular expression has once its bounded repeats are written out."""
    if len(pattern) > _LONG_PATTERN:
        return MOST_STATES + 1
    groups, last = [0], 0  #: of each group that is open, and of what was read last
    for token in _TOKEN.finditer(pattern):
        kind, before = token.lastgroup, last
        if kind == "open":
            groups.append(0)
            last = 0
        elif kind == "close":
            last = groups.pop() if len(groups) > 1 else 0
            groups[-1] += last
        elif token["least"] is not None:
            last *= max(1, int(token["most"] or token["least"]) + (token["more"] == ","))
            groups[-1] += last - before
        else:
            last = _STATES.get(kind or "", 1)
            groups[-1] += last
        if groups[-1] > MOST_STATES:
            return MOST_STATES + 1
    return sum(groups)


def matching(pattern: str, states: int, characters: int) -> int:
    """Steps of looking for a pattern of so many states in a text."""
    choices = _choices(pattern)
    if choices is None:
        return characters * (1 + max(0, states - _FEW)) // _READ
    ways: int = 1 + (characters + 1) ** min(choices, 9) // _TRIED
    tried = min(_BACKTRACKING, 1 << min(characters, _DOUBLINGS), ways)
    return tried * (1 + characters // _ASIDE)


@lru_cache(maxsize=4_096)
def _choices(pattern: str) -> int | None:
    """How many times backtracking can choose among the characters of a text; None: the engine need not backtrack."""
    if not (fancy := list(_FANCY.finditer(pattern))):
        return None
    before = pattern[: fancy[-1].start()]
    opened = [token.lastgroup for token in _TOKEN.finditer(before) if token.lastgroup in {"open", "close"}]
    # What follows the last of them is left to the other engine, unless a group holds both.
    tried = pattern[: fancy[-1].end()] if opened.count("open") == opened.count("close") else pattern
    if _REPEATED_GROUP.search(tried):
        return _DOUBLINGS
    anchored = pattern.startswith("^") and "|" not in pattern
    return len(_CHOICE.findall(_OPENS.sub("", tried))) + (not anchored)


def _powers(number: Any) -> int:
    """The number of doublings or halvings between 1 and `number`, 0 for what is not a number. `multipleOf` is computed
    exactly, so its cost grows with this."""
    if isinstance(number, bool) or not isinstance(number, int | float):
        return 0
    return number.bit_length() if isinstance(number, int) else abs(frexp(number)[1])


#: A walk whose calls of itself are yielded: it is sent what they return.
Walk = Generator[Any, int, int]


def walked(walk: Walk) -> int:
    """What a walk returns. Its open calls are in a list, not on the stack: the end is the same however deep the caller
    is. Raises `TooMuchWork` for more than `MOST_LEVELS` of them."""
    waiting: list[Walk] = [walk]
    answer: Any = None  # what begins is sent nothing
    while waiting:
        try:
            waiting.append(waiting[-1].send(answer))
            answer = None
        except StopIteration as ended:
            waiting.pop()
            answer = ended.value
        if len(waiting) > MOST_LEVELS:
            raise TooMuchWork(NESTED.format(most=MOST_LEVELS))
    return int(answer)


def _long(number: Any) -> int:
    """Of 64 bits, that an integer takes beyond what a float holds exactly."""
    bits = number.bit_length() if isinstance(number, int) else 0
    return 1 + bits // 64 if bits > _EXACT else 0


def _longs(items: Any) -> int:
    """The same of all integers that a list holds."""
    held = (part.values() if isinstance(part, Mapping) else part for part in parts_of(items))
    return sum(_long(one) for values in held for one in values if isinstance(one, int))


class Sizes:
    """How many values each value holds, itself included; long texts count as more."""

    def __init__(self) -> None:
        self._known: dict[int, int] = {}
        self._alike: dict[int, int] = {}

    def of(self, value: Any) -> int:
        """Raises `TooMuchWork` for a value that is nested too deeply."""
        known = self._at_once(value)
        return walked(self._walk(value)) if known is None else known

    def _at_once(self, value: Any) -> int | None:
        if isinstance(value, str):
            return 1 + len(value) // LONG
        return self._known.get(id(value)) if isinstance(value, Mapping | list | tuple) else 1

    def _walk(self, value: Any) -> Walk:
        taken = 1 + (sum([1 + len(name) // LONG for name in value]) if isinstance(value, Mapping) else 0)
        for part in value.values() if isinstance(value, Mapping) else value:
            known = self._at_once(part)
            taken += (yield self._walk(part)) if known is None else known
        self._known[id(value)] = taken
        return taken

    def alike(self, items: Any) -> int:
        """Steps of comparing the long integers that a list holds with one another: `uniqueItems` finds them alike."""
        known = self._alike.get(id(items))
        if known is None:
            known = self._alike[id(items)] = 2 * _longs(items) ** 2
        return known


Pattern = tuple[str, int]  #: and its states


class Words(NamedTuple):
    """What of a subschema judges a value by itself, without other subschemas."""

    fixed: int  #: steps for any value
    equals: int  #: values that it must be equal to, or to one of them,
    compared: int  #: and how many values these hold
    unique: bool  #: no two items may be equal
    divisor: int  #: powers of two of what a number must be a multiple of
    described: bool  #: it is judged by the schema of schemas
    patterns: tuple[Pattern, ...]  #: that a text must match
    names: tuple[Pattern, ...]  #: that names of properties may match

    @classmethod
    def of(cls, schema: Mapping[str, Any]) -> "Words":
        listed = schema.get("enum")
        equals = list(listed) if isinstance(listed, list | tuple) else []
        equals += [schema["const"]] if "const" in schema else []
        sizes = Sizes()
        pattern, named = schema.get("pattern"), schema.get("patternProperties")
        return cls(
            1 + len(equals) // 50 + _names_in(schema) // _NAMED,
            len(equals),
            sum(map(sizes.of, equals)),
            schema.get("uniqueItems") is True,
            _powers(schema.get("multipleOf")),
            any(str(schema.get(word, "")).startswith(_META) for word in ("$ref", "$dynamicRef")),
            ((pattern, states_of(pattern)),) if isinstance(pattern, str) else (),
            tuple((name, states_of(name)) for name in named) if isinstance(named, Mapping) else (),
        )

    def steps(self, value: Any, sizes: Sizes) -> int:
        """Of judging this value by them, at most. Raises `TooMuchWork` for more names than can be looked at."""
        taken = self.fixed
        if isinstance(value, str):
            taken += len(value) // _COUNTED + sum([matching(*one, len(value)) for one in self.patterns])
        elif isinstance(value, Mapping):
            if (over := len(self.names) * len(value) - MOST_LOOKED_AT) > 0:
                raise TooMuchWork(TOO_MANY_NAMES.format(names=len(value), patterns=len(self.names), over=over))
            taken += sum([matching(*one, len(name)) for one in self.names for name in value])
        elif self.unique and isinstance(value, list | tuple):
            taken += sizes.of(value) // _HASHED + sizes.alike(value)
        elif isinstance(value, int | float):
            taken += _long(value) ** 2 // _MEASURED
            taken += (self.divisor + _powers(value)) // _DIVIDED if self.divisor else 0
        if self.compared > self.equals:  # else all of them are plain
            taken += min(self.compared, self.equals * sizes.of(value)) // _COMPARED
        return taken + (_DESCRIBED * sizes.of(value) if self.described else 0)


def _names_in(schema: Mapping[str, Any]) -> int:
    """Names that are looked up in every object."""
    held = [schema.get(word) for word in ("required", "properties", "dependentRequired", "dependencies")]
    lists = [*held, *(one for part in held[2:] if isinstance(part, Mapping) for one in part.values())]
    return sum(len(part) for part in lists if isinstance(part, Mapping | list | tuple))
