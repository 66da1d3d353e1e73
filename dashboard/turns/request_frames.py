"""A client's request as its messages and the rest of it, from which the very same bytes are made again."""

import json
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

#: Keys under which dialects keep their list of messages.
MESSAGE_KEYS = ("messages", "contents", "input")
_LENGTHS = struct.Struct("!II")  #: of what stands before the messages, and between two of them
_BLANKS = re.compile(r"[ \t\n\r]*")
_decode = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True)
class Split:
    """`frame`: what stands before, between and after the messages. Without messages it is the whole body."""

    frame: bytes
    messages: tuple[bytes, ...] = ()


def split(body: bytes) -> Split:
    """The body in parts. One that is no JSON object with a list of messages has only a frame."""
    try:
        text = body.decode()
        found = _split(text) if text.isascii() or text.encode() == body else None
    except (ValueError, RecursionError, StopIteration, IndexError):
        found = None
    if found is not None and joined(found.frame, found.messages) == body:
        return found
    return Split(_LENGTHS.pack(len(body), 0) + body)


def joined(frame: bytes, messages: Sequence[bytes]) -> bytes:
    """The body again."""
    before, between = _LENGTHS.unpack_from(frame)
    rest = frame[_LENGTHS.size :]
    separator = rest[before : before + between]
    return rest[:before] + separator.join(messages) + rest[before + between :]


def _split(text: str) -> Split | None:
    """None where there is no list of messages, or they are not separated alike."""
    begin = next((at for key, at in _values(text) if key in MESSAGE_KEYS and text[at] == "["), None)
    if begin is None:
        return None
    spans = list(_elements(text, begin))
    between = {text[end:start] for (_, end), (start, _) in pairwise(spans)}
    if not spans or len(between) > 1:
        return None
    separator = "".join(between).encode()
    before, after = text[: spans[0][0]].encode(), text[spans[-1][1] :].encode()
    frame = _LENGTHS.pack(len(before), len(separator)) + before + separator + after
    return Split(frame, tuple(text[start:end].encode() for start, end in spans))


def _values(text: str) -> Iterator[tuple[str, int]]:
    """The keys of the object that the text is, each with where its value begins."""
    at = _blanks(text, _blanks(text, 0, "{"))
    while text[at] != "}":
        key, at = _string(text, at)
        at = _blanks(text, _blanks(text, at, ":"))
        yield key, at
        at = _after(text, _decode(text, at)[1])


def _elements(text: str, begin: int) -> Iterator[tuple[int, int]]:
    """Where the elements of the list that begins here begin and end."""
    at = _blanks(text, begin + 1)
    while text[at] != "]":
        end = _decode(text, at)[1]
        yield at, end
        at = _after(text, end)


def _after(text: str, end: int) -> int:
    """Where what follows a value begins, after its comma."""
    at = _blanks(text, end)
    return _blanks(text, at + 1) if text[at] == "," else at


def _string(text: str, at: int) -> tuple[str, int]:
    if text[at] != '"':
        raise ValueError("A key is expected.")
    key, end = _decode(text, at)
    return str(key), end


def _blanks(text: str, at: int, mark: str = "") -> int:
    """The first place from here on that is no blank; after `mark`, which must stand there, where one is given."""
    match = _BLANKS.match(text, at)
    at = match.end() if match else at
    if not mark:
        return at
    if text[at] != mark:
        raise ValueError(f"{mark} is expected.")
    return at + 1
