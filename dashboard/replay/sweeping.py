"""One limit over a range: how the turn would have ended at each value, and the smallest at which it completes.

Whether a turn completes need not grow with a limit (a continuation more may run into another limit), so the smallest
value is not searched by halves alone: between the last grid value that fails and the first that completes it is, and
then every smaller value is tried too, as far as the work allows. Where it does not, the words say so.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import ValidationError

from agentcore.policy import Policy
from agentcore.reasons import TurnStatus
from agentcore.replay import Recording, what_if
from dashboard.agents.criteria import criteria_faults
from dashboard.agents.limit_fields import LIMIT_FIELDS
from dashboard.agents.policies import overridden
from dashboard.agents.policy_validation import limit_clean, listed
from dashboard.live.services import overrides_clean
from dashboard.prices.rates import Price, Rate
from dashboard.prices.selectors import totals_price, turn_rate
from dashboard.replay.dials import Number
from dashboard.turns.history import recording_of
from dashboard.turns.models import Turn
from dashboard.turns.projection import status_of

SWEPT = (
    "max_tokens",
    "max_continuations",
    "max_total_completion_tokens",
    "max_total_output_chars",
    "max_tool_repair_attempts",
    "max_steps",
    "max_total_tokens",
    "schema_rounds",
)
MOST_POINTS = 120  #: of the chart
LEAST_WORK, MOST_WORK, WORK = 150, 1_000, 4_000  #: what-ifs of one sweep; times attempts they come to about WORK


@dataclass(frozen=True, slots=True)
class Point:
    """The turn at one value. `word`: how it would have ended, `undecidable` where that is not in the recording."""

    value: int
    word: str
    completed: bool
    tokens: int
    calls: int
    price: Price | None

    @property
    def undecidable(self) -> bool:
        return self.word == "undecidable"

    def shown(self) -> dict[str, Any]:
        """As the API tells it; `price`: US dollars, null where it is not known."""
        told = {"value": self.value, "ends": self.word, "completed": self.completed}
        price = None if self.price is None else float(self.price.dollars)
        return {**told, "output_tokens": self.tokens, "attempts": self.calls, "price": price}


@dataclass(frozen=True, slots=True)
class Sweep:
    """`least`: the smallest value that completes, one of the points; `sure`: every smaller one of the range was tried.

    `points` are those asked for, and `least`.
    """

    name: str
    recorded: Number | None
    points: tuple[Point, ...]
    least: Point | None
    sure: bool
    tried: int

    def shown(self) -> dict[str, Any]:
        """As the API tells it."""
        least = None if self.least is None else self.least.value
        told = {"limit": self.name, "least": least, "sure": self.sure, "tried": self.tried, "words": self.words}
        return {**told, "points": [point.shown() for point in self.points]}

    @property
    def words(self) -> str:
        """What was found, in a sentence that claims no more than was tried."""
        return f"{self.finding} {self.proof}"

    @property
    def finding(self) -> str:
        if self.least is None:
            return f"No {self.name} from {self.points[0].value:,} to {self.points[-1].value:,} completes"
        smallest = "the smallest" if self.sure else "the smallest found"
        return f"{self.least.value:,} is {smallest} {self.name} that completes"

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
        knows = "in what this recording knows"
        if self.least is not None:
            if self.least.value == self.points[0].value:
                return f"{knows}; the range begins there."
            return f"{knows}: {'every' if self.sure else 'not every'} smaller value of the range was tried."
        unknown = next((point for point in self.points if point.undecidable), None)
        if unknown is None:
            return f"{knows}."
        return f"{knows}. From {unknown.value:,} {self.unit} on some values are undecidable: re-run live to know."


def turn_sweep(*, turn: Turn, name: str, values: range, overrides: Mapping[str, Any]) -> Sweep:
    """The turn at each of `values` of one limit, under what else is overridden. Raises `ValidationError` in words."""
    _swept(name, values)
    recording = recording_of(turn)
    if not recording.records:
        raise ValidationError("Nothing is recorded of this turn yet.")
    if faults := criteria_faults(recording.policy):
        raise ValidationError(faults)
    connection = turn.agent.connection if turn.agent else None
    policy = overridden(recording.policy, overrides_clean(overrides, connection))
    overrides_clean(_at(name, values[0]), connection)
    overrides_clean(_at(name, values[-1]), connection)
    work = max(LEAST_WORK, min(MOST_WORK, WORK // max(1, turn.attempts)))
    run = _Run(recording, policy, name, turn_rate(turn), work)
    recorded = turn.max_tokens if name == "max_tokens" else getattr(recording.policy.limits, name)
    return run.sweep(values, recorded)


def _swept(name: str, values: range) -> None:
    if name not in SWEPT:
        raise ValidationError({"limit": f"There is no limit “{name}” to sweep; there are {listed(SWEPT)}."})
    if not values or values.step < 1:
        raise ValidationError({"end": "The range is empty: it must end where it begins, or later."})
    count = (values[-1] - values[0]) // values.step + 1  # `len` knows no more than a processor's word holds
    if count > MOST_POINTS:
        raise ValidationError(
            {"step": f"The range has {count:,} values; at most {MOST_POINTS} are drawn. Take larger steps."}
        )
    for value in (values[0], values[-1]):
        if name != "max_tokens":
            limit_clean(name, value)


def _at(name: str, value: int) -> dict[str, Any]:
    return {"max_tokens": value} if name == "max_tokens" else {"limits": {name: value}}


def unit_of(name: str) -> str:
    """What a limit that can be swept counts."""
    return "tokens" if name == "max_tokens" else LIMIT_FIELDS[name].unit


def _value(point: Point) -> int:
    return point.value


@dataclass(slots=True)
class _Run:
    """One sweep under way."""

    recording: Recording
    policy: Policy
    name: str
    rate: Rate | None
    work: int
    known: dict[int, Point] = field(default_factory=dict)

    def sweep(self, values: range, recorded: Number | None) -> Sweep:
        points = tuple(self.at(value) for value in values)
        first = next((place for place, point in enumerate(points) if point.completed), None)
        if first is None:
            return Sweep(self.name, recorded, points, None, True, len(self.known))
        found = values[first] if first == 0 else self._between(values[first - 1], values[first])
        smaller, sure = self._smaller(range(values[0], found))
        least = self.at(found if smaller is None else smaller)
        drawn = points if least in points else tuple(sorted((*points, least), key=_value))
        return Sweep(self.name, recorded, drawn, least, sure, len(self.known))

    def _between(self, fails: int, completes: int) -> int:
        while completes - fails > 1:
            middle = (fails + completes) // 2
            fails, completes = (fails, middle) if self.at(middle).completed else (middle, completes)
        return completes

    def _smaller(self, values: Iterable[int]) -> tuple[int | None, bool]:
        """The smallest of these values that completes, and whether all before it could be tried."""
        for value in values:
            if value not in self.known and len(self.known) >= self.work:
                return min((v for v in self.known if self.known[v].completed and v in values), default=None), False
            if self.at(value).completed:
                return value, True
        return None, True

    def at(self, value: int) -> Point:
        if value not in self.known:
            self.known[value] = self._point(value)
        return self.known[value]

    def _point(self, value: int) -> Point:
        imagined = what_if(self.recording, overridden(self.policy, _at(self.name, value)), trace=False)
        final = imagined.final
        assert final is not None, "a what-if knows where it ended"
        status = status_of(final)
        ended = final.end.terminal_reason if final.end else status.value
        return Point(
            value,
            "undecidable" if imagined.undecidable else ended,
            not imagined.undecidable and status is TurnStatus.COMPLETED,
            final.own.output_tokens,
            final.own.attempts,
            totals_price(final.own, self.recording.base_snapshot.own, self.rate),
        )
