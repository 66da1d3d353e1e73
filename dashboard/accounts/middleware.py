"""The door of every address: strangers are answered here, before anything looks at what they ask for."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.middleware.csrf import CsrfViewMiddleware
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.deprecation import MiddlewareMixin

from dashboard.accounts import error_responses, roles, scopes, services
from dashboard.accounts.access import (
    ADMIN,
    ADMIN_LOGIN,
    SIGN_IN,
    AccessForm,
    access_form_of,
    is_machine,
    next_url,
    notify_admitted,
)
from dashboard.accounts.credentials import bearer_of
from dashboard.accounts.forms import SignInForm
from dashboard.accounts.selectors import SESSION_TOKEN, api_token_find, session_is_valid

if TYPE_CHECKING:
    from dashboard.accounts.models import ApiToken, User

#: What a program is told where Django would have shown it a page.
WORDS = {
    400: "The request cannot be read.",
    403: "You do not have permission to do this.",
    404: "There is nothing at this address. /api/v1/docs lists all addresses.",
}
WRONG_METHOD = "This address does not accept {method} requests, only {allowed}."
ONLY_FORMS = "This address accepts form submissions only. Go back and use the form."
BROKEN = "An internal error occurred. The server log has the details."


class AccessMiddleware(MiddlewareMixin):
    """Lets in who has a valid token or session. Stands after the session, CSRF and authentication middleware.

    Sets `request.auth_token` (the ApiToken or None), and `request.user` to the token's. A bearer token needs no CSRF
    token, for no browser sends one by itself; a session always does, at the API too. A wrong token is refused even
    where a session would have been enough.
    """

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        """The answer to a stranger, or None: come in."""
        door = access_form_of(request.path_info)
        request.auth_token = None  # type: ignore[attr-defined]
        if door in {AccessForm.OPEN, AccessForm.SHARED}:
            return None
        secret = bearer_of(request.headers.get("Authorization", ""))
        if secret is not None:
            return self._by_token(request, door, secret)
        if session_is_valid(user=request.user, session=request.session):
            _tell(request, "session")
            return _forged(request, door)
        return None if door is AccessForm.SIGN_IN else _refuse(request, door, error_responses.STRANGER)

    def process_view(
        self, request: HttpRequest, _view: Callable[..., Any], _args: Any, _given: Any
    ) -> HttpResponse | None:
        """403, in words, for who came in and may not do this."""
        if (
            access_form_of(request.path_info) in {AccessForm.OPEN, AccessForm.SHARED, AccessForm.SIGN_IN}
            or request.resolver_match is None
        ):
            return None
        method, route = request.method, request.resolver_match.route
        if request.auth_token is not None and roles.needs_session(method, route):  # type: ignore[attr-defined]
            return error_responses.forbidden(request, roles.NO_TOKEN)
        if roles.outlives(method, route) and SESSION_TOKEN in request.session:
            return error_responses.forbidden(request, roles.NO_TOKEN_SESSION)
        scope, permission = scopes.scope_needed(method, route), roles.needed(method, route)
        if scope is not None and scopes.lacks(request.user, scope):
            return error_responses.forbidden(request, scopes.refusal(scope))
        if permission is None or roles.may(request.user, permission):
            return None
        return error_responses.forbidden(request, roles.refusal(permission))

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Programs get JSON where a view, or Django itself, made an error page; browsers a page where it is empty."""
        if response.status_code == HTTPStatus.METHOD_NOT_ALLOWED and not is_machine(request.path_info):
            return _wrong_method(request, response)
        is_page = response.get("Content-Type", "").startswith("text/html")
        if response.status_code < HTTPStatus.BAD_REQUEST or not is_page or not is_machine(request.path_info):
            return response
        detail = WORDS.get(response.status_code, BROKEN)
        if response.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            detail = WRONG_METHOD.format(method=request.method, allowed=response["Allow"])
        error = error_responses.machine_error(request, response.status_code, detail)
        if response.has_header("Allow"):
            error["Allow"] = response["Allow"]
        return error

    def _by_token(self, request: HttpRequest, door: AccessForm, secret: str) -> HttpResponse | None:
        now = timezone.now()
        token = api_token_find(secret, now=now)
        if token is None:
            return _refuse(request, door, error_responses.WRONG_TOKEN)
        services.api_token_used(token, now=now)
        _admit(request, token)
        _tell(request, "token")
        return None


