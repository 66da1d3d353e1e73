"""The interactions of a YAML cassette, one after another. The file is split at its list's items, and each is read by
itself, without aliases, tags other than for bytes, or endless nesting."""

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from dashboard.ingest.logs.line_reader import MOST_LINE, Line, Unpacked, lines_of, too_long
from dashboard.ingest.logs.values import Fault, UnreadableError

MOST_DEPTH = 50
#: How a cassette begins: with the name of its list.
BEGINS = re.compile(rb"^[\"']?(?:interactions|http_interactions)[\"']?\s*:", re.MULTILINE)
_ITEM = re.compile(rb"^\s*- ")
_BINARY = "tag:yaml.org,2002:binary"


@dataclass(frozen=True, slots=True)
class Interaction:
    """An interaction as a value, numbered from 1."""

    number: int
    value: Any


def interactions_of(file: Unpacked) -> Iterator[Interaction | Fault]:
    """Every item of the cassette's list."""
    for number, piece in enumerate(_pieces(file), 1):
        if isinstance(piece, Fault):
            yield Fault(number, piece.words)
            continue
        try:
            yield Interaction(number, _value(piece))
        except UnreadableError as error:
            yield Fault(number, str(error))
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            yield Fault(number, f"It is not YAML: {' '.join(str(error).split())[:200]}.")


def _pieces(file: Unpacked) -> Iterator[bytes | Fault]:
    """The text of each item: from its dash to the next of the same depth."""
    item, indent, is_long = bytearray(), b"", False
    for line in lines_of(file):
        if isinstance(line, Fault):
            is_long = True
            continue
        if (found := _dash(line, indent if item or is_long else None)) is not None:
            if item or is_long:
                yield Fault(0, too_long("record")) if is_long else bytes(item)
            item, indent, is_long = bytearray(line.raw + b"\n"), found, False
        elif item and not line.raw.startswith((b" ", b"\t", b"-")):
            break  # what follows the list, such as the cassette's version
        elif item and not is_long:
            item += line.raw + b"\n"
            is_long = len(item) > MOST_LINE
    if item or is_long:
        yield Fault(0, too_long("record")) if is_long else bytes(item)


def _dash(line: Line, indent: bytes | None) -> bytes | None:
    """What stands before the line's dash, where the line begins an item of the list."""
    if _ITEM.match(line.raw) is None:
        return None
    before = line.raw[: line.raw.index(b"-")]
    return before if indent is None or before == indent else None


@dataclass(slots=True)
class _Making:
    """Lists and objects that are open, innermost last, with the key that an object waits for a value of."""

    open: list[Any] = field(default_factory=list)
    keys: list[Any] = field(default_factory=list)
    whole: list[Any] = field(default_factory=list)

    def put(self, value: Any) -> None:
        if not self.open:
            self.whole.append(value)
        elif isinstance(self.open[-1], list):
            self.open[-1].append(value)
        elif self.keys[-1] is None:
            self.keys[-1] = _key(value)
        else:
            self.open[-1][self.keys[-1]] = value
            self.keys[-1] = None

    def begin(self, value: Any) -> None:
        if len(self.open) >= MOST_DEPTH:
            raise UnreadableError(f"It is nested more than {MOST_DEPTH} deep.")
        self.open.append(value)
        self.keys.append(None)

    def end(self) -> None:
        value = self.open.pop()
        self.keys.pop()
        self.put(value)


def _key(value: Any) -> str:
    """The name of a value. A list or an object is none: as text, it would double in length with each level of it."""
    if isinstance(value, list | dict):
        raise UnreadableError("A key of it is a list or an object.")
    return value if isinstance(value, str) else str(value)


def _value(raw: bytes) -> Any:
    """The item's value. Made of events, for a loader would follow aliases, and nest as deep as the text does."""
    making = _Making()
    for event in yaml.parse(raw.decode(), Loader=yaml.CSafeLoader):
        match event:
            case yaml.AliasEvent():
                raise UnreadableError("It has an alias (*), which is not supported.")
            case yaml.ScalarEvent():
                making.put(_scalar(event))
            case yaml.SequenceStartEvent():
                making.begin([])
            case yaml.MappingStartEvent():
                making.begin({})
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                making.end()
    items = making.whole[0] if making.whole else None
    return items[0] if isinstance(items, list) and items else items


def _scalar(event: Any) -> Any:
    if event.tag in {_BINARY, "!binary"}:
        try:
            return base64.b64decode(event.value)
        except (binascii.Error, ValueError) as error:
            raise UnreadableError("Its bytes are not in base64.") from error
    if event.implicit[0] and event.value in {"", "~", "null"}:
        return None
    return event.value
