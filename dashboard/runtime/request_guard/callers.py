"""Whose valid credentials a request has: asked before a large body is taken, an import waits or a process is forked."""

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.http import parse_cookie
from django.utils import timezone

from dashboard.accounts.credentials import bearer_of
from dashboard.accounts.models import ApiToken, User
from dashboard.accounts.selectors import api_token_find
from dashboard.accounts.session_watch import Ticket, holder_of

Headers = Iterable[tuple[bytes, bytes]]  #: of a request, as ASGI has them


def caller_of(headers: Headers) -> tuple[str, Any] | None:
    """Who the token, or else the session, of these headers lets in, as `api.middleware` counts callers; None: nobody.

    Reads the database.
    """
    match _found(headers):
        case ApiToken(pk=number):
            return "token", number
        case User(pk=number):
            return "user", number
    return None


def admitted_as(headers: Headers) -> str | None:
    """The same in the words of `accounts.middleware`; None: nobody, or no database answers."""
    try:
        found = _found(headers)
    except (OperationalError, InterfaceError):  # which the application finds too, and tells
        return None
    match found:
        case ApiToken(user_id=number):
            return f"token of user {number}"
        case User(pk=number):
            return f"session of user {number}"
    return None


def is_known(headers: Headers) -> bool:
    """Whether these headers let somebody in. Reads the database."""
    return _found(headers) is not None


def _found(headers: Headers) -> ApiToken | User | None:
    told = {name: value.decode("latin-1") for name, value in headers if name in (b"authorization", b"cookie")}
    secret = bearer_of(told.get(b"authorization", ""))
    if secret is not None:
        return api_token_find(secret, now=timezone.now())
    key = parse_cookie(told.get(b"cookie", "")).get(settings.SESSION_COOKIE_NAME)
    return holder_of(Ticket(session_key=key)) if key else None
