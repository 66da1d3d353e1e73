"""How many steps judging a value by a JSON Schema takes, counted before anything is judged.

A schema of two kilobytes can ask for more steps than there will ever be time for: subschemas that refer to the next one
twice, twenty times over, are a million. A validator that has begun cannot be stopped, so it is not let begin. The count
is of the schema and the value alone: unlike a time limit, it says the same at every replay.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from agentcore.schema_size import MOST_LOOKED_AT, NESTED, Sizes, TooMuchWork, Walk, Words, walked

#: Steps, of which a validator takes a few million a second.
MOST_STEPS = 2_000_000
MOST_DEPTH = 200  #: subschemas within subschemas, and parts of the value within parts
#: Steps of a subschema with `unevaluated…`, which has the ones beside it judged once more.
UNEVALUATED = 25

_ALL_OF = ("allOf", "anyOf", "oneOf")
_ONE = ("not", "if", "then", "else")
_REFERS = ("$ref", "$dynamicRef", "$recursiveRef")
_AGAIN = ("unevaluatedProperties", "unevaluatedItems")
_OF_ITEMS = ("items", "additionalItems", "contains", "unevaluatedItems")
_OF_PROPERTIES = ("additionalProperties", "unevaluatedProperties")

_META = ("https://json-schema.org/", "http://json-schema.org/")
_SCALARS = (str, int, float)
_Place = tuple[Any, Any]  #: a subschema, and the schema that its references begin in
_Key = tuple[int, int, int]  #: which subschema with which value


def steps(schema: Any, value: Any) -> int:
    """The steps of judging `value`, at most. Raises `TooMuchWork` for more than `MOST_STEPS`."""
    return _Counting(schema).of(value)


class _Subschema(NamedTuple):
    """What of a subschema is counted."""

    own: Words  #: that judge the value by themselves
    again: bool  #: the ones beside it are judged once more
    beside: tuple[_Place, ...]  #: judge the same value
    properties: Mapping[str, Any]  #: judge the property of their name
    of_each: tuple[Any, ...]  #: judge every property
    of_names: Any  #: judges every property's name
    first: Sequence[Any]  #: judge the item of their place
    of_items: tuple[Any, ...]  #: judge every item
    base: Any  #: where its references begin


class _Counting:
    def __init__(self, schema: Any) -> None:
        self._root = schema
        self._named = dict(_named(schema))
        self._sizes = Sizes()
        self._looked_at = 0
        self._known: dict[_Key, int] = {}
        self._read: dict[tuple[int, int], _Subschema] = {}

    def of(self, value: Any) -> int:
        part = self._part((self._root, self._root), value, 0)
        return part if isinstance(part, int) else walked(part)

    def _part(self, place: _Place, value: Any, depth: int) -> int | Walk:
        """The steps, or the walk that counts them."""
        schema, base = place
        self._looked_at += 1
        if depth > MOST_DEPTH or self._looked_at > MOST_LOOKED_AT:
            raise TooMuchWork(NESTED)
        if not isinstance(schema, Mapping):
            return 1
        read = self._read.get((id(schema), id(base))) or self._reading(schema, base)
        if not read.beside and (value is None or isinstance(value, _SCALARS)):
            return self._within(read.own.steps(value, self._sizes))  # nearly all of a large value
        key = (id(schema), id(base), id(value))
        known = self._known.get(key)
        if known is None:
            self._known[key] = MOST_STEPS + 1  # it refers to itself, and so never ends, if it is asked for meanwhile
            return self._count(key, read, value, depth + 1)
        return self._within(known)

    def _count(self, key: _Key, read: _Subschema, value: Any, depth: int) -> Walk:
        own = read.own.steps(value, self._sizes)
        beside = yield from self._sum(((place, value) for place in read.beside), depth)
        inside = yield from self._sum(_inside(read, value), depth)
        known = self._known[key] = own + inside + (UNEVALUATED + 2 * beside if read.again else beside)
        return self._within(known)

    def _sum(self, pairs: Iterable[tuple[_Place, Any]], depth: int) -> Walk:
        taken = 0
        for place, value in pairs:
            part = self._part(place, value, depth)
            taken = self._within(taken + (part if isinstance(part, int) else (yield part)))
        return taken

    def _within(self, taken: int) -> int:
        if taken > MOST_STEPS:
            raise TooMuchWork(
                f"Judging this value by the schema takes more than {MOST_STEPS:,} steps: its subschemas refer to each "
                "other too often, or compare and match too much. Make it smaller, or split it."
            )
        return taken

    def _reading(self, schema: Mapping[str, Any], base: Any) -> _Subschema:
        inner = schema if "$id" in schema and schema is not self._root else base
        patterns, prefix = _mapping(schema, "patternProperties"), schema.get("prefixItems")
        items = prefix if isinstance(prefix, list) else schema.get("items")
        read = self._read[id(schema), id(base)] = _Subschema(
            Words.of(schema),
            any(word in schema for word in _AGAIN),
            tuple(self._beside(schema, inner)),
            _mapping(schema, "properties"),
            (*patterns.values(), *(schema[word] for word in _OF_PROPERTIES if word in schema)),
            schema.get("propertyNames"),
            items if isinstance(items, list) else (),
            tuple(schema[word] for word in _OF_ITEMS if isinstance(schema.get(word), Mapping)),
            inner,
        )
        return read

    def _beside(self, schema: Mapping[str, Any], base: Any) -> Iterator[_Place]:
        for word in _ALL_OF:
            if isinstance(parts := schema.get(word), list | tuple):
                yield from ((part, base) for part in parts)
        yield from ((schema[word], base) for word in _ONE if word in schema)
        for word in ("dependentSchemas", "dependencies"):
            yield from ((part, base) for part in _mapping(schema, word).values())
        for word in _REFERS:
            if isinstance(uri := schema.get(word), str):
                yield from self._referred(uri, base)

    def _referred(self, uri: str, base: Any) -> Iterator[_Place]:
        """What a reference may lead to; of a dynamic one each place of its name."""
        document, _, fragment = uri.partition("#")
        if document.startswith(_META):
            if any(name.startswith("#") for name in self._named):
                raise TooMuchWork(f"The schema refers to {uri} and has anchors of its own; leave out one of the two.")
            return  # validators bring these along
        if document:
            found = self._named.get(document.rpartition("/")[2])
            if found is None:
                raise TooMuchWork(f"The schema refers to {uri}; only references within the schema itself are followed.")
            base = found[0]
        if not fragment or fragment.startswith("/"):
            yield _pointed(base, fragment, uri), base
            return
        named = self._named.get("#" + fragment)
        if named is None:
            raise TooMuchWork(f"The schema refers to {uri}, which is nowhere in it.")
        yield from ((part, base) for part in named)


def _inside(read: _Subschema, value: Any) -> Iterator[tuple[_Place, Any]]:
    """Which parts of the value are judged by which subschemas."""
    base = read.base
    if isinstance(value, Mapping):
        yield from (((read.properties[name], base), value[name]) for name in value.keys() & read.properties.keys())
        for part in read.of_each:
            yield from (((part, base), child) for child in value.values())
        if read.of_names is not None:
            yield from (((read.of_names, base), name) for name in value)
    elif isinstance(value, list | tuple):
        yield from (((part, base), child) for part, child in zip(read.first, value, strict=False))
        for part in read.of_items:
            yield from (((part, base), child) for child in value)


def _mapping(schema: Mapping[str, Any], word: str) -> Mapping[str, Any]:
    found = schema.get(word)
    return found if isinstance(found, Mapping) else {}


def _named(schema: Any) -> Iterator[tuple[str, list[Any]]]:
    """Subschemas by the names that references may use: `#anchor`, and the last part of an `$id`."""
    found: dict[str, list[Any]] = {}
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            for word in ("$anchor", "$dynamicAnchor"):
                if isinstance(name := part.get(word), str):
                    found.setdefault("#" + name, []).append(part)
            if isinstance(name := part.get("$id"), str):
                found.setdefault(name.rstrip("#").rpartition("/")[2], []).append(part)
            waiting += part.values()
        elif isinstance(part, list | tuple):
            waiting += part
    yield from found.items()


_ESCAPED = re.compile("(?:%[0-9A-Fa-f]{2})+")


def _character(escaped: re.Match[str]) -> str:
    return bytes.fromhex(escaped[0].replace("%", "")).decode("utf-8", "replace")


def _pointed(base: Any, pointer: str, uri: str) -> Any:
    """What a JSON pointer leads to."""
    found = base
    for escaped in pointer.split("/")[1:]:
        word = _ESCAPED.sub(_character, escaped).replace("~1", "/").replace("~0", "~")
        try:
            found = found[int(word)] if isinstance(found, list | tuple) else found[word]
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise TooMuchWork(f"The schema refers to {uri}, which is nowhere in it.") from error
    return found


__all__ = ["MOST_STEPS", "TooMuchWork", "steps"]
