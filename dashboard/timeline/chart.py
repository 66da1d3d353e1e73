"""The histogram, drawn: bars of stacked reasons, the words that say the same, and what the axis says.

The drawing is 1000 by 100 and is stretched to the page's width. Each bar has its words, so that whoever moves through
them by key or by ear is told what is seen.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from agentcore.reasons import NormalizedStopReason, StopReason
from dashboard.timeline.values import Bucket, Histogram
from dashboard.turns.reason_looks import reason_label

WIDTH, HEIGHT = 1000, 100
FEWEST = 60  #: buckets; a short time is drawn with nothing before it, not as three wide bars
GAP = 0.16  #: of a bar's place
TICKS = 4
YEAR = timedelta(days=300)
MODEL_WORDS, AGENT_WORDS = tuple(map(str, NormalizedStopReason)), tuple(map(str, StopReason))
#: How a reason's ground is drawn, beside its hue: by its place in the list of its words, so that no two of one list
#: look alike, and neighbours never do.
PATTERNS = ("solid", "rising", "dots", "falling", "level", "upright", "grid")


@dataclass(frozen=True, slots=True)
class Segment:
    """A bar's part of one reason."""

    reason: str
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Bar:
    """One bucket. `words` says all that is drawn of it."""

    x: float
    width: float
    place: float  #: where its place begins, with the gap
    step: float
    since: datetime
    until: datetime
    begins: str
    ends: str
    words: str
    counts: tuple[int, ...]  #: by series
    total: int
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class Series:
    """One reason over the whole time."""

    reason: str  #: empty: not stopped yet
    pattern: str
    total: int

    @property
    def key(self) -> str:
        """A name for its pattern."""
        return self.reason or "none"

    @property
    def look(self) -> str:
        """The word whose hue it has."""
        return self.reason or "queued"


@dataclass(frozen=True, slots=True)
class Chart:
    """All there is to draw. `tallest`: turns of the tallest bar."""

    bars: tuple[Bar, ...]
    series: tuple[Series, ...]
    ticks: tuple[str, ...]
    tallest: int
    total: int
    capped: bool
    seconds: int

    @property
    def filled(self) -> tuple[Bar, ...]:
        """The bars that are not empty, for the table."""
        return tuple(bar for bar in self.bars if bar.total)


def chart_of(histogram: Histogram, *, chosen: bool) -> Chart | None:
    """None where there is nothing to draw. `chosen`: somebody chose this very time, so it is not drawn wider."""
    buckets = histogram.buckets if chosen else _padded(histogram.buckets)
    if not buckets:
        return None
    series = _series(buckets)
    tallest = max(sum(bucket.counts.values()) for bucket in buckets)
    dated = _dated(buckets)
    bars = tuple(_bar(n, bucket, len(buckets), series, max(tallest, 1), dated) for n, bucket in enumerate(buckets))
    return Chart(bars, series, _ticks(buckets, dated), tallest, histogram.total, histogram.capped, buckets[0].seconds)


def _padded(buckets: tuple[Bucket, ...]) -> tuple[Bucket, ...]:
    if not buckets:
        return ()
    first, missing = buckets[0], max(0, FEWEST - len(buckets))
    step = timedelta(seconds=first.seconds)
    return (*(Bucket(first.start - n * step, first.seconds, {}) for n in range(missing, 0, -1)), *buckets)


def _series(buckets: Iterable[Bucket]) -> tuple[Series, ...]:
    """In the order of the words' own list, so that a colour keeps its place whatever the numbers are."""
    totals: dict[str, int] = {}
    for bucket in buckets:
        for reason, count in bucket.counts.items():
            totals[reason] = totals.get(reason, 0) + count
    order = [*MODEL_WORDS, *AGENT_WORDS, ""]
    reasons = sorted(totals, key=lambda reason: order.index(reason) if reason in order else len(order))
    return tuple(Series(reason, _pattern(reason), totals[reason]) for reason in reasons)


def _pattern(reason: str) -> str:
    if not reason:
        return PATTERNS[-1]
    words = next((words for words in (MODEL_WORDS, AGENT_WORDS) if reason in words), (reason,))
    return PATTERNS[words.index(reason) % len(PATTERNS)]


def _bar(n: int, bucket: Bucket, many: int, series: tuple[Series, ...], tallest: int, dated: str) -> Bar:
    step = WIDTH / many
    counts = tuple(bucket.counts.get(one.reason, 0) for one in series)
    segments, below = [], 0
    for one, count in zip(series, counts, strict=True):
        if count:
            below += count
            height = round(count * HEIGHT / tallest, 2)
            segments.append(Segment(one.key, round(HEIGHT - below * HEIGHT / tallest, 2), height))
    return Bar(
        x=round((n + GAP / 2) * step, 2),
        width=round((1 - GAP) * step, 2),
        place=round(n * step, 2),
        step=round(step, 2),
        since=bucket.start,
        until=bucket.start + timedelta(seconds=bucket.seconds),
        begins=_when(bucket.start, dated),
        ends=_when(bucket.start + timedelta(seconds=bucket.seconds), dated),
        words=_words(series, counts),
        counts=counts,
        total=sum(counts),
        segments=tuple(segments),
    )


def _words(series: tuple[Series, ...], counts: tuple[int, ...]) -> str:
    """`34 turns: 12 max_tokens, 22 end_turn`."""
    total = sum(counts)
    parts = [
        f"{count} {reason_label(one.reason) if one.reason else 'without a reason'}"
        for one, count in zip(series, counts, strict=True)
        if count
    ]
    return f"{total or 'no'} turn{'' if total == 1 else 's'}" + (f": {', '.join(parts)}" if parts else "")


def _dated(buckets: tuple[Bucket, ...]) -> str:
    """How a moment is written: with the year where there are many months, with the hour where it is about hours."""
    span = buckets[-1].start - buckets[0].start
    day = "%b %Y" if span > YEAR else "%b"
    return day if buckets[0].seconds >= 86_400 else f"{day} %H:%M"


def _when(moment: datetime, dated: str) -> str:
    return f"{moment.day} {moment:{dated}}"


def _ticks(buckets: tuple[Bucket, ...], dated: str) -> tuple[str, ...]:
    """What stands at the beginning of each quarter."""
    begin, span = buckets[0].start, timedelta(seconds=buckets[0].seconds * len(buckets))
    return tuple(_when(begin + span * n / TICKS, dated) for n in range(TICKS))
