"""An entry for each request that may change something, once it has been answered.

Which those are: every address, asked by a method that is not safe (`accounts.roles.ACTIONS`); also taking turns away as
files, and signing in. Requests that were refused before they reached a page change nothing and
leave no entry. Calls of the gateway and traces do not come by here: each of them is a turn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode, urlsplit
from uuid import UUID

from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone
from django.utils.deprecation import MiddlewareMixin

from dashboard.accounts.access import AccessForm, access_form_of
from dashboard.accounts.audit import services
from dashboard.accounts.models import User
from dashboard.accounts.projects import project_of_session, projects_of
from dashboard.accounts.roles import READ_AUDIT, READING, SAFE_METHODS, shows_all_projects
from dashboard.agents import change_tracking
from dashboard.agents.current_project import current
from dashboard.platform.ids import new_id

NOT_A_MEMBER = frozenset({AccessForm.OPEN, AccessForm.SHARED})
TAKEN_AWAY = frozenset(route for route, permission in READING.items() if permission != READ_AUDIT)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is known before the page is asked. `by`: empty for who is signing in. `done`: which of a route's actions it
    was, where the page said so."""

    id: UUID
    by: str
    began_at: datetime
    done: str = ""


class AuditMiddleware(MiddlewareMixin):
    """Stands behind `accounts.middleware.AccessMiddleware`, which says who asks and refuses who may not."""

    def process_view(self, request: HttpRequest, _view: Callable[..., Any], _args: Any, _given: Any) -> None:
        """Note who asks: whoever signs out is nobody afterwards."""
        route = request.resolver_match.route if request.resolver_match else ""
        if is_recorded(request.method or "", request.path_info, route):
            request.audited = Asked(new_id(), _name(request), timezone.now())  # type: ignore[attr-defined]
            change_tracking.action.set(str(request.audited.id))  # type: ignore[attr-defined]
            change_tracking.done.set([])

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        asked: Asked | None = getattr(request, "audited", None)
        change_tracking.action.set("")
        done, _ = change_tracking.done.get() or [], change_tracking.done.set(None)
        if asked is None or response.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            return response
        by = asked.by or _name(request)
        signing_in = access_form_of(request.path_info) is AccessForm.SIGN_IN
        if by and not (signing_in and asked.by):
            _record(request, response, replace(asked, by=by, done=done[-1] if done else ""))
        return response


def is_recorded(method: str, path: str, route: str) -> bool:
    """Whether a request leaves an entry."""
    door = access_form_of(path)
    if door in NOT_A_MEMBER:
        return False
    return method not in SAFE_METHODS or door is AccessForm.SIGN_IN or route.rstrip("/") in TAKEN_AWAY


def _record(request: HttpRequest, response: HttpResponseBase, asked: Asked) -> None:
    token = getattr(request, "auth_token", None)
    assert request.resolver_match is not None, "an address without a page is not noted"
    services.request_record(
        id=asked.id,
        began_at=asked.began_at,
        by=asked.by,
        via=f"token {token.name}" if token is not None else "session",
        address=request.META.get("REMOTE_ADDR") or "",
        method=request.method or "",
        action=request.resolver_match.route.rstrip("/"),
        target=request.path + (f"?{urlencode({'action': asked.done})}" if asked.done else _chosen(request)),
        status=response.status_code,
        led_to=urlsplit(response.get("Location", "")).path,
        project_id=_project_of(request),
    )


def _chosen(request: HttpRequest) -> str:
    """The action of a list in the admin and the rows that it was done to, as a query: they are in the form alone."""
    match = request.resolver_match
    if match is None or match.app_name != "admin" or ACTION_CHECKBOX_NAME not in request.POST:
        return ""
    rows = "all" if request.POST.get("select_across") == "1" else ",".join(request.POST.getlist(ACTION_CHECKBOX_NAME))
    return f"?{urlencode({'action': request.POST.get('action', ''), 'selected': rows}, safe=',')}"


def _project_of(request: HttpRequest) -> UUID | None:
    """The current project; for who has just signed in, the one they come to. None for what covers all projects."""
    if request.resolver_match is not None and shows_all_projects(request.resolver_match.route):
        return None
    project = getattr(request, "project", None) or current.get()
    if project is None and isinstance(request.user, User):
        project = project_of_session(request.session, projects_of(request.user))
    return project.pk if project is not None else None


def _name(request: HttpRequest) -> str:
    user = getattr(request, "user", None)
    return str(user.get_username()) if user is not None and user.is_authenticated else ""
