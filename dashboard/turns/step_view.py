"""The view model of one step: every text that the panel, the deck and the live region show.

The page is made from these by the server for the step that is shown first; the others lie on the page as data,
and the browser puts them into the very same elements.

Also holds all steps of a turn as compact JSON for the page, so that stepping never asks the server.

`{"rows": {table: [values…]}, "steps": [values…], "keys": [key…]}`: values stand in the order of `FIELDS`; what
recurs (evaluations, gauges, roads) stands once in its table, and steps name it by its place there. `keys` are those of
settings in these texts, which stand as code. `static/js/steps_json.js` reads it.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter
from typing import Any

from agentcore.policy import limit_in_words
from agentcore.reason_text import criterion_name
from agentcore.states import State
from agentcore.why import AlternativeTransition
from dashboard.turns.meters import Meter
from dashboard.turns.moments import Evaluation, Moment
from dashboard.turns.templatetags.formatting import number, seconds, unbroken, words
from dashboard.turns.templatetags.glossary import setting_keys

KEPT = 4096  #: of what recurs from step to step, and from page to page
#: How a road not taken stood: its condition held, and another was asked before it; it did not; nothing tells.
STOOD: Mapping[bool | None, tuple[str, str]] = {
    True: ("also met", "check"),
    False: ("not met", "ring"),
    None: ("unknown", "question"),
}
#: A decision's shape in `shapes.svg`: a hue never stands alone.
SHAPES: Mapping[str, str] = {"allow": "check", "request": "play", "forbid": "octagon", "stop": "ring"}
HANDLINGS: Mapping[str, str] = {"retry": "play", "stop": "octagon", "ignore": "ring"}


@dataclass(frozen=True, slots=True)
class CriterionText:
    """One criterion's answer. `key` is its name in code; `by` is `by` where the outcome was its doing."""

    criterion: str
    key: str
    reason: str
    decision: str
    shape: str
    by: str

    @property
    def decided(self) -> str:
        return " decided" if self.by else ""


@dataclass(frozen=True, slots=True)
class Gauge:
    """One meter in words; `value` of `most` is how far its bar reaches."""

    name: str
    used: str
    limit: str
    left: str
    heat: str
    value: float
    most: float

    @property
    def label(self) -> str:
        return f"{self.name}: {self.used} of {self.limit} used"


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing the error policy knew when it was asked."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class AlternativeText:
    """A road not taken in words. `stood`: whether its condition held, and its shape."""

    trigger: str
    target: str
    guard: str
    miss: str
    stood: str
    shape: str


@dataclass(frozen=True, slots=True)
class StepView:
    """One step."""

    number: int
    state: str
    source: str
    target: str
    trigger: str
    reason: str
    place: str  #: attempt, iteration, and the time where it is known
    at: float  #: seconds since the turn started
    said: tuple[CriterionText, ...]
    handling: str  #: of the error policy; empty where nothing had failed
    facts: tuple[Fact, ...]
    gauges: tuple[Gauge, ...]
    roads: tuple[AlternativeText, ...]  #: those a limit says how near they were, or whose condition held too
    others: tuple[AlternativeText, ...]  #: the rest of what the table allows there

    @property
    def heading(self) -> str:
        return "Why" if self.said else "What happened"

    @property
    def handling_shape(self) -> str:
        return HANDLINGS.get(self.handling, "ring")

    @property
    def sentence(self) -> str:
        """The text of the live region and the slider."""
        return f"Transition {self.number}: {self.source} to {self.target}, by {words(self.trigger)}. {self.place}"


def step_view(moment: Moment, *, untimed: bool = False) -> StepView:
    """The view model of one moment. `untimed`: the log that the turn was read from gives no times."""
    error = moment.error or {}
    return StepView(
        number=moment.number,
        state=moment.target,
        source=words(moment.source),
        target=words(moment.target),
        trigger=moment.trigger,
        reason=unbroken("; ".join(filter(None, (moment.reason, moment.acted)))),
        place=" · ".join(_place(moment, untimed=untimed)),
        at=round(moment.at, 3),
        said=tuple(map(_said, moment.evaluations)),
        handling=str(error.get("handling", "")),
        facts=tuple(_facts(error)),
        gauges=tuple(map(gauge, moment.meters)),
        roads=tuple(_way(road) for road in sorted(moment.roads, key=_ends) if road.near),
        others=tuple(_way(road) for road in moment.roads if not road.near),
    )


