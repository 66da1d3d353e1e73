"""Reads: keys by their owner and their project, and what aliases stand for."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Case, Count, Exists, OuterRef, Q, QuerySet, Value, When
from django.utils import timezone

from dashboard.accounts.models import Membership, User
from dashboard.accounts.projects import is_only_project
from dashboard.accounts.roles import ADMINISTER_KEYS, may
from dashboard.agents.models import Project
from dashboard.gateway.models import Alias, GatewayKey, GatewayKeyQuerySet


def aliases_of(project: Project) -> QuerySet[Alias]:
    """With what they stand for, by name."""
    return Alias.objects.filter(project=project).select_related("agent", "connection").order_by("name")


def keys_of(user: User) -> GatewayKeyQuerySet:
    """The keys that a user created, in all projects, but for revoked ones."""
    return GatewayKey.objects.standing().filter(created_by=user)


def key_counts(project: Project) -> dict[int, int]:
    """How many keys of a project each user created, by the user's id, not counting revoked ones."""
    found = GatewayKey.objects.standing().filter(project=project, created_by__isnull=False).order_by()
    return dict(found.values_list("created_by").annotate(Count("pk")))


def keys_left(project: Project | None = None) -> GatewayKeyQuerySet:
    """The valid keys, of one project or of all, whose creator has left, by name. `creator_left` says how: the account
    is gone or deactivated, or no longer a member of the key's project. Superusers may enter every project, and so may
    everybody while there is only one."""
    keys = GatewayKey.objects.active(now=timezone.now()).select_related("created_by", "project")
    keys = keys if project is None else keys.filter(project=project)
    told = keys.annotate(creator_left=_creator_left())  # type: ignore[no-redef] # which the model declares
    return told.exclude(creator_left="").order_by("name", "pk")  # type: ignore[misc] # so the plugin knows no such field


def _creator_left() -> Case:
    member = Membership.objects.filter(user=OuterRef("created_by"), project=OuterRef("project"))
    enters = Q(created_by__is_superuser=True) | Q(Exists(member))
    return Case(
        When(created_by=None, then=Value("account deleted")),
        When(created_by__is_active=False, then=Value("account deactivated")),
        *([] if is_only_project() else [When(~enters, then=Value("no longer a member"))]),
        default=Value(""),
    )


def key_known(key_id: UUID, user: User, *, project: Project) -> bool:
    """Whether there is such a key that the user may revoke, or could before it was revoked."""
    keys = GatewayKey.objects.filter(project=project, pk=key_id)
    return (keys if may(user, ADMINISTER_KEYS) else keys.filter(created_by=user)).exists()


def keys_seen_by(user: User, *, project: Project) -> GatewayKeyQuerySet:
    """The keys a user may look at and revoke: their own, or all where they look after keys. Revoked ones are gone, and
    those whose token was revoked."""
    keys = (
        GatewayKey.objects.standing()
        .filter(project=project)
        .select_related("created_by", "parent", "default_connection")
    )
    return keys if may(user, ADMINISTER_KEYS) else keys.filter(created_by=user)
