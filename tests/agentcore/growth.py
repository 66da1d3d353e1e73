"""How work grows with what it is given: in processor time, compared with itself, so that no machine is too slow."""

from collections.abc import Callable
from time import process_time

TRIES = 5  #: a busy machine may spoil one comparison, not all


def grows_linearly(work: Callable[[int], object], size: int, *, times: int = 10) -> bool:
    """Whether `times` as much takes about `times` as long. Quadratic work takes `times` squared; allowed is between."""
    return any(_seconds(work, times * size) < 4 * times * _seconds(work, size) + 0.002 for _ in range(TRIES))


def _seconds(work: Callable[[int], object], size: int) -> float:
    """The best of three."""
    best = float("inf")
    for _ in range(3):
        began = process_time()
        work(size)
        best = min(best, process_time() - began)
    return best
