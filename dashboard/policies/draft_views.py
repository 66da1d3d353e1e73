"""The form of a policy as a page: it keeps drafts. A draft is activated on the policy's page, in a step of its own.

Its panel tries what it says, saved or not, on stored turns.
"""

from typing import Any, cast
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from dashboard.accounts.models import User
from dashboard.accounts.roles import CHANGE_AGENT, CHANGE_POLICY, MAKE_POLICY, may
from dashboard.agents.models import Agent, Policy
from dashboard.agents.selectors import agent_get, policy_by_id, project_current
from dashboard.policies.backtests.forms import OverForm
from dashboard.policies.backtests.models import Backtest
from dashboard.policies.backtests.presenters import backtest_view
from dashboard.policies.backtests.services import backtest_create
from dashboard.policies.overview import policy_status
from dashboard.policies.policy_form_base import asked_version
from dashboard.policies.policy_forms import PolicyForm
from dashboard.policies.saved_policy import SavedPolicy, agent_policy_save, evidence_in_words, policy_save


@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """A new policy; `?agent=` names one without a policy, which is given it."""
    agent = _agent(request)
    form = PolicyForm(_given(request), initial={"name": agent.name if agent else ""})
    return _answered(request, form, None, agent, may(request.user, MAKE_POLICY))


@require_http_methods(["GET", "HEAD", "POST"])
def change(request: HttpRequest, policy_id: UUID) -> HttpResponse:
    """The next version of a policy; `?start=` names the version to start from."""
    try:
        policy = policy_by_id(project=project_current(), policy_id=policy_id)
    except Policy.DoesNotExist as error:
        raise Http404("There is no such policy.") from error
    asking = type("Asking", (PolicyForm,), {"asked": asked_version(request.GET.get("start"))})
    form = asking(_given(request), instance=policy)
    form.fields["name"].disabled = True
    return _answered(request, form, policy, None, may(request.user, CHANGE_POLICY))


def _given(request: HttpRequest) -> QueryDict | None:
    """What was sent, as a draft whatever else it says."""
    if request.method != "POST":
        return None
    given = request.POST.copy()
    given["counts"] = "draft"
    return given


def _agent(request: HttpRequest) -> Agent | None:
    """The agent that a new policy is for; None where none is named, or it has a policy, or may not be changed."""
    try:
        agent = agent_get(project=project_current(), name=request.GET.get("agent", "").replace("\x00", ""))
    except Agent.DoesNotExist:
        return None
    return agent if agent.policy is None and may(request.user, CHANGE_AGENT) else None


def _answered(
    request: HttpRequest,
    form: PolicyForm,
    policy: Policy | None,
    agent: Agent | None,
    may_change: bool,
) -> HttpResponse:
    if request.method == "POST" and form.is_valid():
        try:
            saved = _kept(form, agent, cast("User", request.user))
        except ValidationError as error:
            form.add_error(None, error)
        else:
            messages.success(request, _told(saved, form))
            if saved.is_new and form.overtaken:
                messages.warning(request, form.overtaken)
            return redirect("policies:version", saved.version.pk)
    status = policy_status(policy, now=timezone.now()) if policy else None
    context: dict[str, Any] = {
        "form": form, "policy": policy, "agent": agent, "standing": status, "may_change": may_change
    }  # fmt: skip
    return render(request, "policies/form.html", context, status=422 if form.errors else 200)


def _kept(form: PolicyForm, agent: Agent | None, by: User) -> SavedPolicy:
    return agent_policy_save(form, agent=agent, by=by) if agent else policy_save(form, by=by)


def _told(saved: SavedPolicy, form: PolicyForm) -> str:
    called = f"v{saved.version.version} of “{saved.version.policy.name}”"
    if not saved.is_new:
        return f"No change: the fields are those of {called}."
    return f"Draft {called} saved {evidence_in_words(form)}. It is inactive until you activate it."


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
                keeps_overrides=True,
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
