"""Reads: whose secret this is, and who a session belongs to."""

from datetime import datetime
from typing import TYPE_CHECKING

from django.utils import timezone

from dashboard.accounts.credentials import digest_of
from dashboard.accounts.models import ApiToken, ApiTokenQuerySet, User

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser
    from django.contrib.sessions.backends.base import SessionBase

#: The session's key for the token it was opened with: when the token closes, so does the session.
SESSION_TOKEN = "api_token"  # noqa: S105 - a key


def api_token_find(secret: str, *, now: datetime) -> ApiToken | None:
    """The active token with this secret. Looked up by digest, so time tells nothing about the secret."""
    if not secret:
        return None
    return ApiToken.objects.active(now=now).select_related("user").filter(digest=digest_of(secret)).first()


def api_tokens_of(user: User) -> ApiTokenQuerySet:
    """A user's tokens that still work, newest first."""
    return ApiToken.objects.active(now=timezone.now()).filter(user=user)


def session_is_valid(*, user: "User | AnonymousUser", session: "SessionBase") -> bool:
    """Whether this session's user is signed in, and the token it was opened with (if any) still works."""
    if not user.is_authenticated:
        return False
    token_id = session.get(SESSION_TOKEN)
    return token_id is None or ApiToken.objects.active(now=timezone.now()).filter(pk=token_id).exists()
