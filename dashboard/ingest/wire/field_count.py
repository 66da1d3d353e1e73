"""Counts the fields of a protobuf message before it is parsed.

The parser holds the interpreter's lock until it is done, and makes a hundred bytes of two.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from dashboard.ingest.wire.bodies import BodyError

CHECKED = 256 * 1024  #: bytes; what is smaller is parsed within milliseconds, whatever it holds
_VARINT, _EIGHT, _LENGTH, _FOUR = 0, 1, 2, 5  #: how a field is written
_MORE = 0x80  #: of a byte of a number: another one follows
_LONGEST = 70  #: bits of a number

#: Of a kind of message: the numbers of its fields that are messages, and the kind of each, by its full name.
Kinds = Mapping[int, str]


def holds_more_fields(body: bytes, kind: Any, most: int) -> bool:
    """Whether a message, given its descriptor, holds more fields than that; an empty message counts as two, as in JSON.

    Raises `BodyError` for what is no protobuf.
    """
    if len(body) <= max(CHECKED, most):  # a field takes two bytes at least, and none of so few can be too many
        return False
    try:
        return _counted(body, _kinds_of(kind), kind.full_name, most) > most
    except IndexError as error:
        raise BodyError("The body is cut off, or is not protobuf.") from error


def _counted(body: bytes, kinds: Mapping[str, Kinds], name: str, most: int) -> int:
    """How many fields there are; of too many, some that are more than `most`."""
    position, end, inner, count = 0, len(body), kinds[name], 0
    outer: list[tuple[int, Kinds]] = []
    while count <= most:
        while position >= end:
            if not outer:
                return count
            end, inner = outer.pop()
        tag, position = _number(body, position)
        count += 1
        if tag & 7 != _LENGTH:
            position = _behind(body, position, tag & 7)
            continue
        size, position = _number(body, position)
        if position + size > end:
            raise IndexError
        found = inner.get(tag >> 3)
        if found is None:
            position += size
        elif not size:
            count += 1
        else:
            outer.append((end, inner))
            end, inner = position + size, kinds[found]
    return count


def _number(body: bytes, position: int) -> tuple[int, int]:
    """The number that begins there, and where it ends."""
    byte = body[position]
    if byte < _MORE:
        return byte, position + 1
    value, shift = byte & 0x7F, 7
    while byte >= _MORE and shift < _LONGEST:
        position += 1
        byte = body[position]
        value |= (byte & 0x7F) << shift
        shift += 7
    return value, position + 1


def _behind(body: bytes, position: int, written: int) -> int:
    """Where a field ends that has no length. OTLP has no groups."""
    if written == _VARINT:
        return _number(body, position)[1]
    if written not in {_EIGHT, _FOUR}:
        raise IndexError
    return position + (8 if written == _EIGHT else 4)


@cache
def _kinds_of(kind: Any) -> Mapping[str, Kinds]:
    """Every kind of message that is in this one, by its full name."""
    found: dict[str, Kinds] = {}
    left = [kind]
    while left:
        message = left.pop()
        if message.full_name not in found:
            inner = [field for field in message.fields if field.message_type is not None]
            found[message.full_name] = {field.number: field.message_type.full_name for field in inner}
            left += [field.message_type for field in inner]
    return found
