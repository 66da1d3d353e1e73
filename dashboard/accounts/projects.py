"""Which projects somebody may enter, and which of them a request is about."""

from typing import TYPE_CHECKING
from uuid import UUID

from django.contrib.auth.models import Permission

from dashboard.accounts.models import ApiToken, Membership, User
from dashboard.accounts.roles import Role
from dashboard.accounts.selectors import token_of
from dashboard.agents.current_project import DEFAULT_PROJECT
from dashboard.agents.models import Project
from dashboard.agents.selectors import project_default

if TYPE_CHECKING:
    from django.contrib.sessions.backends.base import SessionBase
    from django.db.models import QuerySet

NO_PROJECT = "You are not a member of any project. Ask an admin of a project to add you."
PROJECT_CLOSED = "This token works in a project that its user may not enter. Create one in another project."
READER = "reader"  #: what a member without a role is called
SESSION_KEY = "project"  #: of the id of the chosen project


def projects_of(user: User) -> list[Project]:
    """By name. A superuser may enter all; all users may enter `default` while it is the only one."""
    every = Project.objects.order_by("name")
    if user.is_superuser:
        return list(every) or [project_default()]
    return list(every.filter(memberships__user=user)) or _sole_project(list(every[:2]))


def _sole_project(found: list[Project]) -> list[Project]:
    match found:
        case []:
            return [project_default()]
        case [Project(name="default")]:
            return found
        case _:
            return []


def is_only_project() -> bool:
    """Whether there is no project beside `default`: then everybody who can sign in may enter it."""
    return not Project.objects.exclude(name=DEFAULT_PROJECT).exists()


def project_of_token(token: ApiToken, projects: list[Project]) -> Project | None:
    """Where a token works; None where its user may not enter that project any more."""
    return _chosen(projects, token.project_id) if token.project_id else _default_among(projects)


def project_of_session(session: "SessionBase", projects: list[Project]) -> Project | None:
    """The one that was chosen, else `default`, else the first by name. A session opened by a token stays in its
    project. None: there is none."""
    if (token := token_of(session)) is not None:
        return project_of_token(token, projects)
    chosen = session.get(SESSION_KEY)
    found = _chosen(projects, UUID(chosen)) if chosen else None
    return found or _default_among(projects) or next(iter(projects), None)


def _chosen(projects: list[Project], project_id: UUID) -> Project | None:
    return next((project for project in projects if project.pk == project_id), None)


def _default_among(projects: list[Project]) -> Project | None:
    return next((project for project in projects if project.name == DEFAULT_PROJECT), None)


def members_of(project: Project) -> "QuerySet[Membership]":
    """Its members, by user name. Superusers may enter every project, and are listed only if they were added."""
    return Membership.objects.filter(project=project).select_related("user").order_by("user__username")


def member_get(member_id: int, *, project: Project) -> Membership:
    """Raises `DoesNotExist` for a member of another project."""
    return Membership.objects.select_related("user", "project").get(pk=member_id, project=project)


def superusers() -> "QuerySet[User]":
    """Active superusers, by name. They may enter every project."""
    return User.objects.filter(is_superuser=True, is_active=True).order_by("username")


def with_roles(projects: list[Project], user: User) -> list[tuple[Project, str]]:
    """Each with the user's role in words: `superuser`, one of `Role`, or `reader` for who has none."""
    if user.is_superuser:
        return [(project, "superuser") for project in projects]
    roles = dict(Membership.objects.filter(user=user, project__in=projects).values_list("project", "role"))
    return [(project, roles.get(project.pk) or READER) for project in projects]


def roles_to_give(user: User) -> list[Role]:
    """Those that give no right which the user does not have in the current project."""
    found: dict[str, set[str]] = {role: set() for role in Role}
    named = Permission.objects.filter(group__name__in=list(Role))
    for role, label, codename in named.values_list("group__name", "content_type__app_label", "codename"):
        found[role].add(f"{label}.{codename}")
    return [Role(role) for role, permissions in found.items() if user.has_perms(permissions)]


def sees_all_projects(user: User) -> bool:
    """Whether a user may see what belongs to no project: all users while there is one project, then superusers."""
    return user.is_superuser or is_only_project()
