"""Counts by day as bars of a small picture; numbers are the units of its viewBox."""

from dataclasses import dataclass
from datetime import date

WIDTH, HEIGHT, GAP = 300.0, 44.0, 1.0
LEAST = 3.0  #: height of a day with any


@dataclass(frozen=True, slots=True)
class Bar:
    day: date
    count: int
    x: float
    y: float
    width: float

    @property
    def height(self) -> float:
        return HEIGHT - self.y


def bars_of(days: tuple[tuple[date, int], ...]) -> tuple[Bar, ...]:
    """One bar for each day with any; the highest is the day with most."""
    most = max((count for _, count in days), default=0) or 1
    step = WIDTH / max(1, len(days))
    return tuple(
        Bar(day, count, round(n * step, 1), round(HEIGHT - max(LEAST, HEIGHT * count / most), 1), round(step - GAP, 1))
        for n, (day, count) in enumerate(days)
        if count
    )
