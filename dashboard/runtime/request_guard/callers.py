"""Whether a caller has valid credentials, asked before a large body is taken."""

from collections.abc import Iterable

from django.conf import settings
from django.http import parse_cookie
from django.utils import timezone

from dashboard.accounts.credentials import bearer_of
from dashboard.accounts.selectors import api_token_find
from dashboard.accounts.session_watch import Ticket, holder_of


def is_known(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether the token, or else the session, of these headers lets somebody in. Reads the database."""
    told = {name: value.decode("latin-1") for name, value in headers if name in (b"authorization", b"cookie")}
    secret = bearer_of(told.get(b"authorization", ""))
    if secret is not None:
        return api_token_find(secret, now=timezone.now()) is not None
    key = parse_cookie(told.get(b"cookie", "")).get(settings.SESSION_COOKIE_NAME)
    return bool(key) and holder_of(Ticket(session_key=key)) is not None
