"""The board, drawn: a chart for each metric, as bars over time whose parts lead to their turns.

A drawing is 1000 by 100 and is stretched to its place. All that it says stands in its table too.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from urllib.parse import urlencode

from agentcore.lint import CODES
from agentcore.reasons import NormalizedStopReason, StopReason
from dashboard.board import measures
from dashboard.board.measures import AGENT_STOP, LINT, MODEL_STOP, quantile
from dashboard.board.metrics import CUT, METRICS, Metric, Sums, shown, written
from dashboard.board.selectors import Board, Scope
from dashboard.timeline.chart import GAP, HEIGHT, PATTERNS, TICKS, WIDTH
from dashboard.turns.reason_looks import WITHOUT, reason_label

LEFT_CUT = "model_stop_reason=max_tokens&not_has=continuation"
#: Of truncated answers that were requested again.
AGAIN = "requested_again=truncated&not_has=continuation&not_model_stop_reason=max_tokens"
CALLS_AGAIN, ENVELOPES_AGAIN = f"{AGAIN}&has=repair", f"{AGAIN}&has=envelope_retry&not_has=repair"
FAILED = "/backtests/track-record"
STACKS: Mapping[str, str] = {"model_stop_reason": "model", "stop_reason": "agent"}


@dataclass(frozen=True, slots=True)
class Part:
    """A series of a chart. `look`: the word whose hue it has; `filters`: the timeline's, for its turns; `address`:
    where it leads instead of the timeline."""

    key: str
    label: str
    look: str
    of: Callable[[Sums], float | None]
    filters: str = ""
    address: str = ""
    pattern: str = "solid"
    total: str = ""


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of one bar."""

    part: Part
    y: float
    height: float
    words: str
    address: str


