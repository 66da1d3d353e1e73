"""How much memory some work takes at most."""

import tracemalloc
from collections.abc import Callable


def peak_of(work: Callable[[], object]) -> int:
    """The bytes that Python has allocated at most while it ran, beside what was there before."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
