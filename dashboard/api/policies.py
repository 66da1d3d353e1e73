"""Policies: limits, error policy and rules, in versions that never change."""

# ruff: noqa: ARG001 - every view is given its request

from dataclasses import asdict
from typing import Any

from django.http import HttpRequest
from ninja import Router, Status

from agentcore.policy import Limits
from dashboard.agents import selectors, services
from dashboard.agents.models import PolicyVersion
from dashboard.agents.policies import envelope_rules_of, policy_warnings
from dashboard.api import answers, bodies
from dashboard.api.callers import caller
from dashboard.api.named import named

router = Router(tags=["policies"])


@router.post("/policies", response={201: answers.Policy}, summary="Make a policy, or its next version")
def policy_create(request: HttpRequest, body: bodies.Policy) -> Status[dict[str, Any]]:
    """A policy that exists gets its next version; turns keep the version they started with."""
    project = selectors.project_default()
    version = services.policy_create(project=project, created_by=caller(request), **body.given())
    return Status(201, shown(version))


@router.get("/policies", response=list[answers.Policy], summary="List policies")
def policy_list(request: HttpRequest) -> list[dict[str, Any]]:
    """The latest version of each, by name."""
    return [shown(version) for version in selectors.policy_version_list(project=selectors.project_default())]


@router.get("/policies/{name}", response=answers.Policy, summary="Get a policy")
def policy_get(request: HttpRequest, name: str, version: int | None = None) -> dict[str, Any]:
    """By name or id; the latest version, or the one asked for."""
    policy = named(selectors.policy_list(project=selectors.project_default()), name)
    return shown(selectors.policy_version_get(policy=policy, version=version))


def shown(version: PolicyVersion) -> dict[str, Any]:
    return {
        "id": version.policy_id,
        "name": version.policy.name,
        "version": version.version,
        "limits": {**asdict(Limits()), **version.limits},
        "error_policy": version.error_policy or {"preset": "stop_on_any_error"},
        "envelope": {"recovery": list(envelope_rules_of(version.envelope).recovery)},
        "tool_calls_on_truncation": version.tool_calls_on_truncation,
        "finish_reasons": version.finish_reasons,
        "criteria": version.criteria,
        "warnings": policy_warnings(version),
        "created_at": version.created_at,
    }
