"""Which functions of ours a piece of work calls."""

import sys
import threading
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import FrameType

from dashboard.platform import db_threads


@contextmanager
def calls_of(functions: Collection[str]) -> Iterator[list[str]]:
    """Each call of these (`module:function`) in order, of this thread and of those that start later. The database's
    threads are started again, because the calls of a running thread cannot be recorded."""
    called: list[str] = []
    names = frozenset(function.rpartition(":")[2].rpartition(".")[2] for function in functions)

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code.co_name in names:
            called.append(f"{frame.f_globals.get('__name__')}:{frame.f_code.co_qualname}")

    threading.setprofile(note)
    _end_threads()
    sys.setprofile(note)
    try:
        yield called
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        _end_threads()


def _end_threads() -> None:
    """Their successors are begun when they are needed."""
    db_threads._THREADS.shutdown()
    fresh = ThreadPoolExecutor(db_threads._THREADS._max_workers, thread_name_prefix="database")
    db_threads._THREADS = fresh
