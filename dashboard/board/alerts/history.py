"""When a rule would have fired on past data, minute by minute, as the worker judges it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from dashboard.board.alerts.rules import CLEAR_MINUTES, Reading, Rule, read
from dashboard.board.selectors import Totals, add
from dashboard.turns.filters import EPOCH

MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class PastFiring:
    """`ended_at`: None where it would still be firing. `value` and `before`: when it began."""

    started_at: datetime
    ended_at: datetime | None
    value: float | None
    before: float | None


def firings(
    rule: Rule, minutes: Iterable[tuple[datetime, Totals]], *, since: datetime, until: datetime
) -> list[PastFiring]:
    """`minutes`: sums of each minute that has any, in order, from two windows before `since` on."""
    found: list[PastFiring] = []
    begun: tuple[datetime, Reading] | None = None
    cleared = until  #: when what has begun is resolved, if it does not hold again before that
    readings = list(_readings(rule, list(minutes), since, until))
    for (at, reading), (then, _) in zip(readings, [*readings[1:], (until, None)], strict=True):
        if begun and at >= cleared:
            found.append(_past(begun, cleared))
            begun = None
        if reading.holds:
            begun = begun or (at, reading)
            cleared = then - MINUTE + timedelta(minutes=CLEAR_MINUTES)
    if begun:
        found.append(_past(begun, cleared if cleared <= until else None))
    return found


def _past(begun: tuple[datetime, Reading], ended: datetime | None) -> PastFiring:
    at, reading = begun
    return PastFiring(at, ended, reading.value, reading.before)


def _readings(
    rule: Rule, minutes: Sequence[tuple[datetime, Totals]], since: datetime, until: datetime
) -> Iterator[tuple[datetime, Reading]]:
    """At each minute at which a window's sums change; in between they stay as they are."""
    window = timedelta(minutes=rule.window_minutes)
    at = {minute + MINUTE + n * window for minute, _ in minutes for n in range(3)} | {since}
    entering, leaving, forgotten = (iter(_ended(minutes)) for _ in range(3))
    slide = _Sliding(entering, leaving, forgotten)
    for moment in sorted(one for one in at if since <= one < until):
        slide.to(moment, window)
        yield moment, read(rule, slide.now, slide.before)


def _ended(minutes: Sequence[tuple[datetime, Totals]]) -> list[tuple[datetime, Totals]]:
    """By the end of each minute, with one that never comes at the end."""
    return [*((minute + MINUTE, sums) for minute, sums in minutes), (EPOCH.replace(year=9999), {})]


class _Sliding:
    """The sums of a window that ends at a moment, and of the one before it."""

    def __init__(self, *ends: Iterator[tuple[datetime, Totals]]) -> None:
        self._ends = ends
        self._next = [next(end) for end in ends]
        self.now: Totals = {}
        self.before: Totals = {}

    def to(self, moment: datetime, window: timedelta) -> None:
        for n, (gains, loses) in enumerate(((self.now, None), (self.before, self.now), (None, self.before))):
            while self._next[n][0] <= moment - n * window:
                sums = self._next[n][1]
                for totals, times in ((gains, 1), (loses, -1)):
                    if totals is not None:
                        add(totals, sums, times)
                self._next[n] = next(self._ends[n])
