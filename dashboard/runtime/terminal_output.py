"""What is printed to a terminal, without characters that steer it: models and callers wrote a part of it."""

import os
import sys
from collections.abc import Iterable
from typing import Any, TextIO

from dashboard.platform.logs import visible

STREAMS = ("stdout", "stderr")


class PlainTerminal:
    """A text stream that writes control characters, and those that turn the direction of text, as escapes.

    Tabs stay. Whatever else is asked of it, the stream itself answers.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """As told, however much longer it came out."""
        self._stream.write("\t".join(map(visible, text.split("\t"))))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def guard_terminal() -> None:
    """From now on, of what this process prints where a person reads it. Files and pipes get every byte."""
    # Colours are such characters too.
    os.environ.setdefault("DJANGO_COLORS", "nocolor")
    for name in STREAMS:
        stream = getattr(sys, name)
        if stream is not None and stream.isatty():
            setattr(sys, name, PlainTerminal(stream))
