"""The time that the board shows, read from an address: a named period that ends now, or from one time to another."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.core.exceptions import ValidationError

from agentcore.quoting import quoted
from dashboard.timeline.rollups import END
from dashboard.turns.filter_names import filter_named
from dashboard.turns.filters import TimelineFilters

#: By the name in an address: the words, and how long it is.
PERIODS: Mapping[str, tuple[str, timedelta]] = {
    "hour": ("Last hour", timedelta(hours=1)),
    "day": ("24 hours", timedelta(days=1)),
    "week": ("7 days", timedelta(days=7)),
    "month": ("30 days", timedelta(days=30)),
    "quarter": ("90 days", timedelta(days=90)),
}
USUAL = "week"
LONGEST = timedelta(days=400)
#: Seconds of a bar. Each is a multiple of one of the rollups' levels.
WIDTHS = (60, 300, 900, 1_800, 3_600, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800, 1_209_600)
MOST_BARS = 48


@dataclass(frozen=True, slots=True)
class Period:
    """`since` and `until`: whole multiples of `seconds`, one bar. `name`: of PERIODS; empty: chosen by its ends."""

    since: datetime
    until: datetime
    seconds: int
    name: str = ""


def period_of(given: Mapping[str, str], *, now: datetime) -> Period:
    """Of `since` and `until` (ISO 8601, UTC), else of `period`. Raises `ValidationError` in words, by field."""
    filters, errors = TimelineFilters.parse({name: given[name] for name in ("since", "until") if given.get(name)})
    if errors:
        raise ValidationError(errors)
    if filters.since is None and filters.until is None:
        return named(given.get("period") or USUAL, now=now)
    until = min(filters.until or now, END)
    since = filters.since or until - PERIODS[USUAL][1]
    if not timedelta(0) < until - since <= LONGEST:
        order = f"{filter_named('until')} must be later than {filter_named('since')}"
        raise ValidationError({"until": f"{order}, by at most {LONGEST.days} days."})
    return _whole(since, until)


def named(name: str, *, now: datetime) -> Period:
    """A period that ends with the bar of now."""
    if name not in PERIODS:
        raise ValidationError({"period": f"There is no period {quoted(name)}; choose from {', '.join(PERIODS)}."})
    return _whole(now - PERIODS[name][1], now, name)


def _whole(since: datetime, until: datetime, name: str = "") -> Period:
    """Whole bars; of a named period, the one that began before it is left out."""
    long = (until - since).total_seconds()
    seconds = next((width for width in WIDTHS if long <= width * MOST_BARS), WIDTHS[-1])
    first, last = int(since.timestamp()) // seconds + bool(name), -(-int(until.timestamp()) // seconds)
    begin = datetime.fromtimestamp(first * seconds, since.tzinfo)
    return Period(begin, begin + timedelta(seconds=seconds * max(1, last - first)), seconds, name)
