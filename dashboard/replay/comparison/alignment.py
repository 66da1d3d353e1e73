"""Two sequences aligned, in bounded time whatever they are.

What both begin and end with is taken off first. Then runs that occur once on either side are anchors, and what lies
between two anchors is aligned by itself. Where nothing is unique any more, a table of common subsequences decides, as
long as the budget of its cells lasts; beyond it, a way of few edits is looked for, else the stretches are different.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

BUDGET = 1_500_000  #: cells of tables, and steps of ways, of one whole alignment
EDITS = 300  #: of a way that is looked for where a table would be too large
RUNS = (4, 2, 1)  #: lengths of the runs that are looked for, the surest first
Match = tuple[int, int]  #: places of the same item, in the left and in the right
Furthest = dict[int, int]  #: by diagonal (left place minus right place), how far into the left one comes


@dataclass(frozen=True, slots=True)
class Stretch:
    """`left[i:j]` against `right[k:l]`: the same, or the one in place of the other (either may be empty)."""

    same: bool
    i: int
    j: int
    k: int
    l: int  # noqa: E741 - the fourth of four bounds


Bounds = tuple[int, int, int, int]


def align(left: Sequence[Hashable], right: Sequence[Hashable], *, budget: int = BUDGET) -> list[Stretch]:
    """Stretches that cover both in order, the same and the different by turns."""
    matches = sorted(_Aligner(left, right, budget).matches())
    return list(_stretches(matches, len(left), len(right)))


def _stretches(matches: Sequence[tuple[int, int, int]], left: int, right: int) -> Iterator[Stretch]:
    """`matches`: `(i, k, length)`. Neighbours are joined."""
    i = k = 0
    for start, other, length in (*_joined(matches), (left, right, 0)):
        if start > i or other > k:
            yield Stretch(False, i, start, k, other)
        if length:
            yield Stretch(True, start, start + length, other, other + length)
        i, k = start + length, other + length


def _joined(matches: Sequence[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    joined: list[tuple[int, int, int]] = []
    for i, k, length in matches:
        if joined and joined[-1][0] + joined[-1][2] == i and joined[-1][1] + joined[-1][2] == k:
            joined[-1] = (joined[-1][0], joined[-1][1], joined[-1][2] + length)
        elif length:
            joined.append((i, k, length))
    return joined


class _Aligner:
    """The work on one pair; `cells` is what is left of the budget."""

    def __init__(self, left: Sequence[Hashable], right: Sequence[Hashable], budget: int) -> None:
        self.left, self.right, self.cells = left, right, budget

    def matches(self) -> Iterator[tuple[int, int, int]]:
        todo: list[Bounds] = [(0, len(self.left), 0, len(self.right))]
        while todo:
            i, j, k, l = todo.pop()  # noqa: E741
            head, tail = self._ends(i, j, k, l)
            yield from ((i, k, head), (j - tail, l - tail, tail))
            inner = (i + head, j - tail, k + head, l - tail)
            if inner[0] == inner[1] or inner[2] == inner[3]:
                continue
            anchors = self._anchors(inner)
            if anchors:
                todo += _between(anchors, inner)
            else:
                yield from self._table(inner)

    def _ends(self, i: int, j: int, k: int, l: int) -> tuple[int, int]:  # noqa: E741
        most = min(j - i, l - k)
        head = next((n for n in range(most) if self.left[i + n] != self.right[k + n]), most)
        most -= head
        tail = next((n for n in range(most) if self.left[j - 1 - n] != self.right[l - 1 - n]), most)
        return head, tail

    def _anchors(self, bounds: Bounds) -> list[tuple[int, int]]:
        """Places of runs that are unique on both sides and stand in the same order there."""
        i, j, k, l = bounds  # noqa: E741
        for length in RUNS:
            ours, theirs = _unique(self.left, i, j, length), _unique(self.right, k, l, length)
            pairs = [(place, theirs[run]) for run, place in ours.items() if run in theirs]
            if pairs:
                return _rising(sorted(pairs))
        return []

    def _few(self, bounds: Bounds) -> Iterator[tuple[int, int, int]]:
        """What stays where few items differ; one stretch of an alignment may use up the budget for it."""
        i, j, k, l = bounds  # noqa: E741
        steps, self.cells = self.cells, 0
        for x, y in few_edits(self.left[i:j], self.right[k:l], EDITS, steps) or ():
            yield i + x, k + y, 1

    def _table(self, bounds: Bounds) -> Iterator[tuple[int, int, int]]:
        """The longest common subsequence, where the budget still has room for its table."""
        i, j, k, l = bounds  # noqa: E741
        size = (j - i) * (l - k)
        if size > self.cells:
            yield from self._few(bounds)
            return
        self.cells -= size
        lengths = [[0] * (l - k + 1)]
        for place in range(j - 1, i - 1, -1):
            lengths.append(_row(self.left[place], self.right, k, l, lengths[-1]))
        lengths.reverse()
        x = y = 0
        while x < j - i and y < l - k:
            if self.left[i + x] == self.right[k + y]:
                yield i + x, k + y, 1
                x, y = x + 1, y + 1
            elif lengths[x + 1][y] >= lengths[x][y + 1]:
                x += 1
            else:
                y += 1


def _row(one: Hashable, right: Sequence[Hashable], k: int, l: int, below: list[int]) -> list[int]:  # noqa: E741
    row = [0] * (l - k + 1)
    for y in range(l - k - 1, -1, -1):
        row[y] = below[y + 1] + 1 if right[k + y] == one else max(below[y], row[y + 1])
    return row


def _unique(items: Sequence[Hashable], start: int, end: int, length: int) -> dict[tuple[Hashable, ...], int]:
    """The runs of a length that occur once, with their places."""
    runs = [tuple(items[place : place + length]) for place in range(start, end - length + 1)]
    counts = Counter(runs)
    return {run: start + n for n, run in enumerate(runs) if counts[run] == 1}


def _rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest choice of pairs, sorted by the first, whose seconds rise too."""
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for index, (_, second) in enumerate(pairs):
        length = bisect_left(tails, second)
        before.append(ends[length - 1] if length else -1)
        tails[length : length + 1] = [second]
        ends[length : length + 1] = [index]
    chosen, at = [], ends[-1]
    while at >= 0:
        chosen.append(pairs[at])
        at = before[at]
    return chosen[::-1]


