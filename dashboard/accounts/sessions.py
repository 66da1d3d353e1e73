"""Opening a browser's session, and what it remembers between a right password and the code that has to follow."""

import time
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth import login
from django.contrib.sessions.backends.db import SessionStore
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from dashboard.accounts import services, two_factor
from dashboard.accounts.models import ApiToken, User
from dashboard.accounts.selectors import SESSION_TOKEN

SWEEP_SECONDS = 3_600.0  #: between two looks for sessions that have expired
BACKEND = "django.contrib.auth.backends.ModelBackend"
PENDING = "second_factor"  #: the session's key
PENDING_SECONDS = 300  #: that a right password is remembered for
SETUP = "two_factor_setup"  #: the session's key for the secret of an app that is being set up, encrypted


@dataclass(frozen=True, slots=True)
class PendingSignIn:
    """Somebody whose password was right, and where they wanted to go."""

    user: User
    wanted: str


def session_open(
    request: HttpRequest, user: User, token: ApiToken | None = None, *, lasts: timedelta | None = None
) -> None:
    """Sign the browser in. The session ends with the token, if one opened it, and after `lasts`, if given."""
    request.session.flush()  # of a session whose token was revoked, nothing may stay
    login(request, user, backend=BACKEND)
    if lasts is not None:
        request.session.set_expiry(lasts)
    if token:
        request.session[SESSION_TOKEN] = token.pk
        services.api_token_used(token, now=timezone.now())


def sweep() -> None:
    """Erase the sessions that have expired: each sign-in makes one, and a token may sign in any number of times."""
    SessionStore.clear_expired()


def sign_in_pending(request: HttpRequest, user: User, wanted: str) -> None:
    """Remember that this user's password was right. Nobody is signed in by it."""
    request.session.flush()
    if not two_factor.is_on(user):
        request.session[SETUP] = two_factor.new_secret()
    request.session[PENDING] = {
        "user": user.pk,
        "until": time.time() + PENDING_SECONDS,
        "password": user.get_session_auth_hash(),
        "wanted": wanted,
    }


def pending_sign_in(request: HttpRequest) -> PendingSignIn | None:
    """None too where it took too long, or the password or the account was changed meanwhile."""
    told = request.session.get(PENDING)
    if not told or told["until"] < time.time():
        return None
    user = User.objects.filter(pk=told["user"], is_active=True).first()
    if user is None or not constant_time_compare(user.get_session_auth_hash(), told["password"]):
        return None
    return PendingSignIn(user, told["wanted"])
