"""Reads of projects' connections, policies and agents. What is not there raises the model's `DoesNotExist`."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Max, OuterRef, QuerySet, Subquery
from django.utils import timezone

from dashboard.agents.current_project import DEFAULT_PROJECT, current
from dashboard.agents.models import (
    Agent,
    Connection,
    Policy,
    PolicyActivation,
    PolicyAttachment,
    PolicyVersion,
    Project,
)

INSTANT = timedelta(microseconds=1)  #: the least by which the database tells two moments apart


def project_default() -> Project:
    """The project of what names none. The first migration makes it; it is made again should it be missing."""
    return Project.objects.get_or_create(name=DEFAULT_PROJECT)[0]


def project_current() -> Project:
    """The project in which the request, the socket or the command under way works (`current_project`)."""
    return current.get() or project_default()


def project_get(name: str) -> Project:
    """The project with this name."""
    return Project.objects.get(name=name)


def connection_list(*, project: Project) -> QuerySet[Connection]:
    return Connection.objects.filter(project=project)


def connection_get(*, project: Project, name: str) -> Connection:
    return Connection.objects.get(project=project, name=name)


def agent_list(*, project: Project) -> QuerySet[Agent]:
    return Agent.objects.filter(project=project).select_related("connection", "policy")


def agent_get(*, project: Project, name: str) -> Agent:
    return agent_list(project=project).get(name=name)


def agents_under(*, policy: Policy) -> QuerySet[Agent]:
    """The agents whose own policy this is."""
    return Agent.objects.filter(policy=policy).select_related("connection")


def policy_list(*, project: Project) -> QuerySet[Policy]:
    return Policy.objects.filter(project=project)


def policy_get(*, project: Project, name: str) -> Policy:
    return Policy.objects.get(project=project, name=name)


def policy_by_id(*, project: Project, policy_id: UUID) -> Policy:
    return Policy.objects.get(project=project, pk=policy_id)


def policy_version_by_id(version_id: UUID, *, project: Project) -> PolicyVersion:
    return PolicyVersion.objects.select_related("policy__project").get(pk=version_id, policy__project=project)


def activation_get(activation_id: UUID, *, project: Project) -> PolicyActivation:
    found = PolicyActivation.objects.select_related("version__policy")
    return found.get(pk=activation_id, policy__project=project)


def attachment_get(attachment_id: UUID, *, project: Project) -> PolicyAttachment:
    return PolicyAttachment.objects.select_related("policy", "connection").get(pk=attachment_id, project=project)


def policy_version_active(*, policy: Policy | None, at: datetime | None = None) -> PolicyVersion | None:
    """What the policy says now, or said `at` that moment; None where an agent has no policy, or it has only drafts."""
    return None if policy is None else policy_versions_active([policy.pk], at=at).get(policy.pk)


def policy_versions_active(policies: Iterable[UUID], *, at: datetime | None = None) -> dict[UUID, PolicyVersion]:
    """The same of several policies by their ids, by one query."""
    rows = _begun(at or timezone.now()).filter(policy__in=policies).distinct("policy_id")
    return {row.policy_id: row.version for row in rows.select_related("version__policy")}


def _begun(at: datetime) -> QuerySet[PolicyActivation]:
    """What has begun to count; of each policy the last, which does, first."""
    begun = PolicyActivation.objects.filter(withdrawn_at=None, starts_at__lte=at)
    return begun.order_by("policy_id", "-starts_at", "-created_at", "-id")


def policy_version_before(version: PolicyVersion) -> PolicyVersion | None:
    """The last active version of the policy that is another than this one."""
    row = _begun(timezone.now()).filter(policy=version.policy_id).exclude(version=version).first()
    return row.version if row else None


def start_now(*, policy_id: UUID) -> datetime:
    """The moment from which a version counts that is activated now, later than all that has started.

    Only for who holds the policy's row: else another may start in between.
    """
    now = timezone.now()
    started = PolicyActivation.objects.filter(policy=policy_id, withdrawn_at=None, starts_at__lte=now)
    last = started.aggregate(last=Max("starts_at"))["last"]
    return now if last is None else max(now, last + INSTANT)


def activations_of(policy: Policy) -> QuerySet[PolicyActivation]:
    """All there were and will be, the latest start first."""
    return policy.activations.select_related("version__policy", "created_by")


def models_with_policies(connection: Connection) -> frozenset[str]:
    """The models of a connection to which policies of their own are attached."""
    return frozenset(PolicyAttachment.objects.filter(connection=connection).values_list("model", flat=True))


def attachment_list(*, project: Project) -> QuerySet[PolicyAttachment]:
    """Where policies count beside the agents that name them: the site first, models last."""
    rows = PolicyAttachment.objects.filter(project=project).select_related("policy", "connection")
    return rows.order_by("model", "provider", "connection__name")


def policy_version_standing(*, policy: Policy | None) -> PolicyVersion | None:
    """What the policy says now; of one that has only drafts, the newest of them. None where it has no version."""
    return policy_version_active(policy=policy) or policy_version_latest(policy=policy)


def policy_version_latest(*, policy: Policy | None) -> PolicyVersion | None:
    """The newest version, a draft too; None where an agent has no policy, or the policy no version."""
    return None if policy is None else policy.versions.order_by("-version").first()


def policy_version_get(*, policy: Policy, version: int | None = None) -> PolicyVersion:
    """The version of this number, or the latest."""
    versions = policy.versions.select_related("policy").order_by("-version")
    return versions.filter(**({} if version is None else {"version": version}))[:1].get()


def versions_tried(policy: Policy) -> QuerySet[PolicyVersion]:
    """Its versions with the backtests they carry, those without the turns they name."""
    return policy.versions.select_related("policy", "backtest").defer("backtest__flips", "backtest__flipped_turns")


def policy_version_list(*, project: Project) -> QuerySet[PolicyVersion]:
    """The newest version of each policy, by its name; with `counts`, the number of the one that counts, or None."""
    versions = PolicyVersion.objects.filter(policy__project=project).select_related("policy")
    counts = Subquery(_begun(timezone.now()).filter(policy=OuterRef("policy")).values("version__version")[:1])
    return versions.annotate(counts=counts).order_by("policy__name", "-version").distinct("policy__name")


def model_to_test(*, connection: Connection) -> str:
    """The model that a connection was last tested with, or that of its first agent; empty where there is none."""
    if connection.found is not None:
        return connection.found.model
    agent = None if connection._state.adding else Agent.objects.filter(connection=connection).first()
    return agent.model if agent else ""
