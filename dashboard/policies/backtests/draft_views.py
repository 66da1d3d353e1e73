"""The panel of a policy's form: its present words, saved or not, tried on stored turns."""

from typing import cast
from uuid import UUID

from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from dashboard.accounts.models import User
from dashboard.agents.models import Policy
from dashboard.agents.selectors import policy_by_id, project_current
from dashboard.policies.backtests.forms import OverForm
from dashboard.policies.backtests.models import Backtest
from dashboard.policies.backtests.presenters import backtest_view
from dashboard.policies.backtests.services import backtest_create
from dashboard.policies.policy_forms import PolicyForm


@require_POST
def draft(request: HttpRequest) -> HttpResponse:
    """Try what the form says; `?policy=` is the policy it changes, none where it makes a new one."""
    policy = _policy(request.GET.get("policy", ""))
    form = PolicyForm(request.POST, instance=policy)
    over = OverForm(project_current(), policy, request.POST)
    faults = [*form.faults_said, *(str(words) for errors in over.errors.values() for words in errors)]
    made: Backtest | None = None
    if not faults:
        try:
            made = backtest_create(
                project=project_current(),
                policy=form.said(),
                filter=over.filter,
                stands_for=policy,
                created_by=cast("User", request.user),
            )
        except ValidationError as error:
            faults = error.messages
    shown = backtest_view(made) if made else None
    context = {"policy": policy, "over": over, "faults": faults, "shown": shown}
    return render(request, "backtests/_panel.html", context)


def _policy(asked: str) -> Policy | None:
    if not asked:
        return None
    try:
        return policy_by_id(project=project_current(), policy_id=UUID(asked))
    except (ValueError, Policy.DoesNotExist) as error:
        raise Http404("There is no such policy.") from error
