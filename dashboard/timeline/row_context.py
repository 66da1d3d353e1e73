"""Adds to timeline rows what is not in the turn's own columns: cost, held time, highlighted words."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise

from dashboard.turns.models import Turn
from dashboard.turns.prices.selectors import prices_of
from dashboard.turns.search_words import parts_of
from dashboard.turns.timeline_page import SHOWN

BEFORE = 20  #: characters before the first word: a column of a narrow window shows 35 of a snippet
AFTER = 130  #: from the first word on
MOST_PLACES = 1_000  #: of a text where a word stands
_BETWEEN = r"[\W_]+"  #: two words of a phrase


@dataclass(frozen=True, slots=True)
class Snippet:
    """`where` is `answer` or `prompt`; of `pieces`, every second one is a word that was found."""

    where: str
    pieces: tuple[str, ...]

    @property
    def marked(self) -> tuple[tuple[str, bool], ...]:
        """The pieces, each with whether it was found."""
        return tuple((piece, bool(n % 2)) for n, piece in enumerate(self.pieces) if piece)


def snippet_of(turn: Turn, asked: str) -> Snippet | None:
    """Where most of what was searched for stands together, in the answer rather than in the prompt, and as far in front
    as it can be; None where nothing of it stands."""
    pattern = _pattern(asked)
    if pattern is None:
        return None
    best, snippet = 0, None
    for where, text in (("answer", turn.output_text), ("prompt", turn.input_text)):
        together, place = _densest(list(islice(pattern.finditer(text), MOST_PLACES)))
        if together > best:
            best, snippet = together, Snippet(where, _pieces(pattern, _around(text, place)))
    return snippet


def _densest(places: Sequence[re.Match[str]]) -> tuple[int, int]:
    """How many different words and phrases stand near one another at most, and where the first of these begins."""
    best, place, end = 0, 0, 0
    for n, first in enumerate(places):
        while end < len(places) and places[end].end() <= first.start() + AFTER:
            end += 1
        together = len({one.lastindex for one in places[n : max(end, n + 1)]})
        if together > best:
            best, place = together, first.start()
    return best, place


def _pieces(pattern: re.Pattern[str], text: str) -> tuple[str, ...]:
    """The text, parted at each word and phrase that was found."""
    bounds = [0, *(bound for found in pattern.finditer(text) for bound in found.span()), len(text)]
    return tuple(text[begin:end] for begin, end in pairwise(bounds))


def _around(text: str, place: int) -> str:
    """The text about this place: it begins and ends with a whole word, unless a word is longer than that."""
    start, stop = max(place - BEFORE, 0), place + AFTER
    before, after = text[start:place], text[place:stop]
    if start:
        words = before.split(maxsplit=1)
        before = f"…{words[1] if len(words) == 2 else before}"
    if stop < len(text):
        after = f"{after.rsplit(maxsplit=1)[0]}…"
    return (before + after).replace("\n", " ")


@lru_cache(64)
def _pattern(asked: str) -> re.Pattern[str] | None:
    """The words and phrases that are looked for, each a group of its own, phrases first; those that must not be there
    are left out."""
    parts = [part for part in parts_of(asked) if part[0] != "-" and part != "or"]
    said = sorted(dict.fromkeys(map(_words, parts)), key=len, reverse=True)
    groups = "|".join(f"({_BETWEEN.join(map(re.escape, words))})" for words in said)
    return re.compile(rf"(?<![^\W_])(?:{groups})(?![^\W_])", re.IGNORECASE) if groups else None


def _words(part: str) -> tuple[str, ...]:
    return tuple(part.strip('"').lower().split())


def with_row_context(turns: Iterable[Turn], asked: str) -> list[Turn]:
    """These turns, each with its price and, where `asked` are words, the place of these in it."""
    shown = list(turns)
    prices = prices_of(shown)
    for turn in shown:
        turn.price = prices[turn.id]
        turn.snippet = snippet_of(turn, asked) if asked else None
        turn.input_text, turn.output_text = turn.input_text[:SHOWN], ""  # a socket keeps its rows
    return shown
