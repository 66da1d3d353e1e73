"""A sweep as a picture: a band of outcomes, tokens and price as steps. Numbers are the units of its viewBox."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal

from dashboard.prices.templatetags.prices import dollars_in_words
from dashboard.replay.sweeping import Point, Sweep
from dashboard.turns.templatetags.reasons import look_of
from dashboard.turns.templatetags.shown import number

LEFT, RIGHT, BAND = 70.0, 14.0, 30.0
TOP = 18.0  #: above the band, for the marks' words
TALL = 96.0  #: of one panel
GAP = 34.0
LETTER = 6.6  #: about as wide is one, at the size of a band's word
UNKNOWN = "undecidable"


@dataclass(frozen=True, slots=True)
class Band:
    """Values running that end alike. `words`: inside the band, empty where they do not fit."""

    word: str
    x: float
    width: float
    since: int
    until: int
    words: str = ""

    @property
    def hue(self) -> str:
        return "odd" if self.word == UNKNOWN else look_of(self.word).hue

    @property
    def shape(self) -> str:
        return "question" if self.word == UNKNOWN else look_of(self.word).shape

    @property
    def label(self) -> str:
        return UNKNOWN if self.word == UNKNOWN else look_of(self.word).label

    @property
    def reason(self) -> str:
        """The word it is shown by."""
        return "unknown" if self.word == UNKNOWN else self.word

    @property
    def symbol(self) -> float:
        """Where its shape begins: before the words, or in the middle."""
        return self.x + (7 if self.words else self.width / 2 - 5)

    @property
    def after(self) -> float:
        """Where its words begin."""
        return self.x + 22


@dataclass(frozen=True, slots=True)
class Tick:
    place: float
    words: str


@dataclass(frozen=True, slots=True)
class Panel:
    """One quantity over the range. `path`: its steps; where the recording ends there is none."""

    title: str
    top: float
    path: str
    ticks: tuple[Tick, ...]

    @property
    def bottom(self) -> float:
        return self.top + TALL


@dataclass(frozen=True, slots=True)
class Chart:
    width: float
    bands: tuple[Band, ...]
    panels: tuple[Panel, ...]
    ticks: tuple[Tick, ...]
    recorded: float | None  #: where the recorded value stands; None: outside the range
    least: float | None
    key: str  #: tells its hatching from another chart's
    left: float = LEFT
    top: float = TOP
    band: float = BAND

    @property
    def recorded_first(self) -> bool:
        """Whether the recorded value stands before the smallest that completes: its word then goes to its left."""
        return self.recorded is not None and self.least is not None and LEFT + 60 < self.recorded < self.least

    @property
    def right(self) -> float:
        return self.width - RIGHT

    @property
    def height(self) -> float:
        return self.panels[-1].bottom + 26 if self.panels else TOP + BAND + 26

    @property
    def foot(self) -> float:
        return self.height - 6

    @property
    def floor(self) -> float:
        return self.height - 24


def charts_of(sweep: Sweep) -> tuple[Chart, Chart]:
    """For a wide page and for a narrow one."""
    return _chart(sweep, 960.0, "wide"), _chart(sweep, 362.0, "narrow")


def _chart(sweep: Sweep, width: float, key: str) -> Chart:
    first, last = sweep.points[0].value, _ends(sweep)[-1]

    def x(value: float) -> float:
        return round(LEFT + (width - LEFT - RIGHT) * (value - first) / (last - first), 1)

    recorded = x(float(sweep.recorded)) if sweep.recorded is not None and first <= sweep.recorded < last else None
    least = None if sweep.least is None else x(sweep.least.value)
    ticks = tuple(_value_ticks(sweep, x, 8 if width > 600 else 3))
    return Chart(width, tuple(bands_of(sweep, x)), tuple(_panels(sweep, x)), ticks, recorded, least, key)


def _ends(sweep: Sweep) -> tuple[int, ...]:
    """Where each point's value gives way to the next; the last reaches as far as the one before it."""
    values = [point.value for point in sweep.points]
    reach = values[-1] - values[-2] if len(values) > 1 else 1
    return (*values[1:], values[-1] + reach)


def bands_of(sweep: Sweep, x: Callable[[float], float]) -> Iterator[Band]:
    """Neighbours of one word as one band; it reaches to where the next begins."""
    since = sweep.points[0]
    for point, end, after in zip(sweep.points, _ends(sweep), (*sweep.points[1:], None), strict=True):
        if after is not None and after.word == since.word:
            continue
        width = round(x(end) - x(since.value), 1)
        band = Band(since.word, x(since.value), width, since.value, point.value)
        fits = width > len(band.label) * LETTER + 30
        yield Band(band.word, band.x, width, band.since, band.until, band.label if fits else "")
        since = after or point


def _panels(sweep: Sweep, x: Callable[[float], float]) -> Iterator[Panel]:
    top = TOP + BAND + GAP - 8
    yield _panel("tokens out", top, sweep, x, lambda point: Decimal(point.tokens), lambda n: number(int(n)))
    if all(point.price is not None for point in sweep.points):
        below = top + TALL + GAP
        yield _panel("price, US dollars (≈)", below, sweep, x, _dollars, dollars_in_words)


def _dollars(point: Point) -> Decimal:
    assert point.price is not None, "asked only where every price is known"
    return point.price.dollars


def _panel(
    title: str,
    top: float,
    sweep: Sweep,
    x: Callable[[float], float],
    of: Callable[[Point], Decimal],
    words: Callable[[Decimal], str],
) -> Panel:
    known = [point for point in sweep.points if not point.undecidable]
    most = max((of(point) for point in known), default=Decimal(0)) or Decimal(1)

    def y(amount: Decimal) -> float:
        return round(top + TALL - (TALL - 8) * float(amount / most), 1)

    ticks = tuple(Tick(y(amount), words(amount)) for amount in (Decimal(0), most))
    return Panel(title, top, " ".join(_steps(sweep, x, lambda point: y(of(point)))), ticks)


def _steps(sweep: Sweep, x: Callable[[float], float], y: Callable[[Point], float]) -> Iterator[str]:
    drawing = False
    for point, end in zip(sweep.points, _ends(sweep), strict=True):
        if point.undecidable:
            drawing = False
            continue
        yield f"{'L' if drawing else 'M'}{x(point.value)} {y(point)}H{x(end)}"
        drawing = True


def _value_ticks(sweep: Sweep, x: Callable[[float], float], most: int) -> Iterator[Tick]:
    count = len(sweep.points)
    every = -(-count // most)
    placed = (point.value for point in sweep.points[:count:every] if point is not sweep.least or count < most)
    for value in placed:
        yield Tick(x(value), number(value))
