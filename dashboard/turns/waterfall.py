"""Attempts as bars and transitions as dots on one rail.

Half of the rail's length is shared out by time, half by count, so that dots of one instant still stand apart.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from agentcore.events import CancelRequested, Interrupted, ModelFailed, ModelResponded
from agentcore.reasons import NormalizedStopReason
from agentcore.replay import Span
from dashboard.turns.moments import Moment
from dashboard.turns.sent_caps import commanded_cap
from dashboard.turns.time_breakdown import TimeLayer, TimeSpan, TimeTotal, time_layers_of, time_totals_of

LENGTH = 1000.0
BY_TIME = 0.5
NO_WAITS: Mapping[int, float] = {}
CROWDED = 60  #: dots
DOTS_Y = 32


@dataclass(frozen=True, slots=True)
class Bar:
    """One call of the model. `start` and `end` are seconds since the turn started; `end` is None while it runs.

    `since` is the transition that called, `until` the one that brought the answer (0: none yet); `x` and `width` are
    its place on the rail. `stop_reason` is the model's.
    """

    attempt: int
    kind: str
    max_tokens: int | None  #: None: none was sent
    start: float
    since: int
    end: float | None = None
    until: int = 0
    stop_reason: str | None = None
    output_tokens: int | None = None
    characters: int = 0
    provenance: str = "recorded"
    x: float = 0.0
    width: float = 0.0
    waited: float = 0.0  #: of the width, until the first token

    @property
    def tint(self) -> int:
        return (self.attempt - 1) % 4 + 1

    @property
    def seconds(self) -> float | None:
        return None if self.end is None else self.end - self.start


@dataclass(frozen=True, slots=True)
class Dot:
    """One transition."""

    number: int
    x: float

    @property
    def until(self) -> int:
        """The transition after this one."""
        return self.number + 1


@dataclass(frozen=True, slots=True)
class Rail:
    """What the stepper slides on; lengths are of `LENGTH`."""

    bars: tuple[Bar, ...]
    dots: tuple[Dot, ...]
    layers: tuple[TimeLayer, ...] = ()
    sums: tuple[TimeTotal, ...] = ()

    @property
    def places(self) -> str:
        """Where the dots stand, for the stepper."""
        return " ".join(f"{dot.x:g}" for dot in self.dots)

    @property
    def dotted(self) -> str:
        """All dots as one path."""
        return dots_path(dot.x for dot in self.dots)

    @property
    def crowded(self) -> bool:
        """Whether dots of full size would run into one another."""
        return len(self.dots) > CROWDED


def bars_of(spans: tuple[Span, ...]) -> tuple[Bar, ...]:
    """The attempts in order, not yet placed."""
    bars: list[Bar] = []
    for span in spans:
        if bars and bars[-1].end is None and _ends_call(span):
            bars[-1] = _ended(bars[-1], span)
        command = span.record.command
        if command.get("type") == "call_model" and (not bars or bars[-1].attempt != command["attempt"]):
            kind, tokens = command["kind"], commanded_cap(command)
            bars.append(Bar(command["attempt"], kind, tokens, span.record.event.at, span.last))
    return tuple(bars)


def _ends_call(span: Span) -> bool:
    return isinstance(span.record.event, ModelResponded | ModelFailed | CancelRequested | Interrupted)


def _ended(bar: Bar, span: Span) -> Bar:
    event = span.record.event
    response = event.response if isinstance(event, ModelResponded) else getattr(event, "partial", None)
    return replace(
        bar,
        end=event.at,
        until=span.first,
        stop_reason=_word(span, response.stop_reason if response else None),
        output_tokens=response.usage.output_tokens if response and response.usage else None,
        characters=len(response.text) if response else 0,
        provenance=span.record.provenance.value,
    )


def _word(span: Span, reason: NormalizedStopReason | None) -> str:
    match span.record.event:
        case ModelFailed():
            return "error"
        case CancelRequested():
            return "cancelled"
        case Interrupted():
            return "interrupted"
    return reason.value if reason else "unknown"


def dots_path(places: Iterable[float]) -> str:
    """Dots as one path, to be drawn with round caps."""
    return "".join(f"M{x:g} {DOTS_Y}h.01" for x in places)


def rail_of(
    moments: tuple[Moment, ...],
    bars: tuple[Bar, ...],
    waits: Mapping[int, float] = NO_WAITS,
    stretches: tuple[TimeSpan, ...] = (),
) -> Rail:
    """Bars and dots in their places. `waits`: seconds until an attempt's first token, where they are known."""
    places = tuple(_places(moments))
    dots = tuple(Dot(moment.number, round(x, 1)) for moment, x in zip(moments, places, strict=True))
    placed = tuple(_placed(bar, places, waits.get(bar.attempt, 0.0)) for bar in bars)
    return Rail(placed, dots, time_layers_of(stretches, places, LENGTH), time_totals_of(stretches))


def _places(moments: tuple[Moment, ...]) -> Iterator[float]:
    if not moments:
        return
    gaps = max(1, len(moments) - 1)
    start = moments[0].at
    total = moments[-1].at - start
    by_time = BY_TIME if total > 0 else 0.0
    for index, moment in enumerate(moments):
        passed = (moment.at - start) / total if total > 0 else 0.0
        yield LENGTH * (by_time * passed + (1 - by_time) * index / gaps)


def _placed(bar: Bar, places: tuple[float, ...], wait: float) -> Bar:
    start = places[bar.since - 1] if bar.since <= len(places) else LENGTH
    end = places[bar.until - 1] if bar.until else LENGTH
    width = max(0.0, end - start)
    waited = width * min(1.0, wait / bar.seconds) if bar.seconds else 0.0
    return replace(bar, x=round(start, 1), width=round(width, 1), waited=round(waited, 1))
