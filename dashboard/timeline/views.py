"""The timeline, and its fragments: facets, histogram, and what to take away where nothing is found."""

from typing import Any, cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from dashboard.accounts.models import User
from dashboard.agents.selectors import project_current
from dashboard.platform.replica import may_be_late
from dashboard.timeline import chips
from dashboard.timeline.chart import chart_of
from dashboard.timeline.facets import facets as facets_counted
from dashboard.timeline.filter_context import bounded, chosen_facets, presets
from dashboard.timeline.histogram import histogram
from dashboard.timeline.row_context import with_row_context
from dashboard.timeline.saved_views import EVERYTHING, opening_view, saved_views, view_id_of
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.reason_looks import WITHOUT
from dashboard.turns.timeline_page import address_of, newest_id, timeline_page

MOST_VALUES = 60  #: of one facet that are listed
STACKS = {"model_stop_reason": "why the model stopped", "stop_reason": "why the agent stopped"}


@require_safe
@may_be_late
def timeline(request: HttpRequest) -> HttpResponse:
    """The newest turns the filters let through; htmx swaps the list alone."""
    opening = opening_view(request=request, project=project_current(), user=cast("User", request.user))
    wants_list = request.headers.get("HX-Target") == "timeline"
    if opening is not None and opening.query and not request.GET and not wants_list:
        return redirect(address_of(opening.query))
    listing = timeline_page(request.GET)
    with_row_context(listing.items, listing.filters.q)
    everything = EVERYTHING if opening else "/"
    context = {"listing": listing, "chips": chips.chips_of(listing.filters), "everything": everything}
    if wants_list:
        # htmx puts only answers of 200 into the page.
        response = render(request, "turns/_timeline.html", context)
        response["HX-Push-Url"] = listing.address if listing.query else everything
    else:
        context |= _around(request, listing.filters)
        response = render(request, "turns/timeline.html", context, status=400 if listing.errors else 200)
    patch_vary_headers(response, ["HX-Target"])
    return response


def _around(request: HttpRequest, filters: TimelineFilters) -> dict[str, Any]:
    """What the page has around its list: the filters as far as they need no counting, saved views."""
    project, user = project_current(), cast("User", request.user)
    return {
        "facets": chosen_facets(filters),
        "presets": presets(timezone.now()),
        "views": saved_views(project=project, user=user),
        "opening": view_id_of(request),
    }


@require_safe
@may_be_late
def facets(request: HttpRequest) -> HttpResponse:
    """How many turns there are of each value of each filter."""
    filters, _ = TimelineFilters.parse(request.GET)
    project = project_current()
    timed = bounded(project=project, filters=filters) if filters.since or filters.until else filters
    found = facets_counted(project=project, filters=timed)
    return render(request, "timeline/_facets.html", {"facets": found, "most": MOST_VALUES})


@require_safe
@may_be_late
def chart(request: HttpRequest) -> HttpResponse:
    """Turns over time, stacked by the reason that `stack` names."""
    filters, _ = TimelineFilters.parse(request.GET)
    stack = request.GET.get("stack", "")
    stack = stack if stack in STACKS else "model_stop_reason"
    project = project_current()
    newest = newest_id(project)  # before counting, so that nothing newer is in the counts for sure
    timed = bounded(project=project, filters=filters)
    counted = histogram(project=project, filters=timed, stacked_by=stack)
    chosen = bool(filters.since or filters.until)
    when = chips.span_words(filters.since, filters.until) if chosen else ""
    context = {
        "chart": chart_of(counted, chosen=chosen),
        "stack": stack,
        "none": WITHOUT[stack],
        "stacks": STACKS,
        "when": when,
        "newest": newest,
    }
    return render(request, "timeline/_chart.html", context)


@require_safe
@may_be_late
def drops(request: HttpRequest) -> HttpResponse:
    """The number of turns without each of the filters."""
    filters, _ = TimelineFilters.parse(request.GET)
    return render(
        request, "timeline/_filter_removals.html", {"drops": chips.drops(project=project_current(), filters=filters)}
    )
