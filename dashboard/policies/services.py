"""Writes: shadows begun, ended and promoted. Each raises `ValidationError` in words."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from dashboard.agents.change_tracking import reason
from dashboard.agents.models import Policy, PolicyActivation, PolicyVersion
from dashboard.agents.selectors import policy_version_active
from dashboard.policies.models import Shadow
from dashboard.policies.policy_versions import version_activate
from dashboard.policies.selectors import tally_of

if TYPE_CHECKING:
    from dashboard.accounts.models import User


@transaction.atomic
def shadow_start(*, version: PolicyVersion, by: "User | None" = None, why: str = "") -> Shadow:
    """Judge a version beside what counts, from now on."""
    Policy.objects.select_for_update().get(pk=version.policy_id)  # what is asked next stays so until it has begun
    if policy_version_active(policy=version.policy) == version:
        raise ValidationError(f"{version} is already active; a shadow run is for an inactive version.")
    if Shadow.objects.filter(version=version, ended_at=None).exists():
        raise ValidationError(f"{version} already has a shadow run.")
    return Shadow.objects.create(
        project=version.policy.project,
        version=version,
        started_at=timezone.now(),
        created_by=by,
        why=reason(why),
    )


def shadow_stop(*, shadow: Shadow, by: "User | None" = None) -> None:
    """End it; its verdicts stay."""
    if not shadow_end(shadow, by):
        raise ValidationError("This shadow run has already ended.")


@transaction.atomic
def shadow_promote(
    *, shadow: Shadow, by: "User | None" = None, why: str = "", standing: str | None = None
) -> PolicyActivation:
    """Have the shadowed version count, with what was counted in the shadow attached for good. `standing` as in
    `version_activate`."""
    tally = tally_of(shadow)
    evidence = {
        "shadow": str(shadow.pk),
        "since": shadow.started_at.isoformat(),
        **asdict(tally),
        "judged": tally.judged,
    }
    activation = version_activate(version=shadow.version, by=by, why=why, evidence=evidence, standing=standing)
    shadow_end(shadow, by)
    return activation


def shadow_end(shadow: Shadow, by: "User | None") -> bool:
    """False where it had ended before: who ended it then stays."""
    running = Shadow.objects.filter(pk=shadow.pk, ended_at=None)
    return bool(running.update(ended_at=timezone.now(), ended_by=by))
