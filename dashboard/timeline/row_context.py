"""Adds to timeline rows what is not in the turn's own columns: cost, held time, highlighted words."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from dashboard.turns.models import Turn
from dashboard.turns.prices.selectors import prices_of
from dashboard.turns.search_words import words_query
from dashboard.turns.timeline_page import SHOWN

BEFORE = 20  #: characters before the first word: a column of a narrow window shows 35 of a snippet
AFTER = 130  #: from the first word on


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
    """The first place where one of the words stands, in the answer rather than in the prompt; None where none does."""
    pattern = _pattern(asked)
    if pattern is None:
        return None
    for where, text in (("answer", turn.output_text), ("prompt", turn.input_text)):
        if found := pattern.search(text):
            return Snippet(where, tuple(pattern.split(_around(text, found.start()))))
    return None


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
    """The words that are looked for, each whole; those that must not be there are left out."""
    words = [word for part in re.findall(r'-?"[^"]*"|\S+', words_query(asked)) if part[0] != "-" for word in _of(part)]
    return re.compile(rf"\b({'|'.join(map(re.escape, words))})\b", re.IGNORECASE) if words else None


def _of(part: str) -> list[str]:
    return [word for word in part.strip('"').split() if word != "or"]


def with_row_context(turns: Iterable[Turn], asked: str) -> list[Turn]:
    """These turns, each with its price and, where `asked` are words, the place of these in it."""
    shown = list(turns)
    prices = prices_of(shown)
    for turn in shown:
        turn.price = prices[turn.id]
        turn.snippet = snippet_of(turn, asked) if asked else None
        turn.input_text, turn.output_text = turn.input_text[:SHOWN], ""  # a socket keeps its rows
    return shown