def _ends(road: AlternativeTransition) -> bool:
    """Ways on come first, then those to an end."""
    return road.target in (State.ABORT, State.ABORT_PARTIAL)


@lru_cache(KEPT)
def _way(road: AlternativeTransition) -> AlternativeText:
    stood, shape = STOOD[road.open]
    return AlternativeText(road.trigger.value, words(road.target), road.guard, unbroken(road.miss), stood, shape)


def _place(moment: Moment, *, untimed: bool) -> Iterator[str]:
    if moment.attempt:
        yield f"call {number(moment.attempt)}"
    if moment.iteration > 1:
        yield f"iteration {number(moment.iteration)}"
    if not untimed:
        yield seconds(moment.at)


@lru_cache(KEPT)
def _said(evaluation: Evaluation) -> CriterionText:
    shape = SHAPES.get(evaluation.decision, "question")
    by = "by" if evaluation.decided else ""
    key = evaluation.criterion
    return CriterionText(criterion_name(key), key, unbroken(evaluation.reason), evaluation.decision, shape, by)


def _facts(error: Mapping[str, Any]) -> Iterator[Fact]:
    if not error:
        return
    yield Fact("type", words(error.get("errorType", "unknown")))
    if error.get("toolName"):
        yield Fact("tool", str(error["toolName"]))
    yield Fact("consecutive failures", number(error.get("consecutiveFailures")))
    yield Fact(limit_in_words("max_retries"), number(error.get("maxRetries")))
    yield Fact("total failures", number(error.get("totalFailures")))


@lru_cache(KEPT)
def gauge(meter: Meter) -> Gauge:
    """A meter in words; a number of ours is never shown as a fact."""
    unit = f" {meter.unit}" if meter.unit else ""
    used = f"{'≈ ' if meter.estimated else ''}{number(meter.used)}"
    return Gauge(
        name=meter.name,
        used=used,
        limit=f"{number(meter.limit)}{unit}",
        left=f"{number(meter.left)} left",
        heat=meter.heat,
        value=_plain(meter.shown),
        most=_plain(meter.limit or 1),
    )


def _plain(value: float) -> float:
    """A whole number without a point, as a browser writes it."""
    return int(value) if float(value).is_integer() else value


WAY = ("trigger", "target", "guard", "miss", "stood", "shape")
#: The values of each table's rows.
ROWS: Mapping[str, tuple[str, ...]] = {
    "said": ("criterion", "key", "reason", "decision", "shape", "by"),
    "facts": ("name", "value"),
    "gauges": ("name", "used", "limit", "left", "heat", "value", "most"),
    "roads": WAY,
    "others": WAY,
}
#: The values of each step; those named in `ROWS` are lists of places.
FIELDS = ("number", "state", "source", "target", "trigger", "reason", "place", "at", "handling", *ROWS)
_ROW_VALUES = {table: attrgetter(*names) for table, names in ROWS.items()}
_PLAIN = attrgetter(*(name for name in FIELDS if name not in ROWS))


@dataclass(slots=True)
class Table:
    """Rows, each once."""

    rows: list[Sequence[Any]] = field(default_factory=list)
    places: dict[Any, int] = field(default_factory=dict)

    def place(self, row: Any, values_of: Callable[[Any], Sequence[Any]]) -> int:
        """Where the row stands; it is added where it is new."""
        if (place := self.places.get(row)) is None:
            place = self.places[row] = len(self.rows)
            self.rows.append(values_of(row))
        return place


def steps_json(steps: Sequence[StepView]) -> str:
    """The JSON text."""
    tables = {name: Table() for name in ROWS}
    packed = [[*_PLAIN(step), *_lists(step, tables)] for step in steps]
    rows = {name: table.rows for name, table in tables.items()}
    texts = json.dumps(rows, ensure_ascii=False) + " ".join(step.reason for step in steps)
    data = {"rows": rows, "steps": packed, "keys": setting_keys(texts)}
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False)


def _lists(step: StepView, tables: Mapping[str, Table]) -> list[list[int]]:
    return [[table.place(row, _ROW_VALUES[name]) for row in getattr(step, name)] for name, table in tables.items()]
