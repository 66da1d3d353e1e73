"""Two turns side by side: what they were asked with, what they did, what they said, and what it took.

Also holds numbers of two turns, side by side. A new kind of number is a new row of `FIGURES`.

Also holds two turns' transitions side by side; the part a fork took over from its parent is shown once.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import starmap, zip_longest
from typing import Any

from dashboard.replay.comparison.alignment import Stretch, align
from dashboard.replay.comparison.request_fields import Field, fields_of
from dashboard.replay.comparison.word_comparison import WordDiff, word_diff
from dashboard.turns.models import UNFINISHED, Attempt, Turn
from dashboard.turns.moments import Moment
from dashboard.turns.prices.rates import Price
from dashboard.turns.prices.selectors import prices_of
from dashboard.turns.prices.templatetags.prices import dollars_in_words
from dashboard.turns.provider_words import asks_simulator
from dashboard.turns.selectors import attempts_of
from dashboard.turns.templatetags.formatting import milliseconds, number
from dashboard.turns.turn_view import TurnView, turn_view

KEPT = 1  #: transitions that are shown at each end of a run that is the same


@dataclass(frozen=True, slots=True)
class Pair:
    """One row: what either turn did there; None where it did no more. Where they part, a row is a place only."""

    left: Moment | None
    right: Moment | None

    @property
    def otherwise(self) -> bool:
        """The same move, for another reason or with other numbers in it."""
        return self.left is not None and self.right is not None and self.left.reason != self.right.reason


@dataclass(frozen=True, slots=True)
class Run:
    """Rows in order. `folded`: they are the same, and more than need be seen. `first`: the two part here."""

    pairs: tuple[Pair, ...]
    same: bool
    folded: bool = False
    first: bool = False


@dataclass(frozen=True, slots=True)
class PathDiff:
    """`before`: what the parent did up to where the other, its fork, begins; empty where neither is a fork of it."""

    runs: tuple[Run, ...]
    left: int
    right: int
    before: Run = Run((), same=True)

    @property
    def same(self) -> bool:
        return all(run.same for run in self.runs)


def path_diff(left: tuple[Moment, ...], right: tuple[Moment, ...], *, forked_at: tuple[int, int] = (0, 0)) -> PathDiff:
    """Two paths aligned by what moved, not by when.

    `forked_at`: of either turn, up to which of its records the other took over what it is; 0: the other is no fork.
    """
    ours, theirs = (_up_to(seq, path) for seq, path in zip(forked_at, (left, right), strict=True))
    before = [Pair(one, None) for one in left[:ours]] + [Pair(None, one) for one in right[:theirs]]
    rest, other = left[ours:], right[theirs:]
    stretches = align([_move(moment) for moment in rest], [_move(moment) for moment in other])
    return PathDiff(tuple(_runs(stretches, rest, other)), len(left), len(right), Run(tuple(before), same=False))


def _up_to(seq: int, path: tuple[Moment, ...]) -> int:
    """How many transitions the records up to `seq` have."""
    return sum(moment.seq <= seq for moment in path)


def _move(moment: Moment) -> tuple[str, str, str]:
    return moment.source, moment.trigger, moment.target


def _runs(stretches: list[Stretch], left: tuple[Moment, ...], right: tuple[Moment, ...]) -> Iterator[Run]:
    parted = False
    for stretch in stretches:
        if stretch.same:
            yield from _with_fold(tuple(map(Pair, left[stretch.i : stretch.j], right[stretch.k : stretch.l])))
        else:
            pairs = tuple(starmap(Pair, zip_longest(left[stretch.i : stretch.j], right[stretch.k : stretch.l])))
            yield Run(pairs, same=False, first=not parted)
            parted = True


def _with_fold(pairs: tuple[Pair, ...]) -> Iterator[Run]:
    if len(pairs) < 2 * KEPT + 2:
        yield Run(pairs, same=True)
        return
    yield Run(pairs[:KEPT], same=True)
    yield Run(pairs[KEPT:-KEPT], same=True, folded=True)
    yield Run(pairs[-KEPT:], same=True)


Value = float | None


@dataclass(frozen=True, slots=True)
class Measured:
    """A turn with its first attempt, which knows when the first token came, and what its calls cost, where known."""

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
        return 0.0 if asks_simulator(measured.turn) else None
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
    Kind("calls", lambda m: m.turn.attempts),
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


@dataclass(frozen=True, slots=True)
class Comparison:
    """`fields` that differ come first."""

    left: TurnView
    right: TurnView
    fields: tuple[Field, ...]
    path: PathDiff
    answer: WordDiff
    figures: tuple[Figure, ...]

    @property
    def different(self) -> tuple[Field, ...]:
        return tuple(field for field in self.fields if not field.same)

    @property
    def alike(self) -> tuple[Field, ...]:
        return tuple(field for field in self.fields if field.same)

    @property
    def unfinished(self) -> bool:
        """Whether one of them may still say more."""
        return any(side.turn.status in UNFINISHED for side in (self.left, self.right))


def comparison_of(left: Turn, right: Turn) -> Comparison:
    """Both histories are read and judged again."""
    one, other = turn_view(left), turn_view(right)
    return Comparison(
        left=one,
        right=other,
        fields=fields_of(left, one.shown, right, other.shown),
        path=path_diff(
            one.shown.moments, other.shown.moments, forked_at=(_forked_at(left, right), _forked_at(right, left))
        ),
        answer=word_diff(left.output_text, right.output_text),
        figures=figures_of(*_measured(left, right)),
    )


def _forked_at(parent: Turn, child: Turn) -> int:
    """The parent's record from which the child went on; 0 where it did not, or began anew."""
    is_fork = child.parent_id == parent.pk and child.base_snapshot is not None
    return child.forked_at or 0 if is_fork else 0


def _measured(left: Turn, right: Turn) -> tuple[Measured, Measured]:
    prices = prices_of([left, right])
    one, other = (Measured(turn, attempts_of(turn.id).first(), prices[turn.id]) for turn in (left, right))
    return one, other
