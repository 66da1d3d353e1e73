"""What a sweep found: each value tried, and from where on the turn completes, in words that claim no more."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agentcore.replay import Certainty
from dashboard.agents.limit_fields import LIMIT_FIELDS
from dashboard.prices.rates import Price
from dashboard.replay.dials import Number


def unit_of(name: str) -> str:
    """What a limit that can be swept counts."""
    return "tokens" if name == "max_tokens" else LIMIT_FIELDS[name].unit


@dataclass(frozen=True, slots=True)
class Point:
    """The turn at one value. `word`: how it would have ended, `undecidable` where that is not in the recording."""

    value: int
    word: str
    completed: bool
    tokens: int
    calls: int
    price: Price | None
    certainty: Certainty = Certainty.RECORDED

    @property
    def undecidable(self) -> bool:
        return self.certainty is Certainty.UNDECIDABLE

    @property
    def completes_certainly(self) -> bool:
        return self.completed and self.certainty.rank <= Certainty.CERTAIN.rank

    def shown(self) -> dict[str, Any]:
        """As the API tells it; `price`: US dollars, null where it is not known."""
        told = {"value": self.value, "ends": self.word, "completed": self.completed}
        price = None if self.price is None else float(self.price.dollars)
        told |= {"output_tokens": self.tokens, "attempts": self.calls, "price": price}
        return {**told, "certainty": self.certainty.value}


Holds = Callable[[Point], bool]


@dataclass(frozen=True, slots=True)
class Found:
    """Values at which the turn completes, of those that were tried. `first`: the smallest. `since`: the smallest from
    which on every larger one completes as well; None where the largest does not."""

    first: int
    since: int | None

    @property
    def value(self) -> int:
        """The smallest that can be recommended."""
        return self.first if self.since is None else self.since

    @property
    def words(self) -> str:
        """`from 88`; where completing comes and goes, that is said."""
        if self.since is None:
            return f"at {self.first:,}, but not at every larger value that was tried"
        if self.since == self.first:
            return f"from {self.since:,}"
        return f"from {self.since:,} (and at {self.first:,}, but not at every value between)"

    def shown(self) -> dict[str, Any]:
        return {"since": self.since, "first": self.first}


@dataclass(frozen=True, slots=True)
class Sweep:
    """`certain`: where the turn completes, recorded or certain; `likely`: where it completes, estimated included.

    `points` are those asked for, and the values that are named. `sure`: every smaller value of the range than the
    smallest that completes was tried.
    """

    name: str
    recorded: Number | None
    points: tuple[Point, ...]
    certain: Found | None
    likely: Found | None
    sure: bool
    tried: int

    def shown(self) -> dict[str, Any]:
        """As the API tells it."""
        least = None if self.least is None else self.least.value
        told: dict[str, Any] = {"limit": self.name, "least": least, "sure": self.sure, "tried": self.tried}
        found = {name: None if each is None else each.shown() for name, each in self._found.items()}
        return {**told, **found, "words": self.words, "points": [point.shown() for point in self.points]}

    @property
    def _found(self) -> dict[str, Found | None]:
        return {"certain": self.certain, "likely": self.likely}

    @property
    def least(self) -> Point | None:
        """The smallest value that completes, however sure that is."""
        return None if self.likely is None else self._point(self.likely.first)

    @property
    def best(self) -> Point | None:
        """The value to take: one from which on every larger one completes as well, if there is one; then certain."""
        found = [each for each in (self.certain, self.likely) if each is not None]
        values = [*(each.since for each in found if each.since is not None), *(each.first for each in found)]
        return self._point(values[0]) if values else None

    def _point(self, value: int) -> Point:
        return next(point for point in self.points if point.value == value)

    @property
    def words(self) -> str:
        """What was found, in sentences that claim no more than was tried."""
        return f"{self.finding}. {self.proof}"

    @property
    def finding(self) -> str:
        said = [f"{name} {each.words}" for name, each in self._told.items()]
        if not said:
            return f"No {self.name} from {self.points[0].value:,} to {self.points[-1].value:,} is known to complete"
        never = "" if self.certain else ", certain at no value that was tried"
        return f"{self.name} that completes: {', '.join(said)}{never}"

    @property
    def named(self) -> tuple[tuple[str, str, str], ...]:
        """Each value that is named: the certainty it is shown by, `certain` or `likely`, and from where on."""
        looks = {"certain": Certainty.CERTAIN.value, "likely": Certainty.ESTIMATED.value}
        return tuple((looks[name], name, found.words) for name, found in self._told.items())

    @property
    def _told(self) -> dict[str, Found]:
        """What is worth saying: what is certain is likely too."""
        told = {"certain": self.certain, "likely": None if self.likely == self.certain else self.likely}
        return {name: found for name, found in told.items() if found is not None}

    @property
    def unit(self) -> str:
        return unit_of(self.name)

    @property
    def asks(self) -> int | None:
        """The value to re-run with where the recording knows none that completes: the largest it cannot tell of."""
        unknown = [point.value for point in self.points if point.undecidable]
        return unknown[-1] if unknown and self.least is None else None

    @property
    def proof(self) -> str:
        """How far that is known."""
        if self.least is not None:
            if self.least.value == self.points[0].value:
                return "The range begins there."
            return f"{'Every' if self.sure else 'Not every'} smaller value of the range was tried."
        unknown = next((point for point in self.points if point.undecidable), None)
        if unknown is None:
            return "Every value shown was tried."
        return f"From {unknown.value:,} {self.unit} on some values are undecidable: re-run live to find out."
