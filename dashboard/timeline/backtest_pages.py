"""A policy tried over the turns the timeline's filters let through."""

from typing import Any, cast
from uuid import UUID

from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from dashboard.accounts.models import User
from dashboard.agents.models import Policy
from dashboard.agents.policies import POLICY_FIELDS
from dashboard.agents.selectors import policy_get, policy_list, policy_version_latest, project_default
from dashboard.replay.services import backtest_create
from dashboard.timeline.chips import chips_of
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.listing import address_of, query_of
from dashboard.turns.models import Backtest, Turn
from dashboard.turns.selectors import backtest_get

SHOWN = 100  #: flipped turns that are listed


@require_http_methods(["GET", "HEAD", "POST"])
def start(request: HttpRequest) -> HttpResponse:
    """Choose the policy; a POST queues the backtest."""
    given = request.GET if request.method != "POST" else QueryDict(request.POST.get("query", ""))
    filters, errors = TimelineFilters.parse(given)
    context: dict[str, Any] = {"errors": list(errors.values()), "query": query_of(filters)}
    if request.method == "POST" and not errors:
        try:
            return redirect("timeline:backtest", _queued(request, filters).pk)
        except ValidationError as error:
            context["errors"] = error.messages
    context |= {"policies": policy_list(project=project_default()), "chips": chips_of(filters)}
    return render(request, "timeline/backtest_start.html", context)


def _queued(request: HttpRequest, filters: TimelineFilters) -> Backtest:
    project = project_default()
    try:
        policy = policy_get(project=project, name=request.POST.get("policy", ""))
    except Policy.DoesNotExist as error:
        raise ValidationError("Choose one of the policies; this one is not there any more.") from error
    version = policy_version_latest(policy=policy)
    if version is None:
        raise ValidationError(f"“{policy}” says nothing yet; write its first version under Policies.")
    said = {field: getattr(version, field) for field in POLICY_FIELDS}
    user = cast("User", request.user)
    return backtest_create(project=project, policy=said, filter=filters.as_dict(), created_by=user)


@require_safe
def show(request: HttpRequest, backtest_id: UUID) -> HttpResponse:
    """How far it is, and what came of it; htmx asks for the part alone until it is done."""
    try:
        backtest = backtest_get(backtest_id)
    except Backtest.DoesNotExist as error:
        raise Http404(f"There is no backtest {backtest_id}.") from error
    filters, _ = TimelineFilters.parse(backtest.filter)
    context = {
        "backtest": backtest,
        "chips": chips_of(filters),
        "address": address_of(query_of(filters)),
        "waiting": backtest.status in (Backtest.Status.QUEUED, Backtest.Status.RUNNING),
        "flipped": Turn.objects.filter(id__in=backtest.flipped_turns[:SHOWN]).order_by("-id"),
    }
    part = bool(request.headers.get("HX-Request"))
    return render(request, "timeline/_backtest.html" if part else "timeline/backtest.html", context)
