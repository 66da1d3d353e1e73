"""Reads of projects' connections, policies and agents. What is not there raises the model's `DoesNotExist`."""

from django.db.models import QuerySet

from dashboard.agents.models import Agent, Connection, Policy, PolicyVersion, Project

DEFAULT_PROJECT = "default"


def project_default() -> Project:
    """The project everything belongs to. The first migration makes it; it is made again should it be missing."""
    return Project.objects.get_or_create(name=DEFAULT_PROJECT)[0]


def connection_list(*, project: Project) -> QuerySet[Connection]:
    return Connection.objects.filter(project=project)


def connection_get(*, project: Project, name: str) -> Connection:
    return Connection.objects.get(project=project, name=name)


def agent_list(*, project: Project) -> QuerySet[Agent]:
    return Agent.objects.filter(project=project).select_related("connection", "policy")


def agent_get(*, project: Project, name: str) -> Agent:
    return agent_list(project=project).get(name=name)


def policy_list(*, project: Project) -> QuerySet[Policy]:
    return Policy.objects.filter(project=project)


def policy_get(*, project: Project, name: str) -> Policy:
    return Policy.objects.get(project=project, name=name)


def policy_version_latest(*, policy: Policy | None) -> PolicyVersion | None:
    """What the policy says now; None where an agent has no policy, or the policy no version."""
    return None if policy is None else policy.versions.order_by("-version").first()


def policy_version_get(*, policy: Policy, version: int | None = None) -> PolicyVersion:
    """The version of this number, or the latest."""
    versions = policy.versions.select_related("policy").order_by("-version")
    return versions.filter(**({} if version is None else {"version": version}))[:1].get()


def policy_version_list(*, project: Project) -> QuerySet[PolicyVersion]:
    """What each policy says now, by its name."""
    versions = PolicyVersion.objects.filter(policy__project=project).select_related("policy")
    return versions.order_by("policy__name", "-version").distinct("policy__name")
