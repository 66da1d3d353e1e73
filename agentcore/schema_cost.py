"""How many steps it takes to validate a value by a JSON Schema, counted before the validation.

A schema of two kilobytes can need more steps than can ever be completed: with twenty subschemas that each refer twice
to the next one, a million. A running validator cannot be stopped, so the steps are counted before it starts. The count
depends only on the schema and the value, so unlike a time limit it is the same at every replay.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from agentcore.schema_size import MOST_LOOKED_AT, NESTED, Sizes, TooMuchWork, Walk, Words, parts_of, walked, within

#: The maximum number of steps. A validator performs a few million per second.
MOST_STEPS = 2_000_000
MOST_DEPTH = 200  #: The maximum nesting of subschemas, and of the value.
#: The steps of a subschema with an `unevaluated…` keyword, which evaluates its siblings again.
UNEVALUATED = 25
#: The steps of each subschema of `anyOf` and `oneOf`. If none matches, the errors of all are nested into one error at
#: each level, which takes 3 to 9 µs and about 2 KB.
ALTERNATIVE = 16

#: The message for more than `MOST_LOOKED_AT` pairs of subschema and value; `{parts}`: the number of parts of the value.
TOO_MANY_PAIRS = (
    f"Judging this value by the schema looks at more than {MOST_LOOKED_AT:,} pairs of a subschema and a part of the "
    "value, which has {parts:,} parts. Make the value smaller, or give fewer alternatives for each part."
)
#: The message for a schema that refers to itself for the same value.
ENDLESS = "The schema refers to itself for the same value, so judging by it never ends."

_ALL_OF = ("allOf", "anyOf", "oneOf")
_ALTERNATIVES = ("anyOf", "oneOf")
_ONE = ("not", "if", "then", "else")
_REFERS = ("$ref", "$dynamicRef", "$recursiveRef")
#: The keywords that are evaluated after all others of the same value, because they depend on their results.
AGAIN = ("unevaluatedProperties", "unevaluatedItems")
_OF_ITEMS = ("items", "additionalItems", "contains", "unevaluatedItems")
_OF_PROPERTIES = ("additionalProperties", "unevaluatedProperties")

_META = ("https://json-schema.org/", "http://json-schema.org/")
_SCALARS = (str, int, float)
_ID = ("$id", "id")
#: The end of an address that only an address with the same end can be equal to.
_PLAIN = re.compile(r"(?:[^?#%]*/)?(?!\.{1,2}$)([^/?#%]+)")
_ENDLESS = MOST_STEPS + 1  #: in place of steps that are being counted
_Key = tuple[int, int]  #: which subschema with which value
_Pairs = Iterable[tuple[Any, Any]]  #: a subschema, and what it judges


def steps(schema: Any, value: Any, most: int = MOST_LOOKED_AT) -> int:
    """The maximum number of steps of validating `value`. Raises `TooMuchWork` for more than `MOST_STEPS` steps, or more
    than `most` pairs."""
    return _Counting(schema, most).of(value)


class _Subschema(NamedTuple):
    """What of a subschema is counted."""

    own: Words  #: that judge the value by themselves
    again: bool  #: the ones beside it are judged once more
    alternatives: int  #: how many of the ones beside it are in `anyOf` and `oneOf`
    beside: tuple[Any, ...]  #: judge the same value
    properties: Mapping[str, Any]  #: judge the property of their name
    of_each: tuple[Any, ...]  #: judge every property
    of_names: Any  #: judges every property's name
    first: Sequence[Any]  #: judge the item of their place
    of_items: tuple[Any, ...]  #: judge every item


class _Counting:
    def __init__(self, schema: Any, most: int) -> None:
        names, self._most = Names(schema), most
        self._root, self._names = names.root, names
        self._sizes = Sizes()
        self._looked_at = 0
        self._known: dict[_Key, int] = {}
        self._read: dict[int, _Subschema] = {}

    def of(self, value: Any) -> int:
        self._value = value
        part = self._part(self._root, value, 0)
        return part if isinstance(part, int) else walked(part)

    def _part(self, schema: Any, value: Any, depth: int) -> int | Walk:
        """The steps, or the walk that counts them."""
        self._looked_at += 1
        if depth > MOST_DEPTH:
            raise TooMuchWork(NESTED.format(most=MOST_DEPTH))
        if self._looked_at > self._most:
            raise TooMuchWork(TOO_MANY_PAIRS.format(parts=Sizes().of(self._value)))
        if not isinstance(schema, Mapping):
            return 1
        read = self._read.get(id(schema)) or self._reading(schema)
        if not read.beside and (value is None or isinstance(value, _SCALARS)):
            return self._within(read.own.steps(value, self._sizes))  # nearly all of a large value
        key = (id(schema), id(value))
        known = self._known.get(key)
        if known is None:
            self._known[key] = _ENDLESS  # it refers to itself, and so never ends, if it is asked for meanwhile
            return self._count(key, read, value, depth + 1)
        if known == _ENDLESS:
            raise TooMuchWork(ENDLESS)
        return known

    def _count(self, key: _Key, read: _Subschema, value: Any, depth: int) -> Walk:
        own = read.own.steps(value, self._sizes)
        beside = yield from self._sum(((part, value) for part in read.beside), depth)
        inside = yield from self._sum(_inside(read, value), depth)
        own += ALTERNATIVE * read.alternatives
        known = self._known[key] = own + inside + (UNEVALUATED + 2 * beside if read.again else beside)
        return self._within(known)

    def _sum(self, pairs: _Pairs, depth: int) -> Walk:
        taken = 0
        for schema, value in pairs:
            part = self._part(schema, value, depth)
            taken = self._within(taken + (part if isinstance(part, int) else (yield part)))
        return taken

    def _within(self, taken: int) -> int:
        if taken > MOST_STEPS:
            raise TooMuchWork(
                f"Judging this value by the schema takes more than {MOST_STEPS:,} steps, at least {taken:,}: its "
                "subschemas refer to each other too often, or compare and match too much. Make it smaller, or split it."
            )
        return taken

    def _reading(self, schema: Mapping[str, Any]) -> _Subschema:
        patterns, prefix = _mapping(schema, "patternProperties"), schema.get("prefixItems")
        items = prefix if isinstance(prefix, list) else schema.get("items")
        read = self._read[id(schema)] = _Subschema(
            Words.of(schema),
            any(word in schema for word in AGAIN),
            sum(len(parts) for word in _ALTERNATIVES if isinstance(parts := schema.get(word), list | tuple)),
            tuple(beside(schema, self._names)),
            _mapping(schema, "properties"),
            (*patterns.values(), *(schema[word] for word in _OF_PROPERTIES if word in schema)),
            schema.get("propertyNames"),
            items if isinstance(items, list) else (),
            tuple(schema[word] for word in _OF_ITEMS if isinstance(schema.get(word), Mapping)),
        )
        return read


def beside(schema: Mapping[str, Any], names: "Names") -> Iterator[Any]:
    """The subschemas that apply to the same value."""
    for word in _ALL_OF:
        if isinstance(parts := schema.get(word), list | tuple):
            yield from parts
    yield from (schema[word] for word in _ONE if word in schema)
    for word in ("dependentSchemas", "dependencies"):
        yield from _mapping(schema, word).values()
    for word in _REFERS:
        if isinstance(uri := schema.get(word), str):
            yield from names.referred(uri, schema)
    if "$recursiveRef" in schema:
        yield from names.recursive


def _inside(read: _Subschema, value: Any) -> _Pairs:
    """Which parts of the value are judged by which subschemas."""
    if isinstance(value, Mapping):
        yield from ((read.properties[name], value[name]) for name in value.keys() & read.properties.keys())
        for part in read.of_each:
            yield from ((part, child) for child in value.values())
        if read.of_names is not None:
            yield from ((read.of_names, name) for name in value)
    elif isinstance(value, list | tuple):
        yield from zip(read.first, value, strict=False)
        for part in read.of_items:
            yield from ((part, child) for child in value)


def _mapping(schema: Mapping[str, Any], word: str) -> Mapping[str, Any]:
    found = schema.get(word)
    return found if isinstance(found, Mapping) else {}


class Names:
    """The possible targets of the references of a schema. Drafts and validators differ in the effect of `$id`, so all
    interpretations are counted."""

    def __init__(self, schema: Any) -> None:
        self._anchors: dict[str, list[Any]] = {}
        self._ids: list[tuple[str, Any]] = []
        self._bases: dict[int, tuple[Any, ...]] = {}  #: of each subschema, where its references may begin
        self.recursive: list[Any] = []  #: what `$recursiveRef` may lead to
        # The same object at two places would have the names of one of them.
        self.root = json.loads(json.dumps(schema)) if _has_ids(schema) else schema
        self._read()
        if any("json-schema.org" in _unescaped(name).lower() for name, _ in self._ids):
            raise TooMuchWork("An $id of the schema is an address of json-schema.org; leave it out.")

    def _read(self) -> None:
        waiting: list[tuple[Any, tuple[Any, ...]]] = [(root, (root,)) for root in within([self.root])]
        while waiting:
            part, bases = waiting.pop()
            if isinstance(part, Mapping):
                bases = self._named(part, bases)
            waiting += ((inner, bases) for inner in within(part))

    def _named(self, part: Mapping[str, Any], bases: tuple[Any, ...]) -> tuple[Any, ...]:
        """Keep what this object is called; where references within it may begin."""
        for word in ("$anchor", "$dynamicAnchor"):
            if isinstance(name := part.get(word), str):
                self._anchors.setdefault(name, []).append(part)
        if part.get("$recursiveAnchor") is True:
            self.recursive.append(part)
        for word in _ID:
            if isinstance(name := part.get(word), str):
                document, _, anchor = name.partition("#")
                self._ids.append((document, part))
                if anchor:
                    self._anchors.setdefault(anchor, []).append(part)
                bases = bases if part is bases[-1] else (*bases, part)
        self._bases[id(part)] = bases
        return bases

    def referred(self, uri: str, schema: Mapping[str, Any]) -> Iterator[Any]:
        """The possible targets of a reference; for a dynamic one, every target of its name."""
        document, _, fragment = uri.partition("#")
        meta = document.startswith(_META)
        if meta and self._anchors:
            raise TooMuchWork(f"The schema refers to {uri} and has anchors of its own; leave out one of the two.")
        if meta:
            return  # validators bring these along
        bases = self._documents(document, uri) if document else self._bases.get(id(schema), (self.root,))
        if not fragment or fragment.startswith("/"):
            yield from _all_pointed(bases, fragment, uri)
        elif fragment in self._anchors:
            yield from self._anchors[fragment]
        else:
            raise _nowhere(uri)

    def _documents(self, document: str, uri: str) -> Sequence[Any]:
        """The subschemas that an address may be of."""
        end = _end_of(document)
        found = [part for name, part in self._ids if end is None or _end_of(name) in (None, end)]
        if not found:
            raise TooMuchWork(f"The schema refers to {uri}; only references within the schema itself are followed.")
        return found


def _has_ids(schema: Any) -> bool:
    return any(
        isinstance(part, Mapping) and any(isinstance(part.get(word), str) for word in _ID) for part in parts_of(schema)
    )


def _end_of(document: str) -> str | None:
    """None: addresses with other ends may be equal to it."""
    plain = _PLAIN.fullmatch(document)
    return plain[1] if plain else None


def _all_pointed(bases: Sequence[Any], pointer: str, uri: str) -> Iterator[Any]:
    missing: TooMuchWork | None = None
    found = False
    for base in bases:
        try:
            yield _pointed(base, pointer, uri)
            found = True
        except TooMuchWork as error:
            missing = error
    if missing and not found:
        raise missing


_ESCAPED = re.compile("(?:%[0-9A-Fa-f]{2})+")


def _character(escaped: re.Match[str]) -> str:
    return bytes.fromhex(escaped[0].replace("%", "")).decode("utf-8", "replace")


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(_character, text)


def _nowhere(uri: str) -> TooMuchWork:
    return TooMuchWork(f"The schema refers to {uri}, which is nowhere in it.")


def _pointed(base: Any, pointer: str, uri: str) -> Any:
    """What a JSON pointer leads to."""
    found = base
    for escaped in pointer.split("/")[1:]:
        word = _unescaped(escaped).replace("~1", "/").replace("~0", "~")
        try:
            found = found[int(word)] if isinstance(found, list | tuple) else found[word]
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise _nowhere(uri) from error
    return found


__all__ = ["AGAIN", "MOST_STEPS", "Names", "TooMuchWork", "beside", "steps"]
