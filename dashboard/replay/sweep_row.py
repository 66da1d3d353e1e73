"""What is told of one value of a sweep. The page's tables and chart, the terminal and the API read it, so that they
agree."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from agentcore.replay import Certainty
from dashboard.replay.suggested_value import MeasuredValue, SuggestedValue
from dashboard.replay.sweep_point import Point
from dashboard.turns.certainty_text import certainty_word
from dashboard.turns.prices.rates import Price

ABOUT, AT_MOST = "≈", "≤"
LIKELY = "likely completed"  #: of a value that other turns or another re-run tell of
TRIED_AGAIN = "tried again, end not known"  #: of a setting that has a failed call tried again


@dataclass(frozen=True, slots=True)
class Row:
    """`badge`: the word for how certain that is. What the turn takes is None where it is not known."""

    value: int
    look: str  #: the word that its end looks like
    ends_in_words: str
    certainty: Certainty  #: that its badge has
    badge: str
    calls: int | None
    tokens: int | None
    price: Price | None
    seconds: float | None
    sign: str = ""  #: before its tokens: about, or at most
    tokens_between: tuple[int, int] | None = None
    undecidable: bool = False
    why_in_words: str = ""  #: it is undecidable, as a part of a sentence
    rerun: UUID | None = None
    said: SuggestedValue | None = None  #: the turn's page names the value
    named: str = ""  #: what the value is called: likely, proven or measured

    @property
    def at_most(self) -> bool:
        """Whether tokens and price are upper bounds."""
        return self.sign == AT_MOST

    @property
    def about(self) -> bool:
        return self.sign == ABOUT

    @property
    def beside(self) -> str:
        """What must change with it, in short; empty where the value is enough alone."""
        return self.said.beside if self.said else ""

    def words(self) -> dict[str, Any]:
        """What the API adds to a point: the words of the page."""
        bound = self.tokens if self.at_most else None
        return {
            "ends_in_words": self.ends_in_words,
            "certainty_in_words": self.badge,
            "output_tokens_at_most": bound,
        }

    def shown(self) -> dict[str, Any]:
        """As the API tells a recommended value; `price`: US dollars."""
        price = None if self.price is None else float(self.price.dollars)
        told = {"value": self.value, "beside": self.beside, **self.words(), "rerun": self.rerun}
        return {**told, "output_tokens": self.tokens, "attempts": self.calls, "price": price, "seconds": self.seconds}


def row_of(point: Point, said: SuggestedValue | None = None, again: MeasuredValue | None = None) -> Row:
    """`said`: what the turn's page says of the value; `again`: the newest live re-run under it.

    A value that is only enough with other settings beside it tells nothing of the value alone.
    """
    alone = said if said is not None and not said.beside else None
    run = alone if alone is not None and alone.rerun is not None else again
    if run is not None:
        shown = Certainty(run.certainty)
        return _of_point(point, shown, run.word, rerun=run.rerun, said=said, named=said.name if said else run.word)
    if alone is not None and point.undecidable:
        return row_of_suggested(alone)
    named = said.name if said else ""
    return _of_point(point, point.certainty, certainty_word(point.certainty), said=said, named=named)


def row_of_suggested(said: SuggestedValue) -> Row:
    """The value as the turn's page recommends it, with what must change beside it."""
    look, words, sign, certainty = "completed", LIKELY, AT_MOST, said.certainty
    if said.rerun is not None:
        words, sign = "completed", ""
    elif said.tries_again:
        look, words, sign, certainty = "undecidable", TRIED_AGAIN, "", Certainty.UNDECIDABLE
    took: tuple[Any, ...] = (said.calls, None if said.tries_again else said.tokens, said.price, said.seconds)
    about: dict[str, Any] = {"sign": sign, "rerun": said.rerun, "said": said, "named": said.name}
    return Row(said.value, look, words, certainty, said.word, *took, **about)


def _of_point(point: Point, certainty: Certainty, badge: str, **about: Any) -> Row:
    run = "rerun" in about
    is_exact = run or point.undecidable or point.certainty is Certainty.RECORDED
    took = (point.calls, point.tokens, point.price, point.seconds)
    about |= {"sign": "" if is_exact else ABOUT, "tokens_between": point.tokens_between}
    about |= {"undecidable": point.undecidable, "why_in_words": point.why_in_words}
    return Row(point.value, point.look, point.ends_in_words, certainty, badge, *took, **about)
