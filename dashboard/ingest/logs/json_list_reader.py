"""The elements of a JSON document's list, one after another, in bounded memory."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from dashboard.ingest.logs.line_reader import MOST_LINE, Line, Unpacked, bound, too_long
from dashboard.ingest.logs.values import Fault, UnreadableError

#: The names of lists that hold records: of HTTP archives, cassettes, sessions, and exports.
LISTS = frozenset(
    {b"entries", b"interactions", b"http_interactions", b"messages", b"data", b"observations", b"results"}
)
MOST_ABOVE = 2  #: objects and lists around such a list
NOT_CLOSED = "The document ends before its list does: the file is cut."
NO_LIST = "It is a JSON document without a supported list of records."
_MOST_KEY = 64
_MARKS = re.compile(rb'["\[\]{}]')
_IN_TEXT = re.compile(rb'["\\]')
_OPENING = frozenset(b"[{")


@dataclass(slots=True)
class _Scan:
    """Where in the document the reading stands. `inside`: the depth of the list's elements; None: not there yet."""

    depth: int = 0
    inside: int | None = None
    is_text: bool = False
    is_escaped: bool = False
    key: bytearray = field(default_factory=bytearray)
    element: bytearray = field(default_factory=bytearray)
    is_long: bool = False
    number: int = 0

    def take(self, part: bytes) -> Iterator[Line | Fault]:
        """More of the document; the elements that are whole with it. After the list nothing more is looked at."""
        at = 0
        while at < len(part) and not self.is_over:
            was_inside = self.inside is not None
            end = self._text(part, at) if self.is_text else self._mark(part, at)
            if was_inside:
                self._keep(part[at:end])
            at = end
            if self.inside is not None and self.depth == self.inside and not self.is_text and self._is_whole():
                yield self._element()

    @property
    def is_over(self) -> bool:
        return self.inside is not None and self.depth < self.inside

    def _text(self, part: bytes, at: int) -> int:
        """Up to the end of a text, or of the part."""
        begin = at
        if self.is_escaped:
            self.is_escaped, at = False, at + 1
        while (found := _IN_TEXT.search(part, at)) is not None:
            if found.group() == b'"':
                self.is_text = False
                self._name(part[begin : found.start()])
                return found.end()
            at = found.end() + 1
            if at > len(part):
                self.is_escaped = True
        self._name(part[begin:])
        return len(part)

    def _name(self, part: bytes) -> None:
        if len(self.key) <= _MOST_KEY:
            self.key += part[: _MOST_KEY + 1]

    def _mark(self, part: bytes, at: int) -> int:
        found = _MARKS.search(part, at)
        if found is None:
            return len(part)
        mark = part[found.start()]
        if mark == ord('"'):
            self.is_text, self.key = True, bytearray()
        elif mark in _OPENING:
            self.depth += 1
            if mark == ord("[") and self.inside is None and self._is_list():
                self.inside = self.depth
        else:
            self.depth -= 1
        return found.end()

    def _is_list(self) -> bool:
        return self.depth == 1 or (self.depth <= MOST_ABOVE + 1 and bytes(self.key) in LISTS)

    def _keep(self, part: bytes) -> None:
        if self.is_long:
            return
        self.element += part
        if len(self.element) > MOST_LINE:
            self.element.clear()
            self.is_long = True

    def _is_whole(self) -> bool:
        return self.is_long or self.element.endswith((b"}", b"]"))

    def _element(self) -> Line | Fault:
        self.number += 1
        bound(self.number)
        raw = bytes(self.element).lstrip(b"[, \r\n\t")
        is_long, self.is_long = self.is_long, False
        self.element.clear()
        return Fault(self.number, too_long("record")) if is_long else Line(self.number, raw)


def elements_of(file: Unpacked) -> Iterator[Line | Fault]:
    """Each element of the document's list of records, numbered from 1; of a document without one, all of it.

    Raises `UnreadableError` where there are too many."""
    scan, whole = _Scan(), bytearray()
    while (part := file.read()) and not scan.is_over:
        if scan.inside is None and len(whole) <= MOST_LINE:
            whole += part
        yield from scan.take(part)
    if scan.inside is None:
        if len(whole) > MOST_LINE:
            raise UnreadableError(NO_LIST)
        if whole.strip():
            yield Line(1, bytes(whole))
    elif not scan.is_over:
        yield Fault(scan.number + 1, NOT_CLOSED)
