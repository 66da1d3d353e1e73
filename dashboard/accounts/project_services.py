"""Writes: projects and their members. Each raises `ValidationError` with sentences by field."""

from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.db import transaction

from dashboard.accounts.models import Membership, User
from dashboard.accounts.projects import is_only_project, roles_to_give
from dashboard.accounts.roles import Role
from dashboard.accounts.signals import keys_end
from dashboard.agents.change_tracking import on_behalf
from dashboard.agents.current_project import DEFAULT_PROJECT
from dashboard.agents.models import Project
from dashboard.agents.selectors import project_default

KEEPS_ITS_NAME = "The project “default” cannot be renamed: programs and settings without a project name use it."
TAKEN = "There is a project “{name}” already."
NOBODY = "There is no active user “{name}”."
MORE = "This role has permissions that you do not have. Ask a superuser to assign it."
MORE_THAN_YOURS = "{name} has permissions that you do not have. Ask a superuser to change this member."
SOLE = "Everyone who can sign in may enter “default” while it is the only project. Deactivate the user instead."
THERE = "{name} is a member already. Change the role in the list."


@transaction.atomic
def project_create(*, name: str, by: User) -> Project:
    """With the first one beside `default`, all existing users become members of `default` with the roles they have."""
    if is_only_project():
        _add_all_users(project_default())
    with on_behalf(by):
        return _saved(Project(name=name))


def project_rename(*, project: Project, name: str, by: User) -> None:
    """Only by superusers: WHYSTOP_OIDC_ROLES and `--project` refer to a project by its name. `default` keeps its."""
    if project.name == DEFAULT_PROJECT:
        raise ValidationError({"name": KEEPS_ITS_NAME})
    renamed = Project.objects.get(pk=project.pk)
    renamed.name = name
    with on_behalf(by):
        _saved(renamed)


def member_add(*, project: Project, username: str, role: Role, by: User) -> Membership:
    """A user of this installation becomes a member."""
    user = User.objects.filter(username=username, is_active=True).first()
    if user is None:
        raise ValidationError({"username": NOBODY.format(name=username)})
    if Membership.objects.filter(project=project, user=user).exists():
        raise ValidationError({"username": THERE.format(name=username)})
    return _role_set(project, user, role, by)


def member_change(*, member: Membership, role: Role, by: User) -> Membership:
    """Another role in the same project."""
    _check_within_rights(member, by)
    return _role_set(member.project, member.user, role, by)


@transaction.atomic
def member_remove(*, member: Membership, by: User, revoke_keys: bool = False) -> None:
    """End a membership; the user's pages, tokens and open sockets in the project end with it.

    Their gateway keys stay valid unless `revoke_keys` is set, which revokes those that `by` may revoke.
    """
    if is_only_project():
        raise ValidationError({"project": SOLE})
    _check_within_rights(member, by)
    with on_behalf(by):
        if member.project.name == DEFAULT_PROJECT:
            member.user.groups.remove(*Group.objects.filter(name__in=list(Role)))
        if revoke_keys:
            keys_end.send(sender=Membership, user=member.user, project=member.project, by=by)
        Membership.objects.filter(pk=member.pk).delete()


@transaction.atomic
def _role_set(project: Project, user: User, role: Role, by: User) -> Membership:
    if role not in roles_to_give(by):
        raise ValidationError({"role": MORE})
    with on_behalf(by):
        if project.name == DEFAULT_PROJECT:
            user.groups.remove(*Group.objects.filter(name__in=set(Role) - {role}))
            user.groups.add(Group.objects.get(name=role))
        # The trigger writes it for `default` too, but not where the user was in the group already.
        return Membership.objects.update_or_create(project=project, user=user, defaults={"role": role})[0]


def _check_within_rights(member: Membership, by: User) -> None:
    """Nobody changes or removes a member whose role they could not give."""
    if member.role and member.role not in roles_to_give(by):
        raise ValidationError({"role": MORE_THAN_YOURS.format(name=member.user)})


def _saved(project: Project) -> Project:
    if Project.objects.filter(name=project.name).exclude(pk=project.pk).exists():
        raise ValidationError({"name": TAKEN.format(name=project.name)})
    project.full_clean()
    project.save()
    return project


def _add_all_users(project: Project) -> None:
    """All but superusers, and those whose membership somebody ended."""
    changes = Membership._meta.get_field("changes").related_model._default_manager
    removed = changes.filter(project=project, pgh_label="deleted").values("user_id")
    missing = User.objects.filter(is_superuser=False).exclude(memberships__project=project).exclude(pk__in=removed)
    Membership.objects.bulk_create([Membership(project=project, user=user) for user in missing], ignore_conflicts=True)
