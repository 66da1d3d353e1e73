"""Trying turns of unknown end live, from the page of a backtest or of a shadow."""

from typing import cast
from uuid import UUID

from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST

from dashboard.accounts.models import User
from dashboard.agents.selectors import project_current
from dashboard.policies.backtests.models import Backtest
from dashboard.policies.backtests.selectors import backtest_get
from dashboard.policies.models import Shadow
from dashboard.policies.predictions.live_trials import (
    TrialSource,
    asked_of_backtest,
    asked_of_shadow,
    tries_begin,
)
from dashboard.policies.predictions.templatetags.live_tries import shown, tokens_in
from dashboard.policies.selectors import shadow_get


@require_POST
def of_backtest(request: HttpRequest, backtest_id: UUID) -> HttpResponse:
    """Try the next turns of a backtest live."""
    try:
        asked = asked_of_backtest(backtest_get(backtest_id, project=project_current()))
    except Backtest.DoesNotExist as error:
        raise Http404(f"There is no backtest {backtest_id}.") from error
    return _tried(request, asked, reverse("backtests:show", args=[backtest_id]))


@require_POST
def of_shadow(request: HttpRequest, shadow_id: UUID) -> HttpResponse:
    """Try the next turns of a shadow live."""
    try:
        found = shadow_get(shadow_id, project=project_current())
    except Shadow.DoesNotExist as error:
        raise Http404(f"There is no shadow {shadow_id}.") from error
    return _tried(request, asked_of_shadow(found), reverse("policies:show", args=[found.version.policy_id]))


def _tried(request: HttpRequest, asked: TrialSource, page: str) -> HttpResponse:
    typed, begun, left, fault = request.POST.get("tokens", ""), 0, 0, ""
    try:
        begun, left = tries_begin(asked=asked, tokens=tokens_in(typed), by=cast("User", request.user))
    except ValidationError as error:
        fault = " ".join(error.messages)
    context = shown(asked, page=page, act=request.path, perms=None, typed=typed, begun=begun if left else 0)
    context["fault"] = fault
    del context["perms"]  # the request's own
    return render(request, "predictions/_live_tries.html", context)
