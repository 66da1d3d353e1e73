"""Whose valid credentials a request has, asked before a large body is taken, and before a process is forked."""

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.http import parse_cookie
from django.utils import timezone

from dashboard.accounts.credentials import bearer_of
from dashboard.accounts.selectors import api_token_find
from dashboard.accounts.session_watch import Ticket, holder_of


def caller_of(headers: Iterable[tuple[bytes, bytes]]) -> tuple[str, Any] | None:
    """Who the token, or else the session, of these headers lets in, as `api.middleware` counts callers; None: nobody.

    Reads the database.
    """
    told = {name: value.decode("latin-1") for name, value in headers if name in (b"authorization", b"cookie")}
    secret = bearer_of(told.get(b"authorization", ""))
    if secret is not None:
        token = api_token_find(secret, now=timezone.now())
        return None if token is None else ("token", token.pk)
    key = parse_cookie(told.get(b"cookie", "")).get(settings.SESSION_COOKIE_NAME)
    user = holder_of(Ticket(session_key=key)) if key else None
    return None if user is None else ("user", user.pk)


def is_known(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether these headers let somebody in. Reads the database."""
    return caller_of(headers) is not None
