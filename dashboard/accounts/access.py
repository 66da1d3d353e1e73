"""The one table of who is let in where (design §4.2), and in which form a stranger is told."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme

from dashboard.platform.provided import Provided

SIGN_IN = "/sign-in/"
SIGN_OUT = "/sign-out/"
LET_IN = "whystop.let_in"  #: in an ASGI scope: who is told the caller that a request's credentials let in
HOME = "/"
#: Where someone goes first in place of HOME; None: to HOME. `tour` provides it.
first_steps = Provided[Callable[[], str | None]]("the first page of someone who has signed in")
ADMIN = "/admin/"
ADMIN_LOGIN = "/admin/login/"  #: Django's; it leads to ours
_NO_PLACE = frozenset({SIGN_IN.rstrip("/"), SIGN_OUT.rstrip("/"), ADMIN_LOGIN.rstrip("/")})


class AccessForm(StrEnum):
    """How an address answers a caller without valid credentials."""

    OPEN = "open"  #: as anyone else
    SIGN_IN = "sign_in"  #: with its form
    SHARED = "shared"  #: with 404, unless the address itself holds a credential; no other counts there
    PROBLEM = "problem"  #: 401 and problem details
    GATEWAY = "gateway"  #: 401 and an error as the OpenAI API words it
    PAGE = "page"  #: with the sign-in page


#: Addresses by their exact path.
EXACT = {
    "/healthz": AccessForm.OPEN,
    SIGN_IN: AccessForm.SIGN_IN,
    f"{SIGN_IN}code/": AccessForm.SIGN_IN,
    f"{SIGN_IN}oidc/": AccessForm.SIGN_IN,
    f"{SIGN_IN}oidc/return/": AccessForm.SIGN_IN,
}
#: Addresses by prefix: the path itself without the last slash, and all below it. The first that fits counts.
BELOW = (
    ("/static/", AccessForm.OPEN),
    ("/share/", AccessForm.SHARED),
    ("/api/", AccessForm.PROBLEM),
    ("/metrics/", AccessForm.PROBLEM),
    ("/.well-known/", AccessForm.PROBLEM),
    ("/v1/traces/", AccessForm.PROBLEM),
    ("/v1/logs/", AccessForm.PROBLEM),
    ("/v1/", AccessForm.GATEWAY),
    ("/v1beta/", AccessForm.GATEWAY),
)


def access_form_of(path: str) -> AccessForm:
    """The door of a path; what the table does not name, known or not, is a page."""
    if path in EXACT:
        return EXACT[path]
    return next((door for prefix, door in BELOW if f"{path}/".startswith(prefix)), AccessForm.PAGE)


def is_machine(path: str) -> bool:
    """Whether programs, not browsers, ask here: errors are JSON, never a page."""
    return access_form_of(path) in {AccessForm.PROBLEM, AccessForm.GATEWAY}


def notify_admitted(request: HttpRequest, who: str) -> None:
    """Say that the request's credentials have let somebody in: further requests with them count as this caller's."""
    notify_scope(getattr(request, "scope", {}), who)


def notify_scope(scope: Mapping[str, Any], who: str) -> None:
    """As `notify_admitted`, of a websocket's handshake."""
    tell = scope.get(LET_IN)
    if tell is not None:
        tell(who)


def next_url(request: HttpRequest, wanted: str) -> str:
    """Where to go after signing in: `wanted` if it is a page of this very host, else the timeline."""
    own = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    path = urlsplit(wanted).path if own else ""
    # A path without a slash at its beginning is relative to the sign-in page, and to Django the name of a view.
    is_place = path.startswith("/") and path.rstrip("/") not in _NO_PLACE and not path.startswith(SIGN_IN)
    return wanted if is_place else HOME
