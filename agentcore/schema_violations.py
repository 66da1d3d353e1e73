"""What a value breaks of its schema, in words that come from the schema alone: nothing of the value is ever quoted."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from agentcore.policy import Violation

MOST = 5  #: violations that are told
MOST_CHARS = 1000  #: of all the words together
_MOST_QUOTED = 80  #: characters of one word of the schema
_MOST_LISTED = 20  #: names, or allowed values

Words = Callable[[Any, Mapping[str, Any], Any], str]


def violations_text(
    schema: Mapping[str, Any], value: Any, violations: Sequence[Violation], *, later: bool = True
) -> str:
    """The first violations, each once: what is wrong, where, and the schema's pointer of the rule.

    `later`: by the rules of revision 7, which have words for more keywords, and for schemas that allow nothing.
    """
    known = _WORDS_LATER if later else _WORDS
    named = frozenset(_named(schema))
    said = dict.fromkeys(_one(schema, value, violation, named, known) for violation in violations)
    return _short("; ".join(list(said)[:MOST]), MOST_CHARS)


def fields_text(schema: Mapping[str, Any], value: Any, violations: Sequence[Violation]) -> str:
    """The same for people: the field as programs write it, and what is wrong, without pointers into the schema."""
    named = frozenset(_named(schema))
    said = dict.fromkeys(_of_field(schema, value, violation, named) for violation in violations)
    return _short("; ".join(list(said)[:MOST]), MOST_CHARS)


def _of_field(schema: Mapping[str, Any], value: Any, violation: Violation, named: frozenset[str]) -> str:
    parent, rule = _rule(schema, violation.schema_pointer)
    place, found = _place(value, violation.pointer, named)
    words = _words(_WORDS_LATER, violation.keyword, rule, parent, found)
    field = "".join(f"[{part}]" if part.isdigit() else f".{part}" for part in _parts(place)).removeprefix(".")
    where = f"field “{field}”" if field else "the answer as a whole"
    return f"{where}: {words or f'the rule {violation.keyword} of the schema is not met'}"


def _one(
    schema: Mapping[str, Any], value: Any, violation: Violation, named: frozenset[str], known: Mapping[str, Words]
) -> str:
    pointer = _short(violation.schema_pointer or "/", 2 * _MOST_QUOTED)
    parent, rule = _rule(schema, violation.schema_pointer)
    place, found = _place(value, violation.pointer, named)
    words = _words(known, violation.keyword, rule, parent, found)
    if not words:
        return f"{pointer} ({violation.keyword})"
    return f"{f'at {place}: ' if place else ''}{words} (schema {pointer})"


def _words(known: Mapping[str, Words], keyword: str, rule: Any, parent: Mapping[str, Any], found: Any) -> str:
    """Empty where the rule is not known, or is not as the keyword wants it: then its name has to do."""
    make = known.get(keyword, known.get(_FALSE) if rule is False else None)
    if rule is None and keyword != "const":
        return ""
    return make(rule, parent, found) if make else ""


def _parts(pointer: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _rule(schema: Mapping[str, Any], pointer: str) -> tuple[Mapping[str, Any], Any]:
    """The schema that holds the rule, and the rule itself; nothing where the pointer leads nowhere (references
    are not followed: the validator's pointer is of the place where the rule stands)."""
    parent: Any = {}
    here: Any = schema
    for part in _parts(pointer):
        parent, here = here, _child(here, part)
    return (parent if isinstance(parent, Mapping) else {}), here


def _child(holder: Any, part: str) -> Any:
    if isinstance(holder, Mapping):
        return holder.get(part)
    if isinstance(holder, list) and part.isascii() and part.isdigit() and int(part) < len(holder):
        return holder[int(part)]
    return None


def _named(schema: Any) -> Iterator[str]:
    """The names of properties that the schema knows, wherever in it."""
    waiting = [schema]
    while waiting:
        here = waiting.pop()
        if isinstance(here, Mapping):
            properties = here.get("properties")
            yield from properties if isinstance(properties, Mapping) else ()
            waiting += here.values()
        elif isinstance(here, list):
            waiting += here


def _place(value: Any, pointer: str, named: frozenset[str]) -> tuple[str, Any]:
    """Where in the value, as a pointer, and what stands there. A name that the schema does not know is a `*`."""
    place, here = "", value
    for part in _parts(pointer):
        is_ours = isinstance(here, list) or part in named
        here = _child(here, part)
        place += "/" + (part.replace("~", "~0").replace("/", "~1") if is_ours and here is not None else "*")
    return _short(place, 2 * _MOST_QUOTED), here


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _quoted(value: Any) -> str:
    return _short(json.dumps(value, ensure_ascii=False), _MOST_QUOTED)


def _listed(values: Sequence[Any], write: Callable[[Any], str]) -> str:
    more = len(values) - _MOST_LISTED
    return ", ".join(map(write, values[:_MOST_LISTED])) + (f" and {more} more" if more > 0 else "")


def _name(name: Any) -> str:
    return f"'{_short(str(name), _MOST_QUOTED)}'"


def _missing(rule: Any, _parent: Mapping[str, Any], found: Any) -> str:
    names = [name for name in rule if isinstance(name, str)] if isinstance(rule, list) else []
    missing = [name for name in names if not isinstance(found, Mapping) or name not in found]
    if not missing:
        return ""
    one = len(missing) == 1
    return f"required {'property' if one else 'properties'} {_listed(missing, _name)} {'is' if one else 'are'} missing"


def _type(rule: Any, _parent: Mapping[str, Any], _found: Any) -> str:
    types = [rule] if isinstance(rule, str) else rule
    return f"the type must be {' or '.join(map(str, types))}" if isinstance(types, list) else ""


def _enum(rule: Any, _parent: Mapping[str, Any], _found: Any) -> str:
    return f"the value must be one of {_listed(rule, _quoted)}" if isinstance(rule, list) else ""


def _const(rule: Any, _parent: Mapping[str, Any], _found: Any) -> str:
    return f"the value must be {_quoted(rule)}"


def _no_others(_rule: Any, parent: Mapping[str, Any], _found: Any) -> str:
    properties = parent.get("properties")
    allowed = [_listed(list(properties), _name)] if isinstance(properties, Mapping) and properties else []
    allowed += ["names that fit its patterns"] if parent.get("patternProperties") else []
    return f"no properties but {' and '.join(allowed)} are allowed" if allowed else "no properties are allowed"


def _unevaluated(rule: Any, parent: Mapping[str, Any], found: Any) -> str:
    if rule is False:
        return _no_others(rule, parent, found)
    return "properties that the schema does not name must fit the schema given for these"


def _unevaluated_items(rule: Any, _parent: Mapping[str, Any], _found: Any) -> str:
    if rule is False:
        return "no items are allowed but those that the schema describes"
    return "items that the schema does not describe must fit the schema given for these"


def _dependent(rule: Any, _parent: Mapping[str, Any], found: Any) -> str:
    """What other properties need beside them; those that are there are the schema's own names."""
    if not isinstance(rule, Mapping) or not isinstance(found, Mapping):
        return ""
    wanted = (name for key, names in rule.items() if key in found and isinstance(names, list) for name in names)
    return _missing([*dict.fromkeys(wanted)], {}, found)


def _bound(before: str, after: str = "") -> Words:
    def words(rule: Any, _parent: Mapping[str, Any], _found: Any) -> str:
        known = isinstance(rule, int | float | str) and not isinstance(rule, bool)
        return f"{before} {_quoted(rule)}{after}" if known else ""

    return words


def _always(sentence: str) -> Words:
    return lambda _rule, _parent, _found: sentence


_WORDS: Mapping[str, Words] = {
    "required": _missing,
    "dependentRequired": _dependent,
    "type": _type,
    "enum": _enum,
    "const": _const,
    "additionalProperties": _no_others,
    "unevaluatedProperties": _no_others,
    "minimum": _bound("the number must be at least"),
    "maximum": _bound("the number must be at most"),
    "exclusiveMinimum": _bound("the number must be greater than"),
    "exclusiveMaximum": _bound("the number must be less than"),
    "multipleOf": _bound("the number must be a multiple of"),
    "minLength": _bound("the text must have at least", " characters"),
    "maxLength": _bound("the text must have at most", " characters"),
    "minItems": _bound("the array must have at least", " items"),
    "maxItems": _bound("the array must have at most", " items"),
    "minProperties": _bound("the object must have at least", " properties"),
    "maxProperties": _bound("the object must have at most", " properties"),
    "pattern": _bound("the text must match the pattern"),
    "format": _bound("the text must have the format"),
    "uniqueItems": _always("no two items of the array may be equal"),
    "anyOf": _always("the value must fit at least one of the schemas that are allowed here"),
    "oneOf": _always("the value must fit exactly one of the schemas that are allowed here"),
    "not": _always("the value must not fit the schema that is forbidden here"),
    "contains": _always("the array must have an item that fits the schema given for one"),
}

_FALSE = ""  #: in place of a keyword: a schema that is `false`, wherever it stands
#: By the rules of revision 7.
_WORDS_LATER: Mapping[str, Words] = {
    **_WORDS,
    _FALSE: _always("no value is allowed here"),
    "unevaluatedProperties": _unevaluated,
    "propertyNames": _always("no properties are allowed"),
    "additionalItems": _unevaluated_items,
    "unevaluatedItems": _unevaluated_items,
    "dependencies": _dependent,
    "minContains": _bound("the items that fit the schema given for them must be at least"),
    "maxContains": _bound("the items that fit the schema given for them must be at most"),
    "contentEncoding": _bound("the text must be encoded as"),
    "contentMediaType": _bound("the text must be of the media type"),
}
