"""The report on stop reasons that may hide a cut."""

from dataclasses import dataclass
from datetime import date, timedelta

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from dashboard.agents.selectors import project_current
from dashboard.timeline.lint.selectors import MOST, report_of

PERIODS = (7, 30, 90)  #: days
USUAL = 30
WIDTH, HEIGHT, GAP = 300.0, 44.0, 1.0  #: of the bars, in units of their viewBox
LEAST = 3.0  #: height of a day with any


@dataclass(frozen=True, slots=True)
class Bar:
    """The turns of a day in the picture of a code."""

    day: date
    count: int
    x: float
    y: float
    width: float

    @property
    def height(self) -> float:
        return HEIGHT - self.y


def bars_of(days: tuple[tuple[date, int], ...]) -> tuple[Bar, ...]:
    """One bar for each day with any; the highest is the day with most."""
    most = max((count for _, count in days), default=0) or 1
    step = WIDTH / max(1, len(days))
    return tuple(
        Bar(day, count, round(n * step, 1), round(HEIGHT - max(LEAST, HEIGHT * count / most), 1), round(step - GAP, 1))
        for n, (day, count) in enumerate(days)
        if count
    )


@require_safe
def report(request: HttpRequest) -> HttpResponse:
    """Of the last `?days=`: by code with examples and what to do, by connection and model."""
    asked = request.GET.get("days", "")
    days = int(asked) if asked in {str(period) for period in PERIODS} else USUAL
    now = timezone.now()
    since = (now - timedelta(days=days - 1)).replace(hour=0, minute=0, second=0, microsecond=0)
    told = report_of(project=project_current(), since=since, until=now)
    drawn = [(found, bars_of(found.days)) for found in told.found]
    periods = [(period, f"{period} days", f"?days={period}") for period in PERIODS]
    context = {"report": told, "drawn": drawn, "days": days, "periods": periods, "since": since, "most": MOST}
    return render(request, "lint/report.html", context)
