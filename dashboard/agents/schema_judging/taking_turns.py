"""A bound on what one asker has at the judges at once, so that others find a place there."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from dashboard.agents.schema_judging.busy_judges import JudgesBusy

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
