"""Who calls. `AccessMiddleware` has let them in, and knows what they may do; nobody else gets this far."""

from typing import TYPE_CHECKING, Any, cast

from django.http import HttpRequest
from ninja.errors import HttpError
from ninja.security.base import AuthBase

from dashboard.accounts.roles import may
from dashboard.accounts.scopes import why_not

if TYPE_CHECKING:
    from dashboard.accounts.models import User


def caller(request: HttpRequest) -> "User":
    return cast("User", request.user)


def require(request: HttpRequest, permission: str) -> None:
    """For what the address alone does not tell. Raises HttpError 403 in words."""
    if not may(caller(request), permission):
        raise HttpError(403, why_not(caller(request), permission))


class Caller(AuthBase):
    """Asks for who the middleware let in, and tells the schema that a bearer token does it."""

    openapi_type = "http"
    openapi_scheme = "bearer"
    csrf = True  #: the docs page, used by session, sends the header a session needs

    def __call__(self, request: HttpRequest) -> Any:
        return request.user if request.user.is_authenticated else None
