"""Numbers of two turns, side by side. A new kind of number is a new row of `FIGURES`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dashboard.turns.models import Attempt, Turn
from dashboard.turns.templatetags.shown import milliseconds, number

Value = float | None


@dataclass(frozen=True, slots=True)
class Measured:
    """A turn with its first attempt, which knows when the first token came."""

    turn: Turn
    first: Attempt | None


@dataclass(frozen=True, slots=True)
class Kind:
    """One number of a turn, and how it is written. `less`: whether less of it is better; None: neither is."""

    name: str
    of: Callable[[Measured], Value]
    written: Callable[[Any], str] = number
    less: bool | None = True


@dataclass(frozen=True, slots=True)
class Figure:
    name: str
    left: str
    right: str
    delta: str
    tendency: str  #: better, worse or nothing: of the right one


FIGURES: tuple[Kind, ...] = (
    Kind("attempts", lambda m: m.turn.attempts),
    Kind("continuations", lambda m: m.turn.continuations),
    Kind("tool repairs", lambda m: m.turn.tool_repairs),
    Kind("envelope retries", lambda m: m.turn.envelope_retries),
    Kind("tokens in", lambda m: m.turn.input_tokens),
    Kind("tokens out", lambda m: m.turn.output_tokens),
    Kind("characters of answer", lambda m: len(m.turn.output_text), less=None),
    Kind("first token", lambda m: m.first.first_token_ms if m.first else None, milliseconds),
    Kind("took", lambda m: m.turn.duration_ms, milliseconds),
)


def figures_of(left: Measured, right: Measured) -> tuple[Figure, ...]:
    """Every number of both."""
    return tuple(_figure(kind, kind.of(left), kind.of(right)) for kind in FIGURES)


def _figure(kind: Kind, left: Value, right: Value) -> Figure:
    delta, tendency = "", ""
    if left is not None and right is not None and left != right:
        sign = "+" if right > left else "−"
        delta = f"{sign}{kind.written(abs(right - left))}"
        if kind.less is not None:
            tendency = "better" if (right < left) is kind.less else "worse"
    return Figure(kind.name, str(kind.written(left)), str(kind.written(right)), delta, tendency)
