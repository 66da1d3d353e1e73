"""Smallest sufficient limit: the estimate, the map of two limits, and what was found as a policy."""

from typing import Any, cast

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from agentcore.sufficient_max_tokens import END_AT_MOST
from dashboard.accounts.models import User
from dashboard.agents.models import PolicyVersion
from dashboard.agents.selectors import policy_list, policy_version_active, project_current
from dashboard.policies.backtested_draft import limit_keep
from dashboard.policies.backtests.answer_lengths import MOST, estimate_of
from dashboard.policies.backtests.curve_chart import charts_of
from dashboard.policies.backtests.forms import CellForm
from dashboard.policies.backtests.selectors import turns_asked
from dashboard.policies.backtests.sweep_map import cell_of, experience_with, map_of, sample_of
from dashboard.timeline.chips import chips_of
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.selectors import turns_matching
from dashboard.turns.timeline_page import query_of


@require_safe
def limits(request: HttpRequest) -> HttpResponse:
    """The estimate over the turns that the address lets through, as the timeline's filters say."""
    filters, errors = TimelineFilters.parse(request.GET)
    found = estimate_of(project=project_current(), filters=filters)
    context = {
        "errors": list(errors.values()),
        "found": found,
        "quantiles": found.quantiles,
        "charts": charts_of(found.curve, found.nearly_all),
        "chips": chips_of(filters),
        "query": query_of(filters),
        "matching": turns_matching(project=project_current(), filters=filters)[: MOST + 1].count(),
        "most": MOST,
        "end": END_AT_MOST,
        "policies": policy_list(project=project_current()),
    }
    return render(request, "backtests/limits.html", context, status=400 if errors else 200)


@require_safe
def sweep_map(request: HttpRequest) -> HttpResponse:
    """A page that asks for the map, as evaluating it takes seconds: with `?evaluate=first` for one of few turns, which
    asks for the whole map with `?evaluate=part`. With `?evaluate=page` the page with the map, for readers without
    scripts. With `?continuations=&max_tokens=` the turns of that cell.

    A cell's address names the newest and the oldest turn that the map was made of, so that it tells of the same turns
    when more have come, and where a single cell would have had time for more.
    """
    filters, errors = TimelineFilters.parse(request.GET)
    cell = CellForm(request.GET) if {"continuations", "max_tokens"} & request.GET.keys() else None
    faults = [*errors.values(), *(cell.faults if cell else ())]
    context: dict[str, Any] = {"query": query_of(filters), "errors": faults}
    if faults:
        return render(request, "backtests/map.html", context, status=400)
    if cell is None:
        if "evaluate" not in request.GET:
            return render(request, "backtests/map.html", context)
        wanted, project = request.GET["evaluate"], project_current()
        sample = sample_of(project=project, filters=filters)
        found = map_of(sample, experience_with(project), first=wanted == "first")
        template = "backtests/_map.html" if wanted in ("first", "part") else "backtests/map.html"
        return render(request, template, {**context, "map": found})
    said = cell.cleaned_data
    project = project_current()
    sample = sample_of(project=project, filters=filters, newest=said["newest"], oldest=said["oldest"])
    shown = cell_of(sample, said["continuations"], said["max_tokens"], experience_with(project))
    asked = turns_asked([each.told.id for each in shown.ended])
    return render(request, "backtests/cell.html", {**context, "cell": shown, "asked": asked})


@require_POST
def keep(request: HttpRequest) -> HttpResponse:
    """The smallest total that suffices, as a draft of the policy of this name."""
    query = QueryDict(request.POST.get("query", ""))
    filters, errors = TimelineFilters.parse(query)
    if errors:
        messages.error(request, " ".join(["No draft was created.", *errors.values()]))
        return redirect(f"{reverse('backtests:limits')}?{query.urlencode()}")
    project, name = project_current(), str(request.POST.get("name", "")).strip()
    found = estimate_of(project=project, filters=filters)
    address = f"{reverse('backtests:limits')}?{query_of(filters)}"
    if found.suffices is None:
        messages.error(request, "These recordings do not show which limit is sufficient.")
        return redirect(address)
    try:
        about: dict[str, Any] = {"filters": filters, "why": found.words, "by": cast("User", request.user)}
        version = limit_keep(project=project, name=name, tokens=found.suffices, **about)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect(address)
    messages.success(request, _kept(version))
    return redirect("policies:version", version.pk)


def _kept(version: PolicyVersion) -> str:
    """What became of the number, and where the other words of the draft come from."""
    base = policy_version_active(policy=version.policy)
    rest = f" All other settings are those of version {base.version}, which is active." if base else ""
    said = f"Draft created: version {version.version} of “{version.policy.name}”.{rest}"
    return f"{said} It is inactive until you activate it."
