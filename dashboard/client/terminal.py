"""What is printed to a terminal, without characters that steer it: models and callers wrote a part of it."""

import re
import sys
from collections.abc import Iterable
from typing import Any, TextIO

STREAMS = ("stdout", "stderr")
#: What steers a terminal, ends a line for some readers, or turns the direction of reading. Lines and tabs stay.
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")


class PlainTerminal:
    """A text stream that writes control characters, and those that turn the direction of text, as escapes.

    Tabs stay. Whatever else is asked of it, the stream itself answers.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """As told, however much longer it came out."""
        self._stream.write(_UNSEEN.sub(lambda found: ascii(found[0])[1:-1], text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def guard_streams() -> None:
    """From now on, of what this process prints where a person reads it. Files and pipes get every byte."""
    for name in STREAMS:
        stream = getattr(sys, name)
        if stream is not None and stream.isatty():
            setattr(sys, name, PlainTerminal(stream))
