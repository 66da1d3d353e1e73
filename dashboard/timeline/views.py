"""Fragments of the timeline: its facets, its histogram, and what to take away where nothing is found."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.agents.selectors import project_default
from dashboard.timeline import chips, selectors
from dashboard.timeline.bounding import bounded
from dashboard.timeline.chart import chart_of
from dashboard.turns.filters import TimelineFilters

MOST_VALUES = 60  #: of one facet that are listed
STACKS = {"model_stop_reason": "why the model stopped", "stop_reason": "why the agent stopped"}

#: What it means that a turn has no such reason.
NONE = {"model_stop_reason": "no answer’s end", "stop_reason": "not stopped yet"}


@require_safe
def facets(request: HttpRequest) -> HttpResponse:
    """How many turns there are of each value of each filter."""
    filters, _ = TimelineFilters.parse(request.GET)
    project = project_default()
    timed = bounded(project=project, filters=filters) if filters.since or filters.until else filters
    found = selectors.facets(project=project, filters=timed)
    return render(request, "timeline/_facets.html", {"facets": found, "most": MOST_VALUES})


@require_safe
def chart(request: HttpRequest) -> HttpResponse:
    """Turns over time, stacked by the reason that `stack` names."""
    filters, _ = TimelineFilters.parse(request.GET)
    stack = request.GET.get("stack", "")
    stack = stack if stack in STACKS else "model_stop_reason"
    project = project_default()
    timed = bounded(project=project, filters=filters)
    histogram = selectors.histogram(project=project, filters=timed, stacked_by=stack)
    chosen = bool(filters.since or filters.until)
    when = chips.span_words(filters.since, filters.until) if chosen else ""
    context = {
        "chart": chart_of(histogram, chosen=chosen),
        "stack": stack,
        "none": NONE[stack],
        "stacks": STACKS,
        "when": when,
    }
    return render(request, "timeline/_chart.html", context)


@require_safe
def drops(request: HttpRequest) -> HttpResponse:
    """What taking away each filter would find."""
    filters, _ = TimelineFilters.parse(request.GET)
    return render(request, "timeline/_drops.html", {"drops": chips.drops(project=project_default(), filters=filters)})
