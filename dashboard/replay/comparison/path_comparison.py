"""Two turns' transitions side by side; the part a fork took over from its parent is shown once."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import starmap, zip_longest

from dashboard.replay.comparison.alignment import Stretch, align
from dashboard.turns.moments import Moment

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
