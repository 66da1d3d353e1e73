"""Numbers of two turns, side by side. A new kind of number is a new row of `FIGURES`."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from dashboard.agents.samples import is_simulated
from dashboard.turns.models import Attempt, Turn
from dashboard.turns.prices.rates import Price
from dashboard.turns.prices.templatetags.prices import dollars_in_words
from dashboard.turns.templatetags.formatting import milliseconds, number

Value = float | None


@dataclass(frozen=True, slots=True)
class Measured:
    """A turn with its first attempt, which knows when the first token came, and what its calls cost, where known.

    The time for which the turn was held has been read (`held_ms`).
    """

    turn: Turn
    first: Attempt | None
    price: Price | None


@dataclass(frozen=True, slots=True)
class Kind:
    """One number of a turn, and how it is written. `less`: whether less of it is better; None: neither is.
    `shown`: its value as far as it is written out. `estimated`: whether it is ours, not the provider's."""

    name: str
    of: Callable[[Measured], Value]
    written: Callable[[Any], str] = number
    less: bool | None = True
    shown: Callable[[float], float] = lambda value: value
    estimated: Callable[[Measured], bool] = lambda _: False

    def told(self, measured: Measured) -> str:
        """The number in words; `≈` says that it is an estimate."""
        return f"{'≈ ' if self.estimated(measured) else ''}{self.written(self.of(measured))}"


def _cost(measured: Measured) -> Value:
    """US dollars; None where no list price is known. The simulator costs nothing."""
    if measured.price is None:
        return 0.0 if is_simulated(measured.turn.model) else None
    return float(measured.price.dollars)


def _shown_milliseconds(value: float) -> float:
    """Of 2.015 s only 2.02 s is shown: the difference must be that of the two numbers a reader sees."""
    seconds = value / 1000
    digits = 2 if seconds < 10 else 1 if seconds < 60 else 0
    return float(f"{seconds:.{digits}f}") * 1000


def _dollars(value: Value) -> str:
    if value is None:
        return "not known"
    return dollars_in_words(Decimal(str(value))) if value else "free"


@dataclass(frozen=True, slots=True)
class Figure:
    name: str
    left: str
    right: str
    delta: str  #: empty: as far as both are written out, they are the same
    tendency: str  #: better, worse or nothing: of the right one


FIGURES: tuple[Kind, ...] = (
    Kind("attempts", lambda m: m.turn.attempts),
    Kind("continuations", lambda m: m.turn.continuations),
    Kind("tool repairs", lambda m: m.turn.tool_repairs),
    Kind("envelope retries", lambda m: m.turn.envelope_retries),
    Kind("input tokens", lambda m: m.turn.input_tokens, estimated=lambda m: m.turn.tokens_estimated),
    Kind("output tokens", lambda m: m.turn.output_tokens, estimated=lambda m: m.turn.tokens_estimated),
    Kind(
        "price",
        _cost,
        _dollars,
        estimated=lambda m: m.price is not None and m.price.estimated,
    ),
    Kind("characters of answer", lambda m: len(m.turn.output_text), less=None),
    Kind("first token", lambda m: m.first.first_token_ms if m.first else None, milliseconds, shown=_shown_milliseconds),
    Kind("took", lambda m: m.turn.took_ms, milliseconds, shown=_shown_milliseconds),
)


def figures_of(left: Measured, right: Measured) -> tuple[Figure, ...]:
    """Every number of both."""
    return tuple(_figure(kind, left, right) for kind in FIGURES)


def _figure(kind: Kind, left: Measured, right: Measured) -> Figure:
    one, other = kind.of(left), kind.of(right)
    delta, tendency = "", ""
    if one is None or other is None:
        delta = "–"
    elif kind.written(one) != kind.written(other):
        sign = "+" if other > one else "−"
        delta = f"{sign}{kind.written(abs(kind.shown(other) - kind.shown(one)))}"
        if kind.less is not None:
            tendency = "better" if (other < one) is kind.less else "worse"
    return Figure(kind.name, kind.told(left), kind.told(right), delta, tendency)
