"""New policies, and new versions of those that there are; and whether a backtest is evidence for one: it ran to its
end, with these settings, in this policy's place.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Unpack

from django.core.exceptions import ValidationError
from django.db import models, transaction

from dashboard.accounts.models import User
from dashboard.agents.change_tracking import reason
from dashboard.agents.models import Policy, PolicyActivation, PolicyVersion, Project
from dashboard.agents.policies import policy_said
from dashboard.agents.selectors import start_now
from dashboard.agents.services import as_list, valid_save
from dashboard.policies.backtests.models import Backtest

#: How far a backtest is that has not judged all of its turns.
NOT_DONE = {
    "queued": "has not begun",
    "running": "is still running, after {done:,} of {total:,} turns",
    "cancelled": "was cancelled after {done:,} of {total:,} turns",
    "failed": "failed after {done:,} of {total:,} turns",
}
WAITS = ("queued", "running")  #: of these, those that may come to speak for it


def evidence_fault(backtest: Backtest, said: Mapping[str, Any], policy: Policy) -> str:
    """Why the backtest does not speak for these words of the policy: `used other settings`. Empty where it does.

    That it gave every turn another max_tokens is no fault: its sentence says so wherever it stands.
    """
    if fault := _other(backtest, said, policy):
        return fault
    return NOT_DONE.get(backtest.status, "").format(done=backtest.done, total=backtest.total)


def evidence_waits(backtest: Backtest, said: Mapping[str, Any], policy: Policy) -> bool:
    """Whether it will speak for them once it is done."""
    return backtest.status in WAITS and not _other(backtest, said, policy)


def _other(backtest: Backtest, said: Mapping[str, Any], policy: Policy) -> str:
    """How it tried something else. What was tried alone speaks for the first version of a policy: that had no place
    among the words of any turn."""
    if not same_words(backtest.policy, said):
        return "used other settings"
    stood_for = backtest.stands_for
    if stood_for is not None and stood_for != policy:
        return f"ran in place of another policy, “{stood_for}”"
    if stood_for is None and policy.versions.exists():
        return f"ran alone, not in place of “{policy}”"
    return ""


def same_words(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two clean bodies of a policy say the same; what is left out, null or empty says nothing."""
    return {name: value for name, value in one.items() if value} == {n: value for n, value in other.items() if value}


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
    may_wait: bool = False,
    **fields: Unpack[PolicyFields],
) -> PolicyVersion:
    """The first version of a new policy, or the next version of one that has this name already.

    The version counts at once, unless `activate` is false: then it is a draft. `backtest`: one that speaks for it
    (`evidence_fault`), or with `may_wait` one that will once it is done: the version's page shows how far it is.
    """
    given = {name: as_list(value) for name, value in fields.items() if value is not None}
    said = policy_said(**{**_NO_OVERRIDES, **given})
    policy, latest = _policy_locked(project, name)
    waits = backtest is not None and evidence_waits(backtest, said, policy)
    if backtest is not None and not (waits and may_wait) and (fault := evidence_fault(backtest, said, policy)):
        more = "wait for it" if waits else "run it again"
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
