"""New policies, and new versions of those that there are."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Unpack

from django.core.exceptions import ValidationError
from django.db import models, transaction

from dashboard.accounts.models import User
from dashboard.agents import policy_validation
from dashboard.agents.change_tracking import reason
from dashboard.agents.criteria import criteria_clean
from dashboard.agents.models import Policy, PolicyActivation, PolicyVersion, Project
from dashboard.agents.selectors import start_now
from dashboard.agents.services import as_list, valid_save
from dashboard.policies.backtest_gate import evidence_fault, evidence_waits
from dashboard.policies.backtests.models import Backtest


class PolicyFields(TypedDict, total=False):
    """What a version of a policy says; what is left out, or None, overrides nothing."""

    limits: Mapping[str, Any] | None
    error_policy: Mapping[str, Any] | None
    envelope: Mapping[str, Any] | None  #: `{recovery: [path]}`
    tool_calls_on_truncation: str
    finish_reasons: Sequence[str]  #: normalized stop reasons
    criteria: Sequence[Mapping[str, Any]]  #: `{path, kwargs?}` each
    retention: Mapping[str, Any] | None  #: `{keep_raw_days?}`


_NO_OVERRIDES = PolicyFields(
    limits={},
    error_policy={},
    envelope=None,
    tool_calls_on_truncation="",
    finish_reasons=[],
    criteria=[],
    retention={},
)


@transaction.atomic
def policy_create(
    *,
    project: Project,
    name: str,
    created_by: User | None = None,
    why: str = "",
    activate: bool = True,
    backtest: Backtest | None = None,
    **fields: Unpack[PolicyFields],
) -> PolicyVersion:
    """The first version of a new policy, or the next version of one that has this name already.

    The version counts at once, unless `activate` is false: then it is a draft. `backtest`: one that speaks for it
    (`backtest_gate`).
    """
    given = {name: as_list(value) for name, value in fields.items() if value is not None}
    said = policy_said(**{**_NO_OVERRIDES, **given})
    policy, latest = _policy_locked(project, name)
    if backtest is not None and (fault := evidence_fault(backtest, said, policy)):
        more = "wait for it" if evidence_waits(backtest, said, policy) else "run it again"
        raise ValidationError({"backtest": f"The backtest {fault}; {more}, or save without one."})
    about = {"created_by": created_by, "why": reason(why)}
    version = PolicyVersion.objects.create(policy=policy, version=latest + 1, backtest=backtest, **about, **said)
    if activate:
        starts_at = start_now(policy_id=policy.pk)
        PolicyActivation.objects.create(policy=policy, version=version, starts_at=starts_at, **about)
    return version


def _policy_locked(project: Project, name: str) -> tuple[Policy, int]:
    """The policy of this name, made where there is none, and the number of its latest version."""
    of_name = Policy.objects.select_for_update().filter(project=project, name=name)
    policy = of_name.first() or _policy_made(project, name, of_name)
    return policy, policy.versions.aggregate(latest=models.Max("version"))["latest"] or 0


def _policy_made(project: Project, name: str, of_name: models.QuerySet[Policy]) -> Policy:
    """A new policy; where somebody makes one of this name at the same moment, theirs."""
    policy = Policy(project=project, name=name)
    try:
        valid_save(policy)
    except ValidationError:
        theirs = of_name.first()
        if theirs is None:
            raise
        return theirs
    return policy


def policy_said(**given: Any) -> dict[str, Any]:
    """What the version stores, by field; all that is wrong with it is said at once."""
    clean: dict[str, Any] = {}
    errors: dict[str, ValidationError] = {}
    for field, value in given.items():
        try:
            clean[field] = POLICY_CLEANERS[field](value)
        except ValidationError as error:
            errors[field] = error
    if errors:
        raise ValidationError(errors)
    return clean


POLICY_CLEANERS = {
    "limits": policy_validation.limits_clean,
    "error_policy": policy_validation.error_policy_clean,
    "envelope": policy_validation.envelope_clean,
    "tool_calls_on_truncation": policy_validation.truncation_said_clean,
    "finish_reasons": policy_validation.finish_reasons_clean,
    "criteria": criteria_clean,
    "retention": policy_validation.retention_clean,
}
