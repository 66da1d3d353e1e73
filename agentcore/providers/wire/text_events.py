"""Events that differ in one text alone, as nearly all of a stream do: read without parsing each of them.

An event that has been parsed shows what stands before its text and what stands behind. Another one that begins and ends
in the very same bytes, with one JSON string between them, says the same but for that text.
"""

import re
from collections.abc import Mapping
from typing import Any, Protocol

import jiter

from agentcore.messages import Delta
from agentcore.providers.wire.untrusted_json import read_json

_LITERAL = re.compile(rb'\s*"((?:[^"\\]++|\\.)*+)"')
_REST = re.compile(rb'(?:[^"\\]++|\\.)*+')  #: of a string, after its opening quote
_NOT_PLAIN = re.compile(rb'["\\\x00-\x1f]')  #: ends a JSON string, or does not stand for itself in one
_MANY = 16 * 1024  #: bytes that are cut into events at once
_BACKSLASH = ord("\\")
_PROBE = "whystop"
#: Shapes are learnt on credit: learning one costs as much as reading some events by it saves.
_CREDIT, _COST = 16, 2


class TextAnswer(Protocol):
    """An answer whose events say a text and nothing else, most of them."""

    def text_alone(self, payload: Mapping[str, Any], /) -> str | None:
        """The text of a payload that says nothing else; None for any other."""
        ...

    def take_texts(self, texts: list[str], /) -> list[Delta]:
        """Adds the texts of such payloads; returns what is new of them to show."""
        ...


class TextEvents:
    """The shape of one answer's text events. `key`: what stands before the text, as `"content":`."""

    def __init__(self, answer: TextAnswer, key: bytes) -> None:
        self._answer = answer
        self._key = key
        self._head = self._tail = b""  #: with the quotes of the text; empty: not known
        self._credit = _CREDIT

    @property
    def wanted(self) -> bool:
        """Whether it is worth looking: not for an answer of which each event has a shape of its own."""
        return self._credit >= _COST

    def take(self, data: bytes, at: int) -> tuple[list[Delta], int]:
        """Adds the events from `at` on that are of this shape; returns what they say, and where the first other begins.

        What stands at `at` begins an event.
        """
        head, tail = self._head, self._tail
        several = head and len(data) - at > 2 * len(head)  # else there is one, which needs no looking for the next
        texts, at = self._close_together(data, at) if several else ([], at)
        while head and data.startswith(head, at):
            start = at + len(head)
            end = data.find(b'"', start)
            if data[end - 1] == _BACKSLASH and (rest := _REST.match(data, start)) is not None:
                end = rest.end()
            text = _text(data[start:end]) if data.startswith(tail, end) else None
            if text is None:
                break
            texts.append(text)
            at = end + len(tail)
        if not texts:
            return [], at
        self._credit = min(_CREDIT, self._credit + len(texts))
        return self._answer.take_texts(texts), at

    def _close_together(self, data: bytes, at: int) -> tuple[list[str], int]:
        """The texts of events from `at` on with nothing between them, where they are plain, and where the next begins.

        The last of them is left, for what ends it is not known.
        """
        head, between, texts = self._head, self._tail + self._head, list[str]()
        while data.startswith(head, at):
            pieces = data[at + len(head) : at + _MANY].split(between)[:-1]
            plain = b"".join(pieces)
            if not pieces or _NOT_PLAIN.search(plain):
                break
            try:
                texts += b"\0".join(pieces).decode().split("\0")
            except ValueError:
                break
            at += len(plain) + len(pieces) * len(between)
        return texts, at

    def learn(self, event: bytes) -> None:
        """One more event of the answer, which has been read, with the empty line that ends it."""
        lines, key = event.splitlines(), event.find(self._key)
        found = _LITERAL.match(event, key + len(self._key)) if key >= 0 else None
        if found is None or len(lines) != 2 or lines[1] or not event.startswith(b"data:"):
            return
        self._credit -= _COST
        head, tail = event[: found.start(1)], event[found.end(1) :]
        try:
            probe = read_json((head + _PROBE.encode() + tail).removeprefix(b"data:"))
        except ValueError:
            return
        if isinstance(probe, dict) and self._answer.text_alone(probe) == _PROBE:
            self._head, self._tail = head, tail


def _text(literal: bytes) -> str | None:
    """What stands between a JSON string's quotes; None where the fast reading cannot say."""
    try:
        if b"\\" not in literal and (plain := literal.decode()).isprintable():
            return plain
        return str(jiter.from_json(b'"%b"' % literal))
    except ValueError:
        return None
