"""Saving what a policy's form says, on its page and in the admin: the next version, or a standing one that may become
active."""

from dataclasses import dataclass
from typing import Any

from django.db import transaction

from dashboard.accounts.models import User
from dashboard.agents.change_tracking import on_behalf
from dashboard.agents.models import Agent, PolicyActivation, PolicyVersion
from dashboard.policies import policy_versions
from dashboard.policies.backtests.result_text import in_words
from dashboard.policies.policy_forms import PolicyForm, said_by


@dataclass(frozen=True, slots=True)
class SavedPolicy:
    """`is_new`: whether the fields made a version. `activation`: of it, or of the one that the form started from."""

    version: PolicyVersion
    is_new: bool
    activation: PolicyActivation | None


def policy_save(form: PolicyForm, *, by: User | None) -> SavedPolicy:
    """What a valid form says. Where its fields are as they were at the start, there is no new version, but that one may
    become active. Raises `ValidationError` where somebody else was quicker."""
    start, attached = form.start.version if form.start else None, form.attached
    when = {name: form.cleaned_data[name] for name in ("counts", "starts_at")}
    about: dict[str, Any] = {"by": by, "why": form.cleaned_data["why"], **when}
    if start and form.said() == said_by(start) and attached in (None, start.backtest):
        return SavedPolicy(start, False, policy_versions.version_stand(version=start, **about))
    project, name = form.instance.project, form.instance.name
    version = policy_versions.version_keep(project=project, name=name, said=form.said(), backtest=attached, **about)
    return SavedPolicy(version, True, version.activations.first())


@transaction.atomic
def agent_policy_save(form: PolicyForm, *, agent: Agent, by: User | None) -> SavedPolicy:
    """The first version of a policy for an agent without one, which is given it."""
    saved = policy_save(form, by=by)
    with on_behalf(by, form.cleaned_data["why"]):
        Agent.objects.filter(pk=agent.pk, policy=None).update(policy=saved.version.policy)
    return saved


def evidence_in_words(form: PolicyForm) -> str:
    """What it was tried on before it was kept, or that it was not."""
    if form.attached:
        return f"with {in_words(form.attached)}"
    return f"without a backtest: the one that ran {form.unattached}" if form.unattached else "without a backtest"
