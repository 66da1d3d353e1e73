"""One reading of a rule: what its metric is in a window of time, and whether its condition holds. Nothing is stored."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from agentcore.number_format import as_set
from dashboard.board.measures import ENDED
from dashboard.board.metrics import METRICS, Sums, written

ABOVE, BELOW, RISES, FALLS = "above", "below", "rises", "falls"
#: By condition: its words, which a number follows.
CONDITIONS: Mapping[str, str] = {
    ABOVE: "is above",
    BELOW: "is below",
    RISES: "rises by more than",
    FALLS: "falls by more than",
}
OF_CHANGE = (RISES, FALLS)  #: in percent, against the window before
#: Of a rule's number, by the unit of its metric.
UNITS: Mapping[str, str] = {"share": "percent", "seconds": "seconds", "dollars": "US dollars"}
WINDOWS: Mapping[int, str] = {
    5: "5 minutes",
    15: "15 minutes",
    60: "1 hour",
    360: "6 hours",
    1_440: "24 hours",
    10_080: "7 days",
}
CLEAR_MINUTES = 5  #: that a condition must not hold before its alert is resolved
PERCENT = 100


class Rule(Protocol):
    """What of an alert is judged. `number`: percent for shares and for changes, else in the metric's unit."""

    metric: str
    condition: str
    number: float
    window_minutes: int
    least_turns: int


@dataclass(frozen=True, slots=True)
class Reading:
    """`value` and `before` are the metric's, None where there was nothing to measure."""

    value: float | None
    before: float | None
    change: float | None  #: percent, of a rule on change
    holds: bool


def read(rule: Rule, sums: Sums, before: Sums) -> Reading:
    """`sums`: of the window; `before`: of the window of the same length before it."""
    metric = METRICS[rule.metric]
    value, earlier = _rounded(metric.of(sums)), _rounded(metric.of(before))
    enough = sums.get(ENDED, 0) >= rule.least_turns
    if rule.condition in OF_CHANGE:
        enough = enough or (rule.condition == FALLS and before.get(ENDED, 0) >= rule.least_turns)
        change = None if value is None or not earlier else (value - earlier) / earlier * PERCENT
        return Reading(value, earlier, change, enough and change is not None and _holds(rule, change))
    scaled = None if value is None else value * PERCENT if metric.unit == "share" else value
    # Too few turns to judge a rate by; that they are few may itself be what is asked for.
    enough = enough or (rule.condition == BELOW and metric.unit in ("count", "dollars"))
    return Reading(value, earlier, None, enough and scaled is not None and _holds(rule, scaled))


def _rounded(value: float | None) -> float | None:
    """What is added and taken away again leaves no dust."""
    return None if value is None else round(value, 9)


def _holds(rule: Rule, value: float) -> bool:
    match rule.condition:
        case "above":
            return value > rule.number
        case "below":
            return value < rule.number
        case "rises":
            return value > rule.number
    return value < -rule.number


def condition_words(rule: Rule) -> str:
    """`Truncation rate is above 20 % in 15 minutes`."""
    metric = METRICS[rule.metric]
    against = " against the same time before" if rule.condition in OF_CHANGE else ""
    return f"{metric.title} {CONDITIONS[rule.condition]} {_number(rule)} in {WINDOWS[rule.window_minutes]}{against}"


def reading_words(rule: Rule, value: float | None, before: float | None) -> str:
    """`45 %`, or `12,000 after 5,400`."""
    metric = METRICS[rule.metric]
    now = written(metric, value)
    return f"{now} after {written(metric, before)}" if rule.condition in OF_CHANGE else now


def unit_words(metric: str, condition: str) -> str:
    """The unit of a rule's number, in words; empty for a count or a ratio, and where the metric is not known."""
    if metric not in METRICS:
        return ""
    return UNITS.get("share" if condition in OF_CHANGE else METRICS[metric].unit, "")


def _number(rule: Rule) -> str:
    """What somebody has set, as it was set; what is measured is rounded (`written`)."""
    metric = METRICS[rule.metric]
    number = as_set(rule.number)
    match "share" if rule.condition in OF_CHANGE else metric.unit:
        case "share":
            return as_set(rule.number, "%")
        case "seconds":
            return as_set(rule.number, "s")
        case "dollars":
            whole, _, cents = number.partition(".")
            return f"${whole}.{cents:0<2}"
    return number
