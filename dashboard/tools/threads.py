"""Threads for synchronous tools, apart from those of the database, so that tools that never end cannot starve it.

They are daemons: a tool that never ends does not keep the process from ending, as an executor's thread would.
"""

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

MOST = 16

_Work = tuple["Future[Any]", Callable[[], Any]]


class ToolThreads:
    """At most `most` threads, started as they are needed; work that finds none free waits its turn."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._queue: queue.SimpleQueue[_Work] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._unfinished = 0
        self._started = 0

    async def run(self, work: Callable[[], Any]) -> Any:
        """What `work` returns or raises. Cancelled before it began, it never runs; after that, it is left behind."""
        future: Future[Any] = Future()
        with self._lock:
            self._unfinished += 1
            if self._started < min(self._most, self._unfinished):
                self._started += 1
                threading.Thread(target=self._serve, name=f"tool-{self._started}", daemon=True).start()
        self._queue.put((future, work))
        return await asyncio.wrap_future(future)

    def _serve(self) -> None:
        while True:
            _perform(*self._queue.get())
            with self._lock:
                self._unfinished -= 1


def _perform(future: "Future[Any]", work: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = work()
    except BaseException as error:  # whoever awaits it judges it, SystemExit too
        future.set_exception(error)
    else:
        future.set_result(result)


threads = ToolThreads()
