"""The curve as a picture: the share of answers that are whole within so many tokens, with its band."""

from collections.abc import Iterator
from dataclasses import dataclass

from agentcore.number_format import percent
from dashboard.policies.backtests.survival import Curve, Quantile, Step
from dashboard.turns.templatetags.formatting import number

LEFT, RIGHT, TOP, FOOT, HEIGHT = 60.0, 14.0, 12.0, 26.0, 260.0
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
MOST_STEPS = 400  #: drawn; more are not seen


@dataclass(frozen=True, slots=True)
class Tick:
    place: float
    words: str


@dataclass(frozen=True, slots=True)
class CurveChart:
    """In units of its viewBox. `mark`: where the share asked for is reached; None: nowhere."""

    width: float
    line: str
    band: str
    unknown: float  #: from here on nothing is known
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    mark: tuple[float, float] | None
    key: str
    height: float = HEIGHT
    left: float = LEFT
    top: float = TOP

    @property
    def right(self) -> float:
        return self.width - RIGHT

    @property
    def floor(self) -> float:
        return HEIGHT - FOOT


def charts_of(curve: Curve, asked: Quantile) -> tuple[CurveChart, ...]:
    """For a wide page and for a narrow one; none where nothing is known."""
    return (_chart(curve, asked, 760.0, "wide"), _chart(curve, asked, 362.0, "narrow")) if curve.steps else ()


def _chart(curve: Curve, asked: Quantile, width: float, key: str) -> CurveChart:
    last = max(curve.longest, curve.steps[-1].tokens) * 1.08

    def x(tokens: float) -> float:
        return round(LEFT + (width - LEFT - RIGHT) * tokens / last, 1)

    def y(share: float) -> float:
        return round(HEIGHT - FOOT - (HEIGHT - FOOT - TOP) * share, 1)

    steps = _drawn(curve.steps)
    end = curve.steps[-1].tokens if curve.undecided == 0 else curve.longest
    upper = [(x(step.tokens), y(1 - step.low)) for step in steps]
    lower = [(x(step.tokens), y(1 - step.high)) for step in steps]
    line = [(x(step.tokens), y(1 - step.longer)) for step in steps]
    ticks = tuple(Tick(x(tokens), number(tokens)) for tokens in _round_numbers(last, 8 if width > 600 else 4))
    return CurveChart(
        width,
        f"M{x(0)} {y(0)}{_stairs(line)}H{x(end)}",
        f"M{x(0)} {y(0)}{_stairs(upper)}H{x(end)}V{lower[-1][1]}{_stairs_back(lower)}Z",
        x(end),
        ticks,
        tuple(Tick(y(share), percent(share)) for share in SHARES),
        None if asked.tokens is None else (x(asked.tokens), y(asked.of)),
        key,
    )


def _drawn(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    every = -(-len(steps) // MOST_STEPS)
    return (*steps[:-1:every], steps[-1])


def _stairs(points: list[tuple[float, float]]) -> str:
    return "".join(f"H{x}V{y}" for x, y in points)


def _stairs_back(points: list[tuple[float, float]]) -> str:
    """From the last point to the left; each step's height reaches from its x to the next one's."""
    parts = [f"H{x}V{before}" for (x, _), before in zip(reversed(points), _heights_before(points), strict=True)]
    return "".join(parts)


def _heights_before(points: list[tuple[float, float]]) -> Iterator[float]:
    heights = [HEIGHT - FOOT, *(y for _, y in points[:-1])]
    yield from reversed(heights)


def _round_numbers(last: float, most: int) -> Iterator[int]:
    """Multiples of 1, 2 or 5 times a power of ten, at most about `most` of them."""
    size = 10 ** max(0, len(str(int(last / most))) - 1)
    step = next(step * size for step in (1, 2, 5, 10) if last / (step * size) <= most)
    yield from range(0, int(last) + 1, step)
