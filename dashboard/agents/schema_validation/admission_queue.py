"""A bound on what one asker has at the judges at once, and a line for them in which nobody is passed."""

import threading
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager

from dashboard.agents.schema_validation.judge_overload import JudgesBusy

WAITING_SECONDS = 20.0  #: for one's own questions, and for a judge


class Turns:
    """Of threads. Nobody in particular, which is an empty name, has no bound."""

    def __init__(self, of_one: int) -> None:
        self._of_one = of_one
        self._asking: Counter[str] = Counter()
        self._changed = threading.Condition()

    @contextmanager
    def turn(self, who: str) -> Iterator[None]:
        """Raises `JudgesBusy` where the asker's other questions take too long."""
        with self._changed:
            if not self._changed.wait_for(lambda: not who or self._asking[who] < self._of_one, WAITING_SECONDS):
                raise JudgesBusy
            self._asking[who] += 1
        try:
            yield
        finally:
            with self._changed:
                self._asking[who] -= 1
                if not self._asking[who]:
                    del self._asking[who]
                self._changed.notify_all()


class Places:
    """So many threads have one at once; who waits longest has the next. (A semaphore's goes to whoever comes by.)"""

    def __init__(self, most: int) -> None:
        self._lock = threading.Lock()
        self._free = most
        self._line: deque[threading.Event] = deque()

    @contextmanager
    def place(self) -> Iterator[None]:
        """Raises `JudgesBusy` where those before take too long."""
        self._take()
        try:
            yield
        finally:
            self._leave()

    def _take(self) -> None:
        with self._lock:
            if self._free:
                self._free -= 1
                return
            self._line.append(called := threading.Event())
        if not called.wait(WAITING_SECONDS):
            self._give_up(called)

    def _give_up(self, called: threading.Event) -> None:
        with self._lock:
            if called.is_set():  # just now
                return
            self._line.remove(called)
        raise JudgesBusy

    def _leave(self) -> None:
        with self._lock:
            if self._line:
                self._line.popleft().set()
            else:
                self._free += 1
