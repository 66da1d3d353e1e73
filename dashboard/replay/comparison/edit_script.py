"""The shortest edit script between two sequences (Myers' greedy search), given up after so many edits.

Source: E. W. Myers, "An O(ND) Difference Algorithm and Its Variations", Algorithmica 1 (1986).
"""

from collections.abc import Hashable, Sequence

Match = tuple[int, int]  #: places of the same item, in the left and in the right
Furthest = dict[int, int]  #: by diagonal (left place minus right place), how far into the left one comes


def few_edits(left: Sequence[Hashable], right: Sequence[Hashable], most: int, steps: int) -> list[Match] | None:
    """What stays the same on a shortest way, in order; None where it has more than `most` edits, or where that is not
    known after about so many steps. Memory: `most` squared.
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