def _between(anchors: list[tuple[int, int]], bounds: Bounds) -> list[Bounds]:
    """The pairs of stretches from anchor to anchor; each begins with its anchor, so that it is taken off there."""
    i, j, k, l = bounds  # noqa: E741
    starts = [(i, k), *anchors]
    ends = [*anchors, (j, l)]
    return [(a, b, c, d) for (a, c), (b, d) in zip(starts, ends, strict=True) if b > a or d > c]


def few_edits(left: Sequence[Hashable], right: Sequence[Hashable], most: int, steps: int) -> list[Match] | None:
    """The matches of the shortest edit script, in order; None where it has more than `most` edits, or where that is not
    known after about so many steps. Memory: `most` squared.

    Source: E. W. Myers, "An O(ND) Difference Algorithm and Its Variations", Algorithmica 1 (1986), its greedy search.
    """
    trail: list[Furthest] = []
    furthest: Furthest = {1: 0}
    for edits in range(most + 1):
        trail.append(dict(furthest))
        for diagonal in range(-edits, edits + 1, 2):
            x = entered = _entered(furthest, diagonal, edits)
            y = x - diagonal
            while x < len(left) and y < len(right) and left[x] == right[y]:
                x, y = x + 1, y + 1
            steps -= 1 + x - entered
            furthest[diagonal] = x
            if x >= len(left) and y >= len(right):
                return _walked_back(trail, len(left), len(right))
        if steps < 0:
            return None
    return None


def _comes_down(furthest: Furthest, diagonal: int, edits: int) -> bool:
    """Whether the way comes onto the diagonal by an item more of the right; else by one less of the left."""
    return diagonal == -edits or (diagonal != edits and furthest[diagonal - 1] < furthest[diagonal + 1])


def _entered(furthest: Furthest, diagonal: int, edits: int) -> int:
    return furthest[diagonal + 1] if _comes_down(furthest, diagonal, edits) else furthest[diagonal - 1] + 1


def _walked_back(trail: list[Furthest], x: int, y: int) -> list[Match]:
    matches: list[Match] = []
    for edits in range(len(trail) - 1, -1, -1):
        furthest, diagonal = trail[edits], x - y
        start = _entered(furthest, diagonal, edits)
        while x > start:
            x, y = x - 1, y - 1
            matches.append((x, y))
        before = diagonal + 1 if _comes_down(furthest, diagonal, edits) else diagonal - 1
        x = furthest[before]
        y = x - before
    return matches[::-1]
