"""Policies: limits, error policy and rules, in versions that never change."""

# ruff: noqa: ARG001 - every view is given its request

from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from ninja import Router, Status

from agentcore.policy import Limits, OnTruncation
from dashboard.accounts.roles import CHANGE_POLICY
from dashboard.agents import selectors
from dashboard.agents.limit_fields import RETENTION_FIELDS
from dashboard.agents.models import Policy, PolicyVersion
from dashboard.agents.policies import envelope_rules_of
from dashboard.api import configuration_response_schemas, request_schemas
from dashboard.api.callers import caller, require
from dashboard.api.list_pages import PagedArray, items_array
from dashboard.api.name_lookup import named
from dashboard.api.problems import aware
from dashboard.policies import policy_versions
from dashboard.policies.backtests.models import Backtest
from dashboard.policies.backtests.selectors import backtest_get
from dashboard.policies.field_sources import sources_of, sources_to_come
from dashboard.policies.policy_creation import policy_create as new_version
from dashboard.policies.policy_impact import PolicyGraph, activation_warnings, version_warnings
from dashboard.turns.selectors import turn_get

router = Router(tags=["policies"])


@router.post(
    "/policies", response={201: configuration_response_schemas.Policy}, summary="Create a policy, or its next version"
)
def policy_create(request: HttpRequest, body: request_schemas.NewPolicy) -> Status[dict[str, Any]]:
    """An existing policy gets its next version. Turns keep the version that they started with."""
    project, said = selectors.project_current(), body.given()
    if selectors.policy_list(project=project).filter(name=body.name).exists():
        require(request, CHANGE_POLICY)
    said["backtest"] = _backtest(said.get("backtest"))
    version = new_version(project=project, created_by=caller(request), **said)
    return Status(201, shown(version, _counting(version.policy)) | {"warnings": activation_warnings(version)})


def _backtest(wanted: UUID | None) -> Backtest | None:
    try:
        return None if wanted is None else backtest_get(wanted, project=selectors.project_current())
    except Backtest.DoesNotExist as error:
        raise ValidationError({"backtest": f"There is no backtest {wanted}. Run one, or omit the field."}) from error


@router.post(
    "/policies/{name}/activations",
    response={201: configuration_response_schemas.Activation},
    summary="Activate, roll back or schedule a version",
)
def policy_activate(request: HttpRequest, name: str, body: request_schemas.Activate) -> Status[dict[str, Any]]:
    """The version is active from now on, or from `starts_at`. Running turns keep their version."""
    policy = named(selectors.policy_list(project=selectors.project_current()), name)
    version = selectors.policy_version_get(policy=policy, version=body.version)
    starts_at = aware(body.starts_at)
    made = policy_versions.version_activate(
        version=version, by=caller(request), why=body.why or "", starts_at=starts_at
    )
    told = {"policy": policy.name, "version": version.version, "starts_at": made.starts_at, "why": made.why}
    return Status(201, told | {"warnings": activation_warnings(version)})


@router.get(
    "/turns/{turn_id}/policy_sources",
    response=list[configuration_response_schemas.PolicySource],
    summary="Get the sources of a turn's limits",
)
def turn_policy_sources(
    request: HttpRequest, response: HttpResponse, turn_id: UUID, page: PagedArray
) -> list[dict[str, Any]]:
    """Every field of the policy that the turn ran under, with its source: the most specific setting, or the default."""
    return [source.told() for source in items_array(request, response, sources_of(turn_get(turn_id)), page)]


@router.get(
    "/agents/{name}/policy_sources",
    response=list[configuration_response_schemas.PolicySource],
    summary="Get the effective limits of an agent's next turn",
)
def agent_policy_sources(
    request: HttpRequest, response: HttpResponse, name: str, page: PagedArray
) -> list[dict[str, Any]]:
    """Each field with its source, for a turn that would start now without overrides."""
    sources = sources_to_come(named(selectors.agent_list(project=selectors.project_current()), name))
    return [source.told() for source in items_array(request, response, sources, page)]


@router.get("/policies", response=list[configuration_response_schemas.Policy], summary="List policies")
def policy_list(request: HttpRequest, response: HttpResponse, page: PagedArray) -> list[dict[str, Any]]:
    """The latest version of each policy, by name, and the active one (`active`)."""
    project = selectors.project_current()
    ground = PolicyGraph.of(project)
    latest = items_array(request, response, list(selectors.policy_version_list(project=project)), page)
    return [shown(version, getattr(version, "counts"), ground) for version in latest]  # noqa: B009 - annotated


@router.get("/policies/{name}", response=configuration_response_schemas.Policy, summary="Get a policy")
def policy_get(request: HttpRequest, name: str, version: int | None = None) -> dict[str, Any]:
    """The latest version, which may be a draft, or the one that `version` selects. Use a name or an id. `active` is
    the active version."""
    policy = named(selectors.policy_list(project=selectors.project_current()), name)
    found = selectors.policy_version_get(policy=policy, version=version)
    return shown(found, _counting(policy))


def _counting(policy: Policy) -> int | None:
    active = selectors.policy_version_active(policy=policy)
    return active.version if active else None


def shown(version: PolicyVersion, active: int | None, ground: PolicyGraph | None = None) -> dict[str, Any]:
    """`active`: the number of the version that counts; `ground`: the project's, where it is at hand."""
    return {
        "id": version.policy_id,
        "name": version.policy.name,
        "version": version.version,
        "active": active,
        "limits": {**asdict(Limits()), **version.limits},
        "error_policy": {"preset": "stop_on_any_error", **version.error_policy},
        "envelope": {"recovery": list(envelope_rules_of(version.envelope).recovery)},
        "tool_calls_on_truncation": version.tool_calls_on_truncation or OnTruncation.EXECUTE_IF_COMPLETE.value,
        "finish_reasons": version.finish_reasons,
        "criteria": version.criteria,
        "retention": {**dict.fromkeys(RETENTION_FIELDS), **version.retention},
        "warnings": version_warnings(version, ground),
        "backtest": version.backtest_id,
        "created_at": version.created_at,
    }
