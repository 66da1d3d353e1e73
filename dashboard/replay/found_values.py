"""The values of a swept limit at which something holds, and from where on."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from dashboard.replay.sweep_point import Holds, Point

#: What a larger value is at which it does not hold, the worst last, with its words: beyond, and between.
_GAPS = {
    "likely": ("only likely for some larger values", "only likely for some values between"),
    "unknown": ("not known for some larger values", "not known for some values between"),
    "fails": ("not for all larger values that were tried", "not for all values between"),
}
_WORST = tuple(_GAPS)


@dataclass(frozen=True, slots=True)
class Found:
    """Values at which the turn completes, of those that were tried. `first`: the smallest. `since`: the smallest from
    which on every larger one completes as well; None where the largest does not. `gap`: what the larger values are at
    which it does not hold."""

    first: int
    since: int | None
    gap: str = field(default="fails", compare=False)

    @property
    def value(self) -> int:
        """The smallest that can be recommended."""
        return self.first if self.since is None else self.since

    @property
    def words(self) -> str:
        """`from 88`; where completing comes and goes, that is said. Not to be known is not to fail."""
        beyond, between = _GAPS[self.gap]
        if self.since is None:
            return f"at {self.first:,} ({beyond})"
        if self.since == self.first:
            return f"from {self.since:,}"
        return f"from {self.since:,} and at {self.first:,} ({between})"

    def shown(self) -> dict[str, Any]:
        return {"since": self.since, "first": self.first}


def found_in(points: Iterable[Point], holds: Holds) -> Found | None:
    """What is said of the values at which it holds; None where it holds at none. `points`: every one that was tried."""
    tried = sorted(points, key=lambda point: point.value, reverse=True)
    first = min((point.value for point in tried if holds(point)), default=None)
    unbroken = [point.value for point in takewhile(holds, tried)]
    if first is None:
        return None
    gaps = (_gap(point) for point in tried if point.value > first and not holds(point))
    return Found(first, unbroken[-1] if unbroken else None, max(gaps, key=_WORST.index, default="fails"))


def _gap(point: Point) -> str:
    return "unknown" if point.undecidable else "likely" if point.is_enough else "fails"
