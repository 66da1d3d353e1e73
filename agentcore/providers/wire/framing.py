"""From wire bytes to events, in any chunking and in linear time.

`sniff` tells by the first bytes whether an answer is an event stream or JSON; `EventReader` cuts an event stream
(https://html.spec.whatwg.org/multipage/server-sent-events.html) into its events, `ObjectReader` JSON into its objects:
one alone, one per line (Ollama), or in one array (Gemini without `alt=sse`).
"""

import re
from enum import StrEnum
from typing import NamedTuple

from agentcore.errors import CHECK_BASE_URL, DecodeError

_BOM = b"\xef\xbb\xbf"
_FIELDS = (b":", b"data:", b"event:", b"id:", b"retry:")
_OUTSIDE_STRINGS = re.compile(rb'["{}\]]')
_INSIDE_STRINGS = re.compile(rb'["\\]')
_INSIDE_STRAY_STRINGS = re.compile(rb'["\\\n]')  # outside any object a line cannot be open any more when it ends


class Framing(StrEnum):
    """How the body of an answer is cut into payloads."""

    EVENTS = "events"
    DOCUMENT = "document"
    MESSAGES = "messages"  #: AWS's binary event stream


class ServerSentEvent(NamedTuple):
    """One event: its `event:` name (usually "") and its `data:` lines joined by line feeds."""

    name: str
    data: bytes


def leading(head: bytes) -> bytes:
    """The first bytes without what may stand before any answer: a byte order mark, keep-alive line ends."""
    return head.removeprefix(_BOM).lstrip()


def sniff(head: bytes, *, messages: bool = False) -> Framing | None:
    """What the first bytes (of `leading`) announce; None while they are too few to tell; DecodeError for neither.

    `messages`: the dialect also comes in AWS's binary messages, which begin with their length, always below 2^24.
    """
    if messages and head.startswith(b"\0"):
        return Framing.MESSAGES
    if head[:1] in (b"{", b"["):
        return Framing.DOCUMENT
    if head.startswith(_FIELDS):
        return Framing.EVENTS
    if any(start.startswith(head) for start in (*_FIELDS, _BOM)):
        return None
    raise DecodeError(
        f"The provider answered with neither an event stream nor JSON; it begins with {quoted(head)}.",
        advice=CHECK_BASE_URL,
    )


_UNPRINTABLE = "\N{REPLACEMENT CHARACTER}"


def quoted(head: bytes) -> str:
    """The first characters of bytes that are no answer, on one line and in quotation marks."""
    seen = " ".join(head[:60].decode("utf-8", "replace").split())
    return f"“{''.join(each if each.isprintable() else _UNPRINTABLE for each in seen)}”"


class EventReader:
    """Cuts bytes into events. Lines end in LF, CRLF or CR; an event ends at an empty line, the last one at the end."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []  # of the line that has not ended yet
        self._after_cr = False
        self._first = True
        self._name = b""
        self._data: list[bytes] = []

    @property
    def is_between(self) -> bool:
        """Whether the next byte begins an event."""
        return not (self._pieces or self._data or self._name or self._after_cr or self._first)

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """The events that these bytes complete."""
        if self._after_cr and data:
            self._after_cr = False
            data = data.removeprefix(b"\n")
        end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        if not end:
            self._pieces += [data] if data else []
            return []
        block = b"".join((*self._pieces, data[:end]))
        self._pieces = [data[end:]] if end < len(data) else []
        self._after_cr = data.endswith(b"\r")
        lines = block.splitlines()
        del block  # an event can be large, and is cut out of its line next
        return self._read(lines)

    def close(self) -> list[ServerSentEvent]:
        """What was still open when the bytes ended: some servers leave the last empty line out."""
        line = b"".join(self._pieces)
        self._pieces = []
        return self._read([line, b""] if line else [b""])

    def _read(self, lines: list[bytes]) -> list[ServerSentEvent]:
        if self._first and lines:
            self._first = False
            lines[0] = lines[0].removeprefix(_BOM)
        events: list[ServerSentEvent] = []
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(line[6:] if line.startswith(b" ", 5) else line[5:])
            elif line.startswith(b"event:"):
                self._name = line[6:].removeprefix(b" ")
            elif not line:
                if self._data:
                    events.append(ServerSentEvent(self._name.decode("utf-8", "replace"), b"\n".join(self._data)))
                    self._data = []
                self._name = b""
        return events


class ObjectReader:
    """Cuts JSON into its outermost objects, however they are strung together."""

    def __init__(self) -> None:
        self.closed = False  #: the array around the objects has ended
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self._pieces: list[bytes] = []  # of the object that has not ended yet

    @property
    def rest(self) -> bytes:
        """What there is of an object that has not ended."""
        return b"".join(self._pieces)

    def feed(self, data: bytes) -> list[bytes]:
        """The objects that these bytes complete."""
        found, start, at = [], 0, 0
        while at < len(data):
            if self._escaped:
                self._escaped = False
                at += 1
                continue
            match = self._marks().search(data, at)
            if match is None:
                break
            at = match.end()
            before = self._depth
            self._step(match[0])
            if before == 0 and self._depth == 1:
                start = match.start()
            elif before == 1 and self._depth == 0:
                found.append(b"".join((*self._pieces, data[start:at])))
                self._pieces = []
        if self._depth:
            self._pieces.append(data[start:])
        return found

    def _marks(self) -> re.Pattern[bytes]:
        if self._in_string:
            return _INSIDE_STRINGS if self._depth else _INSIDE_STRAY_STRINGS
        return _OUTSIDE_STRINGS

    def _step(self, mark: bytes) -> None:
        if mark in b'"\n':
            self._in_string = not self._in_string
        elif mark == b"\\":
            self._escaped = True
        elif mark == b"{":
            self._depth += 1
        elif mark == b"}":
            self._depth = max(0, self._depth - 1)
        else:
            self.closed = self.closed or not self._depth
