"""A word-level diff of two texts; grapheme clusters are never split."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from dashboard.replay.comparison.alignment import Stretch, align

#: A blank, a character of a script that puts none between words, a word, or a run of marks.
PIECES = re.compile(r"\s+|[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|\w+|[^\w\s]+")
JOINER = "\u200d"
TONES = ("\U0001f3fb", "\U0001f3ff")  #: the colours of skin follow what they colour
SHOWN = 160  #: characters that are shown at each end of a long stretch that is the same
FOLDED = 3 * SHOWN  #: characters from which such a stretch is folded
ALIKE = 0.25  #: the share of common words below which two texts are shown apart
VIRAMA = 9  #: the combining class of signs that bind two letters into one


@dataclass(frozen=True, slots=True)
class Wording:
    """A piece of two texts: `same`, or only on the `left` or the `right`. `hidden` is folded away, between the rest."""

    kind: str
    text: str
    hidden: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class WordDiff:
    """`left` and `right` count characters that stand only there; `alike` is the share of words in common."""

    pieces: tuple[Wording, ...]
    left: int
    right: int
    alike: float

    @property
    def same(self) -> bool:
        return not self.left and not self.right

    @property
    def apart(self) -> bool:
        """Too little in common to be read as one text."""
        return self.alike < ALIKE


def words_of(text: str) -> list[str]:
    """The text in pieces that are compared whole; joined, they are the text."""
    words: list[str] = []
    for piece in PIECES.findall(text):
        if words and (_extends(piece[0]) or _joins(words[-1][-1])):
            words[-1] += piece
        else:
            words.append(piece)
    return words


def _extends(character: str) -> bool:
    """Whether it belongs to the character before it."""
    marks = unicodedata.category(character)[0] == "M" or character in (JOINER, "\u200c")
    return marks or TONES[0] <= character <= TONES[1]


def _joins(character: str) -> bool:
    """Whether what follows it belongs to the same character."""
    return character == JOINER or unicodedata.combining(character) == VIRAMA


def word_diff(left: str, right: str) -> WordDiff:
    """Two texts as one, with what only one of them says marked."""
    ours, theirs = words_of(left), words_of(right)
    stretches = align(ours, theirs)
    pieces = tuple(piece for stretch in stretches for piece in _pieces(stretch, ours, theirs))
    common = sum(_said(ours[s.i : s.j]) for s in stretches if s.same)
    longest = max(_said(ours), _said(theirs))
    return WordDiff(
        pieces,
        sum(len(piece.text) for piece in pieces if piece.kind == "left"),
        sum(len(piece.text) for piece in pieces if piece.kind == "right"),
        common / longest if longest else 1.0,
    )


def _said(words: list[str]) -> int:
    """Characters that are no blanks."""
    return sum(len(word) for word in words if not word.isspace())


def _pieces(stretch: Stretch, ours: list[str], theirs: list[str]) -> Iterator[Wording]:
    if stretch.same:
        yield _folded(ours[stretch.i : stretch.j])
        return
    if stretch.j > stretch.i:
        yield Wording("left", "".join(ours[stretch.i : stretch.j]))
    if stretch.l > stretch.k:
        yield Wording("right", "".join(theirs[stretch.k : stretch.l]))


def _folded(words: list[str]) -> Wording:
    text = "".join(words)
    if len(text) < FOLDED:
        return Wording("same", text)
    ends = list(accumulate(len(word) for word in words))
    first = next(n for n, end in enumerate(ends, start=1) if end >= SHOWN)
    last = next(n for n in range(len(ends)) if ends[n] > len(text) - SHOWN)
    if last <= first:
        return Wording("same", text)
    return Wording("same", "".join(words[:first]), "".join(words[first:last]), "".join(words[last:]))
