"""Where the time of a turn went: queueing, first token, streaming, other calls, tools, being held."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest

from agentcore.events import ModelFailed
from agentcore.number_format import duration, milliseconds
from agentcore.replay import Span

TINTS = 4
TOP, HEIGHT = 2, 14  #: of the bars
HELD = "held"
#: Calls without a known first token, which are not divided: one whose answer came in one piece, or is still awaited;
#: and one that failed.
CALL, FAILED_CALL = "call", "failed call"
#: What is waited for after each command; a call with a first token has three parts.
KINDS: Mapping[str, str] = {"run_tools": "tools", "wait": "waiting", "hold": HELD}
#: In the order of the legend.
ORDER = ("in line", "first token", "stream", CALL, FAILED_CALL, "waiting", "tools", HELD)
SHORTEST = 0.01  #: seconds; what is shorter is written in milliseconds


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """One stretch of time, between two transitions. `until` is 0 while it lasts; seconds since the turn started.

    `begins` and `ends` are the shares of the way between the two transitions, for a call is parted in two.
    """

    kind: str
    tint: int  #: of the attempt, for a stream; else 0
    since: int
    until: int
    seconds: float
    begins: float = 0.0
    ends: float = 1.0


@dataclass(frozen=True, slots=True)
class TimeLayer:
    """All stretches of one kind and tint as one path; a turn of many calls is drawn with few elements."""

    kind: str
    tint: int
    path: str

    @property
    def pattern(self) -> str:
        """The name of its pattern, as part of a class."""
        return self.kind.replace(" ", "-")


@dataclass(frozen=True, slots=True)
class TimeTotal:
    """What one kind took in all, for the legend; 0 where it has only begun."""

    kind: str
    seconds: float

    @property
    def pattern(self) -> str:
        return self.kind.replace(" ", "-")

    @property
    def length(self) -> str:
        """`0.42 s`, `3 min 20 s`; `0.42 ms` of what would be written as 0.00 s; empty where nothing has passed yet."""
        if self.seconds < SHORTEST:
            return milliseconds(1000 * self.seconds) if self.seconds else ""
        return duration(self.seconds)


def time_spans_of(spans: tuple[Span, ...], waits: Mapping[int, float]) -> tuple[TimeSpan, ...]:
    """The stretches in order. `waits`: seconds until an attempt's first token, where they are known."""
    return tuple(stretch for one, other in zip_longest(spans, spans[1:]) for stretch in _between(one, other, waits))


def _between(span: Span, following: Span | None, waits: Mapping[int, float]) -> Iterator[TimeSpan]:
    command = span.record.command
    kind, since = str(command.get("type")), span.last
    until = following.first if following else 0
    passed = max(0.0, following.record.event.at - span.record.event.at) if following else 0.0
    if kind in KINDS:
        yield TimeSpan(KINDS[kind], 0, since, until, passed)
    elif kind == "call_model":
        yield from _call(command["attempt"], since, until, passed, following, waits)


def _call(
    attempt: int, since: int, until: int, passed: float, following: Span | None, waits: Mapping[int, float]
) -> Iterator[TimeSpan]:
    """In line for a slot; then until the first token and the stream, or the call as a whole where none is known."""
    event = following.record.event if following else None
    in_line = min(getattr(event, "waited", None) or 0.0, passed)
    begun, tint = (in_line / passed if passed else 0.0), (attempt - 1) % TINTS + 1
    if in_line:
        yield TimeSpan("in line", 0, since, until, in_line, 0.0, begun)
    if attempt not in waits:
        failed = isinstance(event, ModelFailed)
        yield TimeSpan(FAILED_CALL if failed else CALL, 0 if failed else tint, since, until, passed - in_line, begun)
        return
    waited = min(waits[attempt], passed - in_line)
    first = (in_line + waited) / passed if passed else 0.0
    yield TimeSpan("first token", 0, since, until, waited, begun, first)
    yield TimeSpan("stream", tint, since, until, passed - in_line - waited, first, 1.0)


def time_layers_of(stretches: Iterable[TimeSpan], places: tuple[float, ...], length: float) -> tuple[TimeLayer, ...]:
    """The stretches as paths. `places`: of the transitions on the rail."""
    paths: dict[tuple[str, int], list[str]] = {}
    for stretch in stretches:
        start = places[stretch.since - 1] if stretch.since <= len(places) else length
        end = places[stretch.until - 1] if stretch.until else length
        x, right = (start + (end - start) * share for share in (stretch.begins, stretch.ends))
        if right > x:
            paths.setdefault((stretch.kind, stretch.tint), []).append(
                f"M{x:.1f} {TOP}H{right:.1f}V{TOP + HEIGHT}H{x:.1f}z"
            )
    ordered = sorted(paths, key=lambda layer: (ORDER.index(layer[0]), layer[1]))
    return tuple(TimeLayer(kind, tint, "".join(paths[kind, tint])) for kind, tint in ordered)


def time_totals_of(stretches: Iterable[TimeSpan]) -> tuple[TimeTotal, ...]:
    """Each kind that took time or still lasts, with its seconds."""
    sums: dict[str, float] = {}
    for stretch in stretches:
        if stretch.seconds or not stretch.until:
            sums[stretch.kind] = sums.get(stretch.kind, 0.0) + stretch.seconds
    return tuple(TimeTotal(kind, sums[kind]) for kind in ORDER if kind in sums)
