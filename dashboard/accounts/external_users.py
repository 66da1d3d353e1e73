"""The users of this installation that an OpenID Connect provider names, and the roles that their groups give them."""

import re
from collections.abc import Iterator, Mapping
from itertools import count

import structlog
from django.contrib.auth.models import Group
from django.db import connection, transaction

from dashboard.accounts.models import BOOTSTRAP, OPERATOR, ExternalIdentity, Membership, User
from dashboard.accounts.openid_connect import Person
from dashboard.accounts.roles import Role
from dashboard.accounts.signals import keys_end
from dashboard.agents.models import Project
from dashboard.agents.selectors import project_default
from dashboard.platform.sign_in_provider import ROLES, SignInProvider

log = structlog.get_logger(__name__)

NO_ROLE = (
    "None of your groups at {name} may sign in here. Ask the administrator of Whystop to add one of them to "
    "WHYSTOP_OIDC_ROLES."
)
CLOSED = "Your account is deactivated. Ask an admin to activate it."
LOCK = 7_305_811_904  #: of PostgreSQL's advisory locks, arbitrary and only ours
_LONGEST = 140  #: characters of a user name, before a number is added
_UNFIT = re.compile(r"[^\w.@+-]+")


class NotAdmitted(Exception):
    """The provider knows this person, and they may not sign in here. The message says why."""


def external_user_for(person: Person, provider: SignInProvider) -> User:
    """The user that this person is; made when they come for the first time. Raises NotAdmitted.

    The role is given once; where `WHYSTOP_OIDC_ROLES` names groups, each sign-in sets it again. One that is refused
    for want of a group ends the roles that groups gave.
    """
    role, others = provider.role_of(person.groups), _roles_in_others(person, provider)
    user = _user_with_roles(person, provider, role, others)
    if user is None:
        raise NotAdmitted(NO_ROLE.format(name=provider.name))
    if not user.is_active:
        raise NotAdmitted(CLOSED)
    return user


@transaction.atomic
def _user_with_roles(
    person: Person, provider: SignInProvider, role: str | None, others: Mapping[Project, str | None]
) -> User | None:
    """None: no role lets this person in, and those that they had have ended."""
    with connection.cursor() as cursor:  # two first sign-ins at once make one user, or two of different names
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
    known = ExternalIdentity.objects.select_related("user").filter(issuer=person.issuer, subject=person.subject).first()
    admitted = role is not None or any(others.values())
    if known is None and not admitted:
        return None
    user = known.user if known is not None else _user_create(person)
    if known is None or provider.manages_roles:
        _role_set(user, Role(role) if role else None)
        _memberships_set(user, others)
    return user if admitted else None


def _roles_in_others(person: Person, provider: SignInProvider) -> dict[Project, str | None]:
    """The role in each project beside `default` that the setting names; None: they are not a member of it.

    A name without a project admits nobody, and is in the log.
    """
    existing = {project.name: project for project in Project.objects.filter(name__in=provider.project_roles)}
    for name in provider.project_roles.keys() - existing.keys():
        log.warning("sign_in_project_unknown", project=name)
    return {project: provider.role_of(person.groups, name) for name, project in existing.items()}


def _memberships_set(user: User, roles: Mapping[Project, str | None]) -> None:
    for project, role in roles.items():
        if role is None:
            _membership_end(user, project)
        else:
            Membership.objects.update_or_create(project=project, user=user, defaults={"role": role})


def _membership_end(user: User, project: Project) -> None:
    """With the user's gateway keys there. Superusers keep theirs: they may still enter."""
    ended, _ = Membership.objects.filter(project=project, user=user).delete()
    if ended and not user.is_superuser:
        keys_end.send(sender=Membership, user=user, project=project, by=None)


def _user_create(person: Person) -> User:
    user = User(username=_free_name(person.name), email=person.email)
    user.set_unusable_password()
    user.save()
    ExternalIdentity.objects.create(user=user, issuer=person.issuer, subject=person.subject)
    return user


def _free_name(wanted: str) -> str:
    """A user name that nobody has: the wanted one, else with a number."""
    name = _UNFIT.sub("-", User.normalize_username(wanted)).strip("-")[:_LONGEST] or "user"
    taken = {*User.objects.filter(username__istartswith=name).values_list("username", flat=True), OPERATOR, BOOTSTRAP}
    lower = {other.casefold() for other in taken}
    return next(found for found in _numbered(name) if found.casefold() not in lower)


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}-{number}" for number in count(2))


def _role_set(user: User, role: Role | None) -> None:
    """In `default`, where the groups are the role; None: they are not a member of it."""
    groups = Group.objects.filter(name__in=ROLES)
    user.groups.remove(*groups.exclude(name=role or ""))
    if role is None:
        _membership_end(user, project_default())
    else:
        user.groups.add(Group.objects.get_or_create(name=role)[0])
    staff = role is Role.ADMIN
    if user.is_staff != staff and not user.is_superuser:
        user.is_staff = staff
        user.save(update_fields=["is_staff"])
