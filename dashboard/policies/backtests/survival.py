"""How long answers would be, from lengths of which some are cut: the Kaplan–Meier estimate.

An answer that ended by itself shows its true length. One that was cut was at least so long: it is censored there, and
still counts among those at risk before. Variance by Greenwood, bands by log(−log S), quantiles by inverting both.

Source: Kaplan and Meier 1958; Kalbfleisch and Prentice, The Statistical Analysis of Failure Time Data, 1.4; Brookmeyer
and Crowley 1982 for the interval of a quantile. What is expected of a further answer: Hill 1968, and with cut ones
Berliner and Hill 1988 (JASA 83).
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from agentcore.number_format import percent

Z95 = 1.959963984540054
LEAST_ENDED = 10  #: answers that ended, below which nothing is said of further ones
LEAST_SHARE = 0.9  #: of further answers, below which a number of tokens is no proposal


@dataclass(frozen=True, slots=True)
class Length:
    """One answer's tokens; `ended`: by itself, else it was cut there. `output`: the output tokens of its whole turn,
    where those were read."""

    tokens: int
    ended: bool
    output: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Step:
    """From `tokens` on the share of answers that are longer is `longer`, between `low` and `high` at 95 %. `further`:
    the share of further answers that is estimated to be longer; it is more, for the next one may be the longest.

    `ended` and `cut`: how many of these answers ended within `tokens`, and how many were cut before."""

    tokens: int
    longer: float
    low: float
    high: float
    further: float
    ended: int = 0
    cut: int = 0


@dataclass(frozen=True, slots=True)
class Quantile:
    """The share `of` of answers is whole within `tokens`; None: the longest known length does not reach it.

    `low` and `high` bound it at 95 %; None where the recordings do not say.
    """

    of: float
    tokens: int | None
    low: int | None
    high: int | None

    @property
    def percent(self) -> str:
        return percent(self.of)


@dataclass(frozen=True, slots=True)
class Curve:
    """The estimate. `cut`: how many of `count` lengths are censored; `longest`: the longest of all, cut or not."""

    steps: tuple[Step, ...]
    count: int
    cut: int
    longest: int

    @property
    def ended(self) -> int:
        """How many lengths are known: of answers that ended by themselves."""
        return self.count - self.cut

    @property
    def undecided(self) -> float:
        """The share of answers that are longer than anything that is known to have ended."""
        return self.steps[-1].longer if self.steps else 1.0

    def quantile(self, of: float) -> Quantile:
        """0 < `of` <= 1.

        The step at which none is left bounds nothing: however few the answers are, one of them is the longest.
        """
        rest = 1 - of + 1e-12
        bounding = [step for step in self.steps if step.longer > 0]
        return Quantile(
            of,
            tokens=next((step.tokens for step in self.steps if step.longer <= rest), None),
            low=next((step.tokens for step in bounding if step.low <= rest), None),
            high=next((step.tokens for step in bounding if step.high <= rest), None),
        )

    def expected(self, of: float) -> tuple[int | None, float]:
        """A number of tokens, and the share of further answers like these that is estimated to be whole within it:
        `of`, or what these answers bear out at their longest known length. None: that is less than `LEAST_SHARE`, or
        fewer than `LEAST_ENDED` have ended.

        Among those that are at least as long, the next answer is as likely to be the longest as each of them: within
        the longest of ten there are ten of eleven. Where many were cut, few are left to compare it with, and the share
        is smaller.
        """
        if self.ended < LEAST_ENDED:
            return None, 0.0
        reached = next((step for step in self.steps if 1 - step.further >= of), None)
        if reached is not None:
            return reached.tokens, of
        last = self.steps[-1]
        return (last.tokens if 1 - last.further >= LEAST_SHARE else None), 1 - last.further

    def counts_at(self, tokens: int) -> tuple[int, int]:
        """How many of these answers ended within so many tokens, and how many were cut before: a fact, where
        `expected` is an estimate."""
        last = max((step for step in self.steps if step.tokens <= tokens), key=lambda step: step.tokens, default=None)
        return (0, 0) if last is None else (last.ended, last.cut)

    def within(self, tokens: int) -> float:
        """The share of answers that are whole within so many tokens."""
        longer = 1.0
        for step in self.steps:
            if step.tokens > tokens:
                break
            longer = step.longer
        return 1 - longer


def estimate(lengths: Iterable[Length]) -> Curve:
    """The curve of these lengths; of none it has no steps. A cut at the very length of an end comes after it."""
    ended, cut = Counter[int](), Counter[int]()
    for length in lengths:
        (ended if length.ended else cut)[length.tokens] += 1
    count = at_risk = ended.total() + cut.total()
    steps, longer, further, variance = [], 1.0, 1.0, 0.0
    done = lost = 0
    for tokens in sorted({*ended, *cut}):
        if ends := ended[tokens]:
            longer *= 1 - ends / at_risk
            further *= 1 - ends / (at_risk + 1)
            variance += ends / (at_risk * (at_risk - ends)) if at_risk > ends else math.inf
            done += ends
            steps.append(Step(tokens, longer, *_band(longer, variance), further, done, lost))
        at_risk -= ends + cut[tokens]
        lost += cut[tokens]
    return Curve(tuple(steps), count, cut.total(), max({*ended, *cut}, default=0))


def _band(longer: float, variance: float) -> tuple[float, float]:
    """The interval of one step at 95 %; where none is left there is nothing to spread."""
    if not 0 < longer < 1 or math.isinf(variance):
        return longer, longer
    spread = Z95 * math.sqrt(variance) / abs(math.log(longer))
    inner = math.log(-math.log(longer))
    return math.exp(-math.exp(inner + spread)), math.exp(-math.exp(inner - spread))
