"""Browsers in which somebody has signed in before: while others guess passwords, theirs is checked first.

The cookie opens nothing, and names nobody: it is a signature of the user name, which only this installation can make.
"""

from django.conf import settings
from django.core.signing import Signer
from django.http import HttpResponse
from django.utils.crypto import constant_time_compare

COOKIE = "whystop_device"
PATH = "/sign-in/"
_SECONDS = 400 * 86_400  #: the longest that browsers keep a cookie
_SALT = "dashboard.accounts.known_devices"


def device_remember(response: HttpResponse, account: str) -> None:
    """Have this browser keep that the password of the account was typed in it."""
    response.set_cookie(
        COOKIE,
        _signature(account),
        max_age=_SECONDS,
        path=PATH,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def is_known(cookie: str, account: str) -> bool:
    """Whether it is the cookie of a browser in which this account has signed in."""
    return bool(cookie) and constant_time_compare(cookie, _signature(account))


def _signature(account: str) -> str:
    return Signer(salt=_SALT).signature(account.strip().casefold())
