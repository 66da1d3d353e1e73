"""Writes to projects' connections, policies and agents. Each raises `ValidationError` with sentences by field."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from django.core.exceptions import ValidationError
from django.db import IntegrityError, models, transaction

from dashboard.agents import policy_validation
from dashboard.agents.backtest_gate import evidence_fault, evidence_waits
from dashboard.agents.change_tracking import reason
from dashboard.agents.criteria import criteria_clean
from dashboard.agents.models import Agent, Connection, Policy, PolicyActivation, PolicyVersion, Project
from dashboard.agents.selectors import start_now

if TYPE_CHECKING:
    from dashboard.accounts.models import User
    from dashboard.policies.backtests.models import Backtest


def connection_create(
    *,
    project: Project,
    name: str,
    provider: str,
    base_url: str,
    api_key_env: str = "",
    max_output_tokens: int | None = None,
    context_window: int | None = None,
    max_concurrent_calls: int | None = None,
    requests_per_minute: int | None = None,
    hint_role: str = "system",
    max_tokens_field: str = "max_tokens",
    prefill: bool = False,
    prefill_way: str = "prefill",
    prefill_echo: bool = False,
) -> Connection:
    connection = Connection(
        project=project,
        name=name,
        provider=provider,
        base_url=base_url,
        api_key_env=api_key_env,
        max_output_tokens=max_output_tokens,
        context_window=context_window,
        max_concurrent_calls=max_concurrent_calls,
        requests_per_minute=requests_per_minute,
        hint_role=hint_role,
        max_tokens_field=max_tokens_field,
        prefill=prefill,
        prefill_way=prefill_way,
        prefill_echo=prefill_echo,
    )
    valid_save(connection)
    return connection


def connection_update(*, connection: Connection, changes: Mapping[str, Any]) -> Connection:
    """`changes`: new values by field name."""
    changeable = {field.name for field in connection._meta.fields} - {
        "id",
        "project",
        "created_at",
        "probe",
        "probed_at",
    }
    unknown = sorted(set(changes) - changeable)
    if unknown:
        known = policy_validation.listed(sorted(changeable))
        raise ValidationError(f"There is no field “{unknown[0]}” to change; the fields are {known}.")
    for field, value in changes.items():
        setattr(connection, field, value)
    valid_save(connection)
    return connection


def agent_create(
    *,
    project: Project,
    name: str,
    connection: Connection,
    model: str,
    max_tokens: int,
    system_prompt: str = "",
    tools: Sequence[str] = (),
    envelope_schema: Mapping[str, Any] | None = None,
    policy: Policy | None = None,
    gateway_mode: str = "continue",
    breakpoints: Sequence[Mapping[str, Any]] = (),
    approvals: Mapping[str, Any] | None = None,
) -> Agent:
    """`breakpoints`: where its turns hold; `approvals`: `{tools, seconds?, otherwise?}`."""
    agent = Agent(
        project=project,
        name=name,
        connection=connection,
        model=model,
        max_tokens=max_tokens,
        system_prompt=system_prompt,
        tools=list(tools),
        envelope_schema=envelope_schema,
        policy=policy,
        gateway_mode=gateway_mode,
        breakpoints=_as_list(breakpoints),
        approvals=approvals,
    )
    valid_save(agent)
    return agent


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
    created_by: "User | None" = None,
    why: str = "",
    activate: bool = True,
    backtest: "Backtest | None" = None,
    **fields: Unpack[PolicyFields],
) -> PolicyVersion:
    """The first version of a new policy, or the next version of one that has this name already.

    The version counts at once, unless `activate` is false: then it is a draft. `backtest`: one that speaks for it
    (`backtest_gate`).
    """
    given = {name: _as_list(value) for name, value in fields.items() if value is not None}
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


def _as_list(given: Any) -> Any:
    return list(given) if isinstance(given, tuple) else given


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


def valid_save(instance: models.Model) -> None:
    """Saves what is valid. Who loses a race for a name is told so in the same words as who came late."""
    instance.full_clean()
    try:
        with transaction.atomic():
            instance.save()
    except IntegrityError:
        instance.full_clean()
        raise
