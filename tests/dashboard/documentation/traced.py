"""Which functions of ours a piece of work calls."""

import sys
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def calls_of(functions: Collection[str]) -> Iterator[list[str]]:
    """Each call of these (`module:function`), in order, of this thread and of those that begin meanwhile."""
    called: list[str] = []
    names = frozenset(function.rpartition(":")[2].rpartition(".")[2] for function in functions)

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code.co_name in names:
            called.append(f"{frame.f_globals.get('__name__')}:{frame.f_code.co_qualname}")

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield called
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
