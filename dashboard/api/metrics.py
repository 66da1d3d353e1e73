"""The numbers of the metrics board."""

from datetime import datetime, timedelta
from typing import Any, Literal

from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils import timezone
from ninja import Query, Router
from pydantic import BaseModel, Field

from agentcore.quoting import quoted
from dashboard.agents.selectors import project_current
from dashboard.api.request_base import Text
from dashboard.board.measures import AGENT_STOP, LINT, MODEL_STOP
from dashboard.board.metrics import METRICS, Sums
from dashboard.board.periods import PERIODS, period_of
from dashboard.board.selectors import DIMENSIONS, Scope, board_of

router = Router(tags=["metrics"])


class Numbers(BaseModel):
    """The metrics of a set of turns. Null: there is nothing to measure."""

    turns: int
    ended: int
    truncation_rate: float | None = Field(
        description="Share of ended turns with at least one truncated answer, 0 to 1: it was continued, it was the "
        "last one, or it was a tool call or an envelope that was requested again."
    )
    failure_rate: float | None = Field(
        description="Share of ended turns that failed, were aborted or interrupted, 0 to 1. Turns with a partial "
        "answer are not counted."
    )
    continuations_per_turn: float | None = Field(description="Continuations per truncated turn.")
    continued_p95_seconds: float | None = Field(description="95th percentile of the duration of continued turns.")
    input_tokens: int
    output_tokens: int
    cached_tokens: int = Field(description="Cached input tokens, included in the input tokens.")
    dollars: float = Field(description="At list prices; models without a list price are not included.")
    lint_findings: int = Field(description="Turns with a sign of truncation.")
    failed_predictions: int
    model_stop_reasons: dict[str, int] = Field(description="Turns by model stop reason.")
    stop_reasons: dict[str, int] = Field(description="Turns by agent stop reason.")
    lint: dict[str, int] = Field(description="Turns by sign of truncation.")


class MetricsBucket(Numbers):
    since: datetime
    until: datetime


class MetricsGroup(Numbers):
    name: str


class Metrics(BaseModel):
    since: datetime
    until: datetime
    seconds: int = Field(description="Of a bucket.")
    total: Numbers
    buckets: list[MetricsBucket] = Field(description="Intervals with turns, oldest first.")
    groups: list[MetricsGroup] = Field(
        description="Groups by the value of `by`, most turns first: at most 50, with the rest under `other`."
    )
    unpriced_models: list[str] = Field(
        description="Models without a known list price: at most 50, with the rest under `other`."
    )
    minutes_behind: int = Field(description="Minutes of recent turns that are still being counted.")


class MetricsAsked(BaseModel):
    """Turns by the time they started."""

    period: Literal["hour", "day", "week", "month", "quarter"] | None = Field(
        default=None, description=f"One of {', '.join(PERIODS)}, ending now. Default, without `since`: week."
    )
    since: Text | None = Field(default=None, description="Instead of `period`: from this time on.")
    until: Text | None = Field(default=None, description="Instead of `period`: before this time.")
    agent: Text | None = Field(default=None, description="The agent's name.")
    provider: Text | None = Field(default=None, description="The dialect of the connection.")
    model: Text | None = Field(default=None, description="The model's name.")
    by: Literal["agent", "provider", "model"] = Field(default="model", description="The field to group by.")


@router.get("/metrics", response=Metrics, summary="Measure turns over time")
def metrics(request: HttpRequest, asked: Query[MetricsAsked]) -> dict[str, Any]:
    """The numbers of the metrics board, at most 30 seconds behind."""
    if unknown := sorted(set(request.GET) - set(MetricsAsked.model_fields)):
        words = f"There is no filter {quoted(unknown[0])}; the filters are {', '.join(MetricsAsked.model_fields)}."
        raise ValidationError({unknown[0]: words})
    given = asked.model_dump(exclude_none=True)
    times: dict[str, str] = {name: given[name] for name in ("period", "since", "until") if name in given}
    period = period_of(times, now=timezone.now())
    scope = Scope(**{name: given.get(name, "") for name in DIMENSIONS})
    found = board_of(
        project=project_current(),
        scope=scope,
        since=period.since,
        until=period.until,
        seconds=period.seconds,
        by=asked.by,
    )
    step = timedelta(seconds=found.seconds)
    return {
        "since": found.since,
        "until": found.until,
        "seconds": found.seconds,
        "total": _numbers(found.total),
        "buckets": [{"since": at, "until": at + step, **_numbers(sums)} for at, sums in found.buckets.items()],
        "groups": [{"name": name, **_numbers(sums)} for name, sums in found.groups],
        "unpriced_models": found.unpriced,
        "minutes_behind": found.behind,
    }


def _numbers(sums: Sums) -> dict[str, Any]:
    plain = ("turns", "ended", "input_tokens", "output_tokens", "cached_tokens", "failed_predictions")
    judged = {key: metric.of(sums) for key, metric in METRICS.items() if key != "tokens"}
    worded = (("model_stop_reasons", MODEL_STOP), ("stop_reasons", AGENT_STOP), ("lint", LINT))
    by_word = {
        name: {measure.removeprefix(prefix): int(n) for measure, n in sums.items() if measure.startswith(prefix)}
        for name, prefix in worded
    }
    return {**judged, **{name: int(sums.get(name, 0)) for name in plain}, **by_word}
