"""How work grows with what it is given: in processor time, compared with itself, so that no machine is too slow."""

from collections.abc import Callable
from time import process_time

TRIES = 5  #: a busy machine may spoil one comparison, not all


def grows_linearly(work: Callable[[int], object], size: int, *, times: int = 10) -> bool:
    """Whether `times` as much takes about `times` as long. Quadratic work takes `times` squared; allowed is between."""
    return any(_seconds(work, times * size) < 4 * times * _least(work, size) + 0.002 for _ in range(TRIES))


def _least(work: Callable[[int], object], size: int) -> float:
    """The best of three: what it is held against must not have been slow by chance."""
    return min(_seconds(work, size) for _ in range(3))


def _seconds(work: Callable[[int], object], size: int) -> float:
    began = process_time()
    work(size)
    return process_time() - began
