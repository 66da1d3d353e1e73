"""Reads: whose secret this is, and who a session belongs to."""

from datetime import datetime
from typing import TYPE_CHECKING

from django.contrib.auth.models import Group, Permission
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from dashboard.accounts.credentials import digest_of
from dashboard.accounts.models import ApiToken, ApiTokenQuerySet, User
from dashboard.agents.current_project import current, is_default_current

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser
    from django.contrib.sessions.backends.base import SessionBase

#: The session's key for the token it was opened with: when the token closes, so does the session.
SESSION_TOKEN = "api_token"  # noqa: S105 - a key
#: The attribute of a session, which lives as long as its request or socket, for the token that was read.
_READ = "_api_token_read"


def api_token_find(secret: str, *, now: datetime) -> ApiToken | None:
    """The active token with this secret. Looked up by digest, so time tells nothing about the secret."""
    if not secret:
        return None
    return ApiToken.objects.active(now=now).select_related("user").filter(digest=digest_of(secret)).first()


def api_token_known(user: User, token_id: int) -> bool:
    """Whether the user has made this token, which may be revoked by now."""
    return ApiToken.objects.filter(user=user, pk=token_id).exists()


def api_tokens_of(user: User) -> ApiTokenQuerySet:
    """A user's tokens that still work, newest first: those of the current project."""
    project = current.get()
    of_none = Q(project=None) if is_default_current() else Q()
    here = Q() if project is None else Q(project=project) | of_none
    return ApiToken.objects.active(now=timezone.now()).filter(here, user=user)


def rights_of(user: User) -> set[int]:
    """The permissions a user has, by id, also while the account is closed. Not those of a superuser, who needs none."""
    given = Q(user=user) | Q(group__user=user)
    return set(Permission.objects.filter(given).values_list("pk", flat=True))


def outranks(user: User, other: User) -> bool:
    """Whether a user has rights that the other has not."""
    if other.is_superuser:
        return False
    return user.is_superuser or not rights_of(user) <= rights_of(other)


def groups_within(user: User, groups: QuerySet[Group]) -> QuerySet[Group]:
    """Those that give no right the user does not have."""
    more = Permission.objects.exclude(pk__in=rights_of(user))
    return groups.exclude(permissions__in=more)


def token_of(session: "SessionBase") -> ApiToken | None:
    """The token that opened this session."""
    token_id = session.get(SESSION_TOKEN)
    if token_id is None:
        return None
    read: ApiToken | None = getattr(session, _READ, None)
    if read is None or read.pk != token_id:
        read = ApiToken.objects.filter(pk=token_id).first()
        setattr(session, _READ, read)
    return read


def token_by(request: HttpRequest) -> ApiToken | None:
    """The token that a request came in by, or that opened its session."""
    token: ApiToken | None = getattr(request, "auth_token", None)
    return token if token is not None else token_of(request.session)


def session_is_valid(*, user: "User | AnonymousUser", session: "SessionBase") -> bool:
    """Whether this session's user is signed in, and the token it was opened with (if any) still works. The user is then
    limited to its scopes."""
    if not user.is_authenticated:
        return False
    token_id = session.get(SESSION_TOKEN)
    if token_id is None:
        return True
    token = ApiToken.objects.active(now=timezone.now()).filter(pk=token_id).first()
    setattr(session, _READ, token)  # a socket asks again and again: this is always read anew
    if token is None:
        return False
    user.scopes = frozenset(token.scopes)
    return True
