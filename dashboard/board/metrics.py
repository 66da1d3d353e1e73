"""What a metric is: a number made of the sums of a time, for the board, for alerts and for the API."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from agentcore.number_format import duration, percent
from dashboard.board import measures
from dashboard.board.measures import quantile
from dashboard.turns.prices.templatetags.prices import dollars_in_words

DOLLARS = "dollars"  #: no stored measure: tokens at list prices, added by `selectors`
#: No stored measures either: sums of models that have no list price, and of the simulator's.
UNPRICED, FREE = "unpriced", "free"
Sums = Mapping[str, float]
_Of = Callable[[Sums], float | None]


@dataclass(frozen=True, slots=True)
class Metric:
    """`of` gives None where there is nothing to judge by. `unit`: count, share (of 1), ratio, seconds or dollars.

    `filters`: the timeline's, for the turns that it is about. `needs`: the measures it is made of.
    """

    key: str
    title: str
    unit: str
    of: _Of
    needs: tuple[str, ...]
    filters: str = ""


def _count(*names: str) -> _Of:
    return lambda sums: sum(sums.get(name, 0) for name in names)


def _ratio(part: _Of, whole: _Of) -> _Of:
    return lambda sums: (part(sums) or 0) / of if (of := whole(sums)) else None


def _dollars(sums: Sums) -> float | None:
    return sums.get(DOLLARS, 0.0)


_TOOK = tuple(f"{measures.TOOK}{place}" for place in range(len(measures.BOUNDS) + 1))
CUT = "has=continuation"
FAILURES = "&".join(f"status={word}" for word in measures.FAILURES)
TOKENS = (measures.INPUT, measures.OUTPUT)

METRICS: Mapping[str, Metric] = {
    metric.key: metric
    for metric in (
        Metric("turns", "Turns", "count", _count(measures.TURNS), (measures.TURNS,)),
        Metric(
            "truncation_rate",
            "Truncation rate",
            "share",
            _ratio(_count(*measures.TRUNCATED), _count(measures.ENDED)),
            (*measures.TRUNCATED, measures.ENDED),
        ),
        Metric(
            "failure_rate",
            "Failure rate",
            "share",
            _ratio(_count(measures.FAILED), _count(measures.ENDED)),
            (measures.FAILED, measures.ENDED),
            FAILURES,
        ),
        Metric(
            "continuations_per_turn",
            "Continuations per truncated turn",
            "ratio",
            _ratio(_count(measures.CONTINUATIONS), _count(*measures.TRUNCATED)),
            (measures.CONTINUATIONS, *measures.TRUNCATED),
            CUT,
        ),
        Metric(
            "continued_p95_seconds",
            "Latency of continued turns (95th percentile)",
            "seconds",
            lambda sums: quantile(sums, 0.95),
            _TOOK,
            CUT,
        ),
        Metric("tokens", "Tokens", "count", _count(*TOKENS), TOKENS, "sort=-tokens"),
        Metric("dollars", "Price", "dollars", _dollars, (*TOKENS, measures.CACHED), "sort=-tokens"),
        Metric(
            "lint_findings",
            "Turns with a sign of truncation",
            "count",
            _count(measures.LINTED),
            (measures.LINTED,),
        ),
        Metric(
            "failed_predictions",
            "Failed predictions",
            "count",
            _count(measures.FAILED_PREDICTIONS),
            (measures.FAILED_PREDICTIONS,),
        ),
    )
}


def written(metric: Metric, value: float | None) -> str:
    """A value of the metric as pages and messages write it; a dash for none."""
    return "–" if value is None else _WRITTEN[metric.unit](value)


def shown(metric: Metric, sums: Sums) -> str:
    """The metric of a time as the board writes it: what has no list price does not cost nothing."""
    if metric.key != DOLLARS or DOLLARS in sums:
        return written(metric, metric.of(sums))
    return "no list price" if sums.get(UNPRICED) else "free" if sums.get(FREE) else "–"


def _number(value: float) -> str:
    return f"{value:,.0f}"


def _money(value: float) -> str:
    return dollars_in_words(Decimal(str(round(value, 9))))


_WRITTEN: Mapping[str, Callable[[float], str]] = {
    "count": _number,
    "share": lambda value: percent(value, digits=1),
    "ratio": lambda value: f"{value:.2f}",
    "seconds": duration,
    "dollars": _money,
}
