"""Values of a swept limit that the recording does not tell of: a live re-run does, or the turns like this one.

Also holds what a live re-run took under a value, whatever the recording tells of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from agentcore.replay import Certainty
from agentcore.values import replace
from dashboard.replay.sweep_point import Point, ends_in_words
from dashboard.turns.endings import MAY_BE_CUT
from dashboard.turns.prices.rates import Price


@dataclass(frozen=True, slots=True)
class SuggestedValue:
    """`word`: proven, likely or not known, as the turn's page says it. What the turn takes is None where that is not
    known; of a likely value it is for one call, or in proportion to what the turn used."""

    value: int
    word: str
    certainty: Certainty  #: that its badge has
    words: str
    calls: int | None = None
    tokens: int | None = None
    price: Price | None = None
    seconds: float | None = None
    rerun: UUID | None = None
    costs: str = ""  #: of a live re-run under the value, in words; empty where one has shown it
    beside: str = ""  #: what must change with it, in short
    settings: Mapping[str, Any] = field(default_factory=dict)  #: the same by their keys, as the form of a what-if
    tries_again: bool = False  #: the call is tried again, and how that ends is not known

    @property
    def name(self) -> str:
        """What its row and its mark in the chart are called."""
        return "tried again" if self.tries_again else self.word

    @property
    def known(self) -> bool:
        return self.certainty is not Certainty.UNDECIDABLE

    @property
    def proven(self) -> bool:
        """Whether a live re-run completed and said the same again."""
        return self.rerun is not None and self.certainty is Certainty.CERTAIN

    def as_run(self, point: Point) -> Point:
        """The point of this value, with what the re-run took that shows it."""
        if self.rerun is None or self.calls is None or self.tokens is None:
            return point
        return _as_run(point, "completed", True, self.calls, self.tokens, self.price, self.seconds, self.certainty)

    def shown(self) -> dict[str, Any]:
        """As the API tells it; `price`: US dollars."""
        price = None if self.price is None else float(self.price.dollars)
        told = {"value": self.value, "certainty": self.word, "words": self.words, "rerun": self.rerun}
        return {**told, "output_tokens": self.tokens, "attempts": self.calls, "price": price, "seconds": self.seconds}


@dataclass(frozen=True, slots=True)
class MeasuredValue:
    """A value under which the turn was run again, and what the newest such re-run took. `proven`: it completed below
    its cap, and began with the recorded answer."""

    value: int
    rerun: UUID
    ends: str  #: as a sweep's point has it
    completed: bool
    proven: bool
    calls: int
    tokens: int
    price: Price | None
    seconds: float | None  #: not held by an operator
    resource: str | None = None  #: the limit that stopped it
    at_cap: bool = False  #: its answer may have been cut at the cap of its last call
    varies: bool = False  #: another run may need more of the limit

    @property
    def is_enough(self) -> bool:
        """Whether it completed, and nothing says that its answer was cut."""
        return self.completed and not self.at_cap

    @property
    def ends_in_words(self) -> str:
        return ends_in_words(self.ends, self.resource, at_cap=self.at_cap)

    @property
    def look(self) -> str:
        """The word that its end looks like."""
        return MAY_BE_CUT.look if self.completed and self.at_cap else self.ends

    @property
    def word(self) -> str:
        """What its badge says."""
        if self.likely:
            return "likely"
        return "proven" if self.proven else "measured"

    @property
    def likely(self) -> bool:
        """Whether it was enough, and may not be the next time."""
        return self.varies and self.is_enough

    def as_run(self, point: Point) -> Point:
        """The point of this value, with what the re-run took in place of what the recording tells."""
        sure = Certainty(self.certainty)
        found = _as_run(point, self.ends, self.completed, self.calls, self.tokens, self.price, self.seconds, sure)
        return replace(found, resource=self.resource, at_cap=self.at_cap)

    @property
    def certainty(self) -> str:
        """The certainty that its badge looks like."""
        if self.likely:
            return Certainty.ESTIMATED.value
        return Certainty.CERTAIN.value if self.proven else Certainty.RECORDED.value

    def shown(self) -> dict[str, Any]:
        """As the API tells it; `price`: US dollars."""
        price = None if self.price is None else float(self.price.dollars)
        told = {"value": self.value, "certainty": self.word, "rerun": self.rerun, "ends": self.ends}
        told |= {"ends_in_words": self.ends_in_words, "completed": self.completed}
        return {
            **told,
            "output_tokens": self.tokens,
            "attempts": self.calls,
            "price": price,
            "seconds": self.seconds,
        }


def _as_run(
    point: Point,
    word: str,
    completed: bool,
    calls: int,
    tokens: int,
    price: Price | None,
    seconds: float | None,
    certainty: Certainty,
) -> Point:
    """`seconds`: None where they are not known; then those of the what-if stay."""
    took = point.seconds if seconds is None else seconds
    found = Point(point.value, word, completed, tokens, calls, price, certainty, took)
    return replace(found, tokens_range=(tokens, tokens))