def _tell(request: HttpRequest, kind: str) -> None:
    """A program's requests and a browser's of the same user do not wait for each other."""
    notify_admitted(request, f"{kind} of user {request.user.pk}")


def _wrong_method(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """In words: an address that only a form sends to is opened where somebody goes back, or signs in again."""
    if not isinstance(response, HttpResponse) or response.content or request.method == "HEAD":
        return response
    allowed = response["Allow"]
    is_opened = request.method == "GET" and "POST" in allowed
    detail = ONLY_FORMS if is_opened else WRONG_METHOD.format(method=request.method, allowed=allowed)
    context = {"status": response.status_code, "title": "Method not allowed", "detail": detail}
    page = render(request, "refused.html", context, status=response.status_code)
    page["Allow"] = allowed
    return page


def _admit(request: HttpRequest, token: ApiToken) -> None:
    user = token.holder

    async def auser() -> User:
        return user

    request.auth_token = token  # type: ignore[attr-defined]
    request.user = user
    request.auser = auser
    request._dont_enforce_csrf_checks = True  # type: ignore[attr-defined]


def _forged(request: HttpRequest, door: AccessForm) -> HttpResponse | None:
    """403 for a program's address asked by session without a CSRF token; API views are exempt from Django's check."""
    if door not in {AccessForm.PROBLEM, AccessForm.GATEWAY}:
        return None
    reason = _CsrfReason(lambda _: HttpResponse()).process_view(request, _unexempt, (), {})
    if reason is None:
        return None
    detail = "A session needs the X-CSRFToken header here; a bearer token does not."
    return error_responses.machine_error(request, HTTPStatus.FORBIDDEN, detail)


class _CsrfReason(CsrfViewMiddleware):
    """Django's check, without the page it would show."""

    def _reject(self, request: HttpRequest, reason: str) -> HttpResponse:  # noqa: ARG002 - Django's signature
        return HttpResponse(reason, status=HTTPStatus.FORBIDDEN)


def _unexempt(_: HttpRequest) -> HttpResponse:
    return HttpResponse()


def _refuse(request: HttpRequest, door: AccessForm, detail: str) -> HttpResponse:
    if door in {AccessForm.PROBLEM, AccessForm.GATEWAY}:
        return error_responses.unauthorized(request, detail)
    if request.headers.get("HX-Request"):
        page = urlsplit(request.headers.get("HX-Current-URL", ""))
        wanted = f"{page.path}?{page.query}" if page.query else page.path
        headers = {"HX-Redirect": _sign_in_url(wanted), "Cache-Control": "no-store"}
        return HttpResponse(status=HTTPStatus.UNAUTHORIZED, headers=headers)
    if request.method in {"GET", "HEAD"} and detail == error_responses.STRANGER:
        response: HttpResponse = redirect(_sign_in_url(_wanted(request)))
    else:
        context = {
            "form": SignInForm(initial={"username": services.OPERATOR}),
            "problem": None if detail == error_responses.STRANGER else detail,
            "provider": settings.SIGN_IN_PROVIDER,
        }
        response = render(request, "accounts/sign_in.html", context, status=HTTPStatus.UNAUTHORIZED)
    response["Cache-Control"] = "no-store"
    return response


def _wanted(request: HttpRequest) -> str:
    """Where a stranger would go; from the admin's own sign-in page on to where that leads."""
    if request.path_info == ADMIN_LOGIN:
        return next_url(request, request.GET.get("next") or ADMIN)
    return request.get_full_path()


def _sign_in_url(wanted: str) -> str:
    return f"{SIGN_IN}?{urlencode({'next': wanted})}" if wanted not in {"", "/"} else SIGN_IN