@dataclass(frozen=True, slots=True)
class Bar:
    """One span. `values`: by part, as they are written; `segments`: of the parts that are not 0."""

    x: float
    width: float
    begins: str
    cells: tuple[tuple[str, str], ...]
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """`whole`: the metric over the whole time, in words; `tallest`: of the tallest bar."""

    key: str
    title: str
    note: str
    whole: str
    parts: tuple[Part, ...]
    bars: tuple[Bar, ...]
    tallest: str
    ticks: tuple[str, ...]

    @property
    def filled(self) -> tuple[Bar, ...]:
        return tuple(bar for bar in self.bars if bar.segments)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a chart is of, before there are numbers."""

    metric: Metric
    parts: tuple[Part, ...]
    note: str = ""
    title: str = ""


def charts_of(board: Board, scope: Scope, *, stack: str) -> list[Chart]:
    """All charts of the board, in order. `stack`: one of STACKS."""
    return [_chart(plan, board, scope) for plan in _plans(board.total, stack)]


def turns_address(scope: Scope, since: datetime, until: datetime, filters: str = "") -> str:
    """The timeline with the turns of a scope that were made in a time."""
    times = {"since": f"{since:%Y-%m-%dT%H:%M:%S}", "until": f"{until:%Y-%m-%dT%H:%M:%S}"}
    return "/?" + "&".join(part for part in (urlencode(scope.given() | times), filters) if part)


def _plans(total: Sums, stack: str) -> tuple[Plan, ...]:
    reasons = MODEL_STOP if stack == "model_stop_reason" else AGENT_STOP
    words = NormalizedStopReason if stack == "model_stop_reason" else StopReason
    stopped = _words(total, reasons, stack, [str(word) for word in words])
    return (
        Plan(METRICS["turns"], (*stopped, *_without(total, stopped, stack)), title="Stop reasons"),
        Plan(
            METRICS["truncation_rate"],
            _truncation(),
            "Share of ended turns.",
        ),
        _single("continuations_per_turn", "cut"),
        Plan(
            METRICS["continued_p95_seconds"],
            (Part("p95", "95 % took at most", "tool_call", lambda sums: quantile(sums, 0.95), CUT),),
            "From the start of a turn to its end. Estimated from a histogram.",
        ),
        Plan(METRICS["tokens"], _tokens()),
        _single("dollars", "end_turn", "At list prices."),
        _single(
            "failure_rate",
            "failed",
            "Share of ended turns that failed, were aborted or interrupted. Turns with a partial answer are not "
            "counted.",
        ),
        Plan(
            METRICS["lint_findings"],
            _words(total, LINT, "lint", list(CODES)),
            "A turn with several signs is drawn once for each.",
        ),
        Plan(
            METRICS["failed_predictions"],
            (Part("failed", "failed", "failed", METRICS["failed_predictions"].of, address=FAILED),),
            "Predictions that did not come true. Bars link to the track record.",
        ),
    )


def _single(key: str, look: str, note: str = "") -> Plan:
    metric = METRICS[key]
    return Plan(metric, (Part(key, metric.title, look, metric.of, metric.filters),), note)


def _words(total: Sums, prefix: str, name: str, order: list[str]) -> tuple[Part, ...]:
    """One part for each word that occurs, in the order of its list, so that its look never depends on the numbers."""

    def of(word: str) -> Callable[[Sums], float]:
        return lambda sums: sums.get(prefix + word, 0)

    return tuple(
        Part(word, reason_label(word), word, of(word), f"{name}={word}", pattern=PATTERNS[n % len(PATTERNS)])
        for n, word in enumerate(order)
        if total.get(prefix + word)
    )


def _without(total: Sums, stopped: tuple[Part, ...], name: str) -> tuple[Part, ...]:
    """The turns that have none of these words, where there are any: with them, the parts are all turns."""

    def of(sums: Sums) -> float:
        return sums.get(measures.TURNS, 0) - sum(part.of(sums) or 0 for part in stopped)

    filters = "&".join(f"not_{name}={part.key}" for part in stopped)
    pattern = PATTERNS[len(stopped) % len(PATTERNS)]
    return (Part("none", WITHOUT[name], "", of, filters, pattern=pattern),) if of(total) else ()


def _truncation() -> tuple[Part, ...]:
    def share(of: Callable[[Sums], float]) -> Callable[[Sums], float | None]:
        return lambda sums: of(sums) / sums[measures.ENDED] if sums.get(measures.ENDED) else None

    continued = share(lambda sums: sums.get(measures.CONTINUED, 0))
    left = share(lambda sums: sums.get(measures.CUT, 0) - sums.get(measures.CONTINUED, 0))
    calls = share(lambda sums: sums.get(measures.CUT_CALLS, 0))
    envelopes = share(lambda sums: sums.get(measures.CUT_ENVELOPES, 0))
    return (
        Part("continued", "continued", "paused", continued, CUT),
        Part("left", "not continued", "max_tokens", left, LEFT_CUT, pattern="rising"),
        Part("calls", "tool call requested again", "tool_call", calls, CALLS_AGAIN, pattern=PATTERNS[2]),
        Part("envelopes", "envelope requested again", "schema_rounds", envelopes, ENVELOPES_AGAIN, pattern=PATTERNS[3]),
    )


def _tokens() -> tuple[Part, ...]:
    def of(measure: str) -> Callable[[Sums], float]:
        return lambda sums: sums.get(measure, 0)

    largest = "sort=-tokens"
    return (
        Part("input", "input", "paused", of(measures.INPUT), largest),
        Part("output", "output", "end_turn", of(measures.OUTPUT), largest, pattern="rising"),
    )


def _chart(plan: Plan, board: Board, scope: Scope) -> Chart:
    step = timedelta(seconds=board.seconds)
    starts = [board.since + n * step for n in range(int((board.until - board.since) / step))]
    tallest = max((_height(plan, sums) for sums in board.buckets.values()), default=0.0)
    dated = _dated(board)
    bars = tuple(_bar(plan, board, scope, n, start, len(starts), tallest, dated) for n, start in enumerate(starts))
    quarter = (board.until - board.since) / TICKS
    return Chart(
        key=plan.metric.key,
        title=plan.title or plan.metric.title,
        note=plan.note,
        whole=f"{shown(plan.metric, board.total)}{' turns' if plan.metric.key == 'turns' else ''}",
        parts=tuple(_with_total(part, plan.metric, board.total) for part in plan.parts),
        bars=bars,
        tallest=written(plan.metric, tallest),
        ticks=tuple(_when(board.since + n * quarter, dated) for n in range(TICKS)),
    )


def _with_total(part: Part, metric: Metric, total: Sums) -> Part:
    return replace(part, total=written(metric, part.of(total)))


def _height(plan: Plan, sums: Sums) -> float:
    return sum(part.of(sums) or 0 for part in plan.parts)


def _bar(plan: Plan, board: Board, scope: Scope, n: int, start: datetime, many: int, tallest: float, dated: str) -> Bar:
    step, sums, until = WIDTH / many, board.buckets.get(start, {}), start + timedelta(seconds=board.seconds)
    begins, segments, below, cells = _when(start, dated), list[Segment](), 0.0, list[tuple[str, str]]()
    for part in plan.parts:
        value = part.of(sums) if sums else None
        said = written(plan.metric, value)
        address = part.address or turns_address(scope, start, until, part.filters)
        cells.append((said, address if value else ""))
        if value:
            below += value
            place = round(HEIGHT - below * HEIGHT / tallest, 2), round(max(value * HEIGHT / tallest, 0.8), 2)
            segments.append(Segment(part, *place, f"{begins}: {part.label} {said}", address))
    return Bar(
        round((n + GAP / 2) * step, 2), round((1 - GAP) * step, 2), begins, tuple(cells), tuple(segments)
    )  # fmt: skip


def _dated(board: Board) -> str:
    year = "%b %Y" if board.until - board.since > timedelta(days=300) else "%b"
    return year if board.seconds >= 86_400 else f"{year} %H:%M"


def _when(moment: datetime, dated: str) -> str:
    return f"{moment.day} {moment:{dated}}"
