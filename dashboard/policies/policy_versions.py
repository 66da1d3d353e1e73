"""Writes of policy versions, activations and attachments. Each raises `ValidationError` with a sentence."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from dashboard.agents import selectors
from dashboard.agents.change_tracking import on_behalf, reason
from dashboard.agents.models import Connection, Policy, PolicyActivation, PolicyAttachment, PolicyVersion, Project
from dashboard.agents.validation import provider_valid
from dashboard.policies.policy_creation import policy_create

if TYPE_CHECKING:
    from dashboard.accounts.models import User
    from dashboard.policies.backtests.models import Backtest

FARTHEST = timedelta(days=366)  #: ahead that an activation may be scheduled
CHANGED = "{} became active in the meantime. {} was not activated; check the page and try again."


@transaction.atomic
def version_keep(
    *,
    project: Project,
    name: str,
    said: Mapping[str, Any],
    by: "User | None" = None,
    why: str = "",
    counts: str = "now",
    starts_at: datetime | None = None,
    backtest: "Backtest | None" = None,
    may_wait: bool = False,
) -> PolicyVersion:
    """A policy's next version, which counts `now`, `later` (from `starts_at`) or not yet: `draft`.

    `backtest`: one that tried these very words; with `may_wait` also one that is still trying them.
    """
    about: dict[str, Any] = {"created_by": by, "why": why, "backtest": backtest, "may_wait": may_wait}
    version = policy_create(project=project, name=name, activate=counts == "now", **about, **said)
    if counts == "later":
        version_activate(version=version, by=by, why=why, starts_at=_said_start(starts_at))
    return version


def _said_start(starts_at: datetime | None) -> datetime:
    if starts_at is None:
        raise ValidationError({"starts_at": "Enter when it becomes active."})
    return starts_at


def version_stand(
    *,
    version: PolicyVersion,
    by: "User | None" = None,
    why: str = "",
    counts: str = "now",
    starts_at: datetime | None = None,
) -> PolicyActivation | None:
    """The same of a version that is there; None where that changes nothing: it counts already, or stays a draft."""
    if counts == "later":
        return version_activate(version=version, by=by, why=why, starts_at=_said_start(starts_at))
    if counts == "draft" or selectors.policy_version_active(policy=version.policy) == version:
        return None
    return version_activate(version=version, by=by, why=why)


def version_activate(
    *,
    version: PolicyVersion,
    by: "User | None" = None,
    why: str = "",
    starts_at: datetime | None = None,
    evidence: Mapping[str, Any] | None = None,
    standing: str | None = None,
) -> PolicyActivation:
    """Have a version count from now on, or from `starts_at`. An earlier version: this is how one rolls back.

    `standing`: the number of the version that was active when this was decided, empty for none. Where another one is by
    now, nothing is activated.
    """
    with transaction.atomic():
        Policy.objects.select_for_update().get(pk=version.policy_id)
        # Only now: who waited for another activation comes after it.
        now = selectors.start_now(policy_id=version.policy_id)
        starts = start_clean(starts_at, now)
        active = selectors.policy_version_active(policy=version.policy, at=now)
        if starts_at is None and active == version:
            raise ValidationError(f"{version} is already active.")
        if standing is not None and standing != (str(active.version) if active else ""):
            raise ValidationError(CHANGED.format(active or "No version", version))
        return PolicyActivation.objects.create(
            policy_id=version.policy_id,
            version=version,
            starts_at=starts,
            why=reason(why),
            evidence=evidence,
            created_by=by,
        )


def start_clean(starts_at: datetime | None, now: datetime) -> datetime:
    """The moment an activation starts: `now`, or one that lies ahead. Raises `ValidationError` in words."""
    if starts_at is None:
        return now
    if starts_at <= now:
        raise ValidationError({"starts_at": "Schedule a moment in the future, or activate it now."})
    if starts_at > now + FARTHEST:
        raise ValidationError({"starts_at": f"Schedule at most {FARTHEST.days} days ahead."})
    return starts_at


def activation_withdraw(*, activation: PolicyActivation, by: "User | None" = None) -> None:
    """Take back what has not started yet; what has started is followed by another activation instead."""
    now = timezone.now()
    waiting = PolicyActivation.objects.filter(pk=activation.pk, withdrawn_at=None, starts_at__gt=now)
    if not waiting.update(withdrawn_at=now, withdrawn_by=by.get_username() if by else ""):
        raise ValidationError("This activation has started or was cancelled; activate another version instead.")


def policy_attach(
    *,
    project: Project,
    policy: Policy,
    connection: Connection | None = None,
    model: str = "",
    provider: str = "",
    by: "User | None" = None,
    why: str = "",
) -> PolicyAttachment:
    """Have a policy count for a connection's model, for a provider, or for the whole site; one policy per place."""
    if provider:
        provider_valid(provider)
    place = {"project": project, "connection": connection, "model": model.strip(), "provider": provider}
    with on_behalf(by, why), transaction.atomic():
        # One at a time, also where nothing is attached yet: there is no row of the place to hold then.
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        attachment = PolicyAttachment.objects.select_for_update().filter(**place).first() or PolicyAttachment(**place)
        attachment.policy = policy
        attachment.full_clean()
        attachment.save()
    return attachment


def policy_detach(*, attachment: PolicyAttachment, by: "User | None" = None, why: str = "") -> None:
    """Have a policy count there no more."""
    with on_behalf(by, why), transaction.atomic():
        attachment.delete()
