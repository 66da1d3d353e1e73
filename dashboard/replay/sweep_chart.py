"""A sweep as a picture: a band of outcomes, tokens and price as steps. Numbers are the units of its viewBox."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import count

from agentcore.replay import Certainty
from dashboard.replay.found_values import Found
from dashboard.replay.sweep_point import Point
from dashboard.replay.sweep_result import Sweep
from dashboard.replay.sweep_row import Row
from dashboard.turns.prices.templatetags.prices import dollars_in_words
from dashboard.turns.reason_looks import look_of
from dashboard.turns.templatetags.formatting import number

LEFT, RIGHT, BAND = 70.0, 14.0, 30.0
TOP = 46.0  #: above the band, for the marks' words, each in its own row
ROW = 13.0
SURE, APART = 20.0, 3.0  #: the band of certainties below, and the gap between
TALL = 96.0  #: of one panel
GAP = 34.0
LETTER = 6.6  #: about as wide is one, at the size of a band's word


@dataclass(frozen=True, slots=True)
class Band:
    """Values running that end alike. `word`: what it looks like; `label`: what it is called; `words`: that inside the
    band, empty where it does not fit."""

    word: str
    label: str
    x: float
    width: float
    since: int
    until: int
    words: str = ""

    @property
    def hue(self) -> str:
        return look_of(self.word).hue

    @property
    def said(self) -> str:
        if self.since == self.until:
            return f"{self.label} at {number(self.since)}"
        return f"{self.label} from {number(self.since)} to {number(self.until)}"

    @property
    def shape(self) -> str:
        return look_of(self.word).shape

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
class Mark:
    """A value with a name, as a line with words at its top: `certain from 520`. `name`: recorded, certain or likely."""

    name: str
    x: float
    words: str
    y: float  #: of its words
    left: bool  #: whether its words stand to the left of it


@dataclass(frozen=True, slots=True)
class Panel:
    """One quantity over the range. `path`: its steps where they are recorded or certain; `estimated`: where they are
    estimated. Where it is undecidable there are none."""

    title: str
    top: float
    path: str
    estimated: str
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
    marks: tuple[Mark, ...]
    sureness: tuple[Band, ...]  #: the same values by how certain their ends are
    key: str  #: tells its hatching from another chart's
    left: float = LEFT
    top: float = TOP
    band: float = BAND
    sure: float = SURE
    sure_top: float = TOP + BAND + APART

    @property
    def words(self) -> str:
        """Both bands as a text."""
        return "; ".join(", ".join(band.said for band in bands) for bands in (self.bands, self.sureness))

    @property
    def right(self) -> float:
        return self.width - RIGHT

    @property
    def height(self) -> float:
        return self.panels[-1].bottom + 26 if self.panels else TOP + BAND + APART + SURE + 26

    @property
    def foot(self) -> float:
        return self.height - 6

    @property
    def hatched(self) -> float:
        """How tall the hatching of what is undecidable is."""
        return self.floor - self.sure_top

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

    def within(value: float) -> bool:
        return first <= value < last

    marks = tuple(_mark(name, x(value), words, width) for name, value, words in _named(sweep) if within(value))
    ticks = tuple(_value_ticks(sweep, x, 8 if width > 600 else 3))
    sureness = tuple(bands_of(sweep, x, _sureness))
    return Chart(width, tuple(bands_of(sweep, x)), tuple(_panels(sweep, x)), ticks, marks, sureness, key)


def _named(sweep: Sweep) -> Iterator[tuple[str, float, str]]:
    """The values that have a name, with their words."""
    if sweep.recorded is not None:
        yield "recorded", float(sweep.recorded), "recorded"
    for name, found in sweep.told.items():
        yield name, found.value, _since(sweep.word_of(name, found), found)
    for row in sweep.recommendations:
        if row.said is not None:
            yield "certain" if row.said.proven else "likely", float(row.value), f"{row.named} {number(row.value)}"


def _since(name: str, found: Found) -> str:
    return f"{name} {'at' if found.since is None else 'from'} {number(found.value)}"


def _mark(name: str, x: float, words: str, width: float) -> Mark:
    row = ("recorded", "certain", "likely").index(name)
    left = x + len(words) * LETTER + 10 > width
    return Mark(name, x, words, 11 + ROW * row, left)


def _ends(sweep: Sweep) -> tuple[int, ...]:
    """Where each point's value gives way to the next; the last reaches as far as the one before it."""
    values = [point.value for point in sweep.points]
    reach = values[-1] - values[-2] if len(values) > 1 else 1
    return (*values[1:], values[-1] + reach)


def _end(row: Row) -> tuple[str, str]:
    return row.look, row.ends_in_words


def _sureness(row: Row) -> tuple[str, str]:
    return row.certainty.value, row.badge


def bands_of(
    sweep: Sweep, x: Callable[[float], float], read: Callable[[Row], tuple[str, str]] = _end
) -> Iterator[Band]:
    """Neighbours of one word and label as one band; it reaches to where the next begins."""
    rows = sweep.listed
    since = rows[0]
    for point, end, after in zip(rows, _ends(sweep), (*rows[1:], None), strict=True):
        word, label = read(since)
        if after is not None and read(after) == (word, label):
            continue
        width = round(x(end) - x(since.value), 1)
        fits = width > len(label) * LETTER + 30
        yield Band(word, label, x(since.value), width, since.value, point.value, label if fits else "")
        since = after or point


def _panels(sweep: Sweep, x: Callable[[float], float]) -> Iterator[Panel]:
    top = TOP + BAND + APART + SURE + GAP - 8
    yield _panel("output tokens", top, sweep, x, lambda point: Decimal(point.tokens), lambda n: number(int(n)))
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
    paths = [" ".join(_steps(sweep, x, lambda point: y(of(point)), guess=guess)) for guess in (False, True)]
    return Panel(title, top, paths[0], paths[1], ticks)


def _steps(sweep: Sweep, x: Callable[[float], float], y: Callable[[Point], float], *, guess: bool) -> Iterator[str]:
    drawing = False
    for point, end in zip(sweep.points, _ends(sweep), strict=True):
        if point.undecidable or (point.certainty is Certainty.ESTIMATED) is not guess:
            drawing = False
            continue
        yield f"{'L' if drawing else 'M'}{x(point.value)} {y(point)}H{x(end)}"
        drawing = True


def _value_ticks(sweep: Sweep, x: Callable[[float], float], most: int) -> Iterator[Tick]:
    """Round values, each as far from the next; the values that were tried also stand where the outcome changes."""
    first, last = sweep.points[0].value, sweep.points[-1].value
    steps = (base * 10**power for power in count() for base in (1, 2, 5))
    every = next(step for step in steps if last // step - (first - 1) // step <= most)
    for value in range(-(-first // every) * every, last + 1, every):
        yield Tick(x(value), number(value))
