"""The report on stop reasons that may hide a cut."""

from datetime import timedelta

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from dashboard.agents.selectors import project_current
from dashboard.timeline.lint.bars import bars_of
from dashboard.timeline.lint.selectors import MOST, report_of

PERIODS = (7, 30, 90)  #: days
USUAL = 30


@require_safe
def report(request: HttpRequest) -> HttpResponse:
    """Of the last `?days=`: by code with examples and what to do, by connection and model."""
    asked = request.GET.get("days", "")
    days = int(asked) if asked in {str(period) for period in PERIODS} else USUAL
    now = timezone.now()
    since = (now - timedelta(days=days - 1)).replace(hour=0, minute=0, second=0, microsecond=0)
    told = report_of(project=project_current(), since=since, until=now)
    drawn = [(found, bars_of(found.days)) for found in told.found]
    context = {"report": told, "drawn": drawn, "days": days, "periods": PERIODS, "since": since, "most": MOST}
    return render(request, "linting/report.html", context)
