"""Who calls, and what they may do. `AccessMiddleware` has let them in; nobody else gets this far."""

from typing import TYPE_CHECKING, Any, cast

from django.http import HttpRequest
from ninja.errors import HttpError
from ninja.security.base import AuthBase

if TYPE_CHECKING:
    from dashboard.accounts.models import User

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def may_write(request: HttpRequest) -> bool:
    """Whether the caller may start, change or stop anything: by a token, or signed in as a superuser."""
    return getattr(request, "auth_token", None) is not None or caller(request).is_superuser


def caller(request: HttpRequest) -> "User":
    return cast("User", request.user)


class Caller(AuthBase):
    """Asks for who the middleware let in, and tells the schema that a bearer token does it."""

    openapi_type = "http"
    openapi_scheme = "bearer"
    csrf = True  #: the docs page, used by session, sends the header a session needs

    def __call__(self, request: HttpRequest) -> Any:
        if not request.user.is_authenticated:
            return None
        if request.method not in SAFE_METHODS and not may_write(request):
            raise HttpError(403, "You may read, but not start, change or stop anything; ask a superuser for a token.")
        return request.user
