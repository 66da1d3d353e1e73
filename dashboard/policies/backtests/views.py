"""Backtests: what was tried, trying another, how far one is and what came of it."""

from typing import cast
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dashboard.accounts.models import User
from dashboard.agents.selectors import project_current
from dashboard.policies.backtests.forms import DraftForm
from dashboard.policies.backtests.models import Backtest
from dashboard.policies.backtests.presenters import backtest_view, backtest_views
from dashboard.policies.backtests.selectors import backtest_get, backtest_list
from dashboard.policies.backtests.services import backtest_cancel, backtest_create
from dashboard.timeline.chips import chips_of
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.timeline_page import query_of

LISTED = 50


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """The newest backtests."""
    found = list(backtest_list(project=project_current())[: LISTED + 1])
    shown = backtest_views(found[:LISTED])
    return render(request, "backtests/index.html", {"backtests": shown, "older": len(found) > LISTED})


@require_http_methods(["GET", "HEAD", "POST"])
def start(request: HttpRequest) -> HttpResponse:
    """Say what is tried; a POST queues the backtest over the turns that its `query`, or the address, lets through."""
    given = request.GET if request.method != "POST" else QueryDict(request.POST.get("query", ""))
    filters, errors = TimelineFilters.parse(given)
    project = project_current()
    form = DraftForm(project, request.POST if request.method == "POST" else None)
    faults = list(errors.values())
    if request.method == "POST" and not faults and form.is_valid():
        try:
            made = backtest_create(
                project=project,
                policy=form.draft,
                filter=filters.as_dict(),
                max_tokens=form.cleaned_data["max_tokens"],
                stands_for=form.stands_for,
                keeps_overrides=True,
                tried_version=form.tried_version,
                created_by=cast("User", request.user),
            )
        except ValidationError as error:
            faults = error.messages
        else:
            return redirect("backtests:show", made.pk)
    context = {"errors": faults, "form": form, "query": query_of(filters), "chips": chips_of(filters)}
    return render(request, "backtests/start.html", context, status=400 if faults or form.errors else 200)


def _or_404(backtest_id: UUID) -> Backtest:
    try:
        return backtest_get(backtest_id, project=project_current())
    except Backtest.DoesNotExist as error:
        raise Http404(f"There is no backtest {backtest_id}.") from error


@require_safe
def show(request: HttpRequest, backtest_id: UUID) -> HttpResponse:
    """How far it is, and what came of it; htmx asks for the part alone until it is over."""
    shown = backtest_view(_or_404(backtest_id))
    part = bool(request.headers.get("HX-Request"))
    return render(request, "backtests/_backtest.html" if part else "backtests/page.html", {"shown": shown})


@require_POST
def cancel(request: HttpRequest, backtest_id: UUID) -> HttpResponse:
    """End it soon; what was found so far stays."""
    ended = backtest_cancel(backtest=_or_404(backtest_id))
    if request.headers.get("HX-Request"):
        return render(request, "backtests/_backtest.html", {"shown": backtest_view(_or_404(backtest_id))})
    if not ended:
        messages.info(request, "The backtest had already ended.")
    return redirect("backtests:show", backtest_id)
