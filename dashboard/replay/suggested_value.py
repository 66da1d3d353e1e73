"""A value of a swept limit that the recording does not tell of: a live re-run does, or the turns like this one."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from agentcore.replay import Certainty
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

    @property
    def known(self) -> bool:
        return self.certainty is not Certainty.UNDECIDABLE

    @property
    def proven(self) -> bool:
        """Whether a live re-run completed and said the same again."""
        return self.rerun is not None and self.certainty is Certainty.CERTAIN

    def shown(self) -> dict[str, Any]:
        """As the API tells it; `price`: US dollars."""
        price = None if self.price is None else float(self.price.dollars)
        told = {"value": self.value, "certainty": self.word, "words": self.words, "rerun": self.rerun}
        return {**told, "output_tokens": self.tokens, "attempts": self.calls, "price": price, "seconds": self.seconds}
