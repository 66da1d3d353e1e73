"""The current project of a request (`agents.current_project`). Stands behind `AccessMiddleware`: that says who asks."""

from collections.abc import Callable
from typing import Any

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponseBase
from django.middleware.csrf import rotate_token
from django.utils.deprecation import MiddlewareMixin

from dashboard.accounts import roles
from dashboard.accounts.access import SIGN_OUT, AccessForm, access_form_of
from dashboard.accounts.error_responses import conflict, forbidden
from dashboard.accounts.models import User
from dashboard.accounts.projects import (
    NO_PROJECT,
    PROJECT_CLOSED,
    SESSION_KEY,
    is_only_project,
    project_of_session,
    project_of_token,
    projects_of,
)
from dashboard.accounts.selectors import token_by
from dashboard.agents.current_project import DEFAULT_PROJECT, current
from dashboard.agents.models import Project

OPEN_WITHOUT_PROJECT = (SIGN_OUT, "/account/")
ACROSS = "This shows data of all projects. Since there are several, only superusers may open it."
MOVED = "You are no longer a member of the project in which this page was opened. Nothing was changed. Reload the page."
NOT_A_MEMBER = frozenset({AccessForm.OPEN, AccessForm.SHARED, AccessForm.SIGN_IN})


class ProjectMiddleware(MiddlewareMixin):
    """Sets `request.project`, and `request.projects`: those that the user may enter."""

    def process_request(self, request: HttpRequest) -> HttpResponseBase | None:
        """403 for a user who may enter no project, and for a token whose project its user may not enter."""
        request.project, request.projects = None, []  # type: ignore[attr-defined]
        request.project_before = current.get()  # type: ignore[attr-defined]
        if access_form_of(request.path_info) in NOT_A_MEMBER or not isinstance(request.user, User):
            return None
        projects = projects_of(request.user)
        token = request.auth_token  # type: ignore[attr-defined]
        found = project_of_token(token, projects) if token else project_of_session(request.session, projects)
        if found is not None and token_by(request) is None and self._has_moved(request, found, projects):
            return conflict(request, MOVED)
        if found is None and not request.path_info.startswith(OPEN_WITHOUT_PROJECT):
            return forbidden(request, PROJECT_CLOSED if token else NO_PROJECT)
        stays = found is not None and token_by(request) is not None
        request.project, request.projects = found, [found] if stays else projects  # type: ignore[attr-defined]
        request.user.is_in_project = found is not None
        current.set(found)
        return None

    def _has_moved(self, request: HttpRequest, found: Project, projects: list[Project]) -> bool:
        """Whether this would change something in another project than the session has been in: its user had to leave
        that one, and its pages are still open."""
        before, now = request.session.get(SESSION_KEY), str(found.pk)
        if before == now or (before is None and projects == [found] and found.name == DEFAULT_PROJECT):
            return False
        request.session[SESSION_KEY] = now
        if before is None:
            return False
        rotate_token(request)
        return request.method not in roles.SAFE_METHODS

    def process_view(
        self, request: HttpRequest, _view: Callable[..., Any], _args: Any, _given: Any
    ) -> HttpResponseBase | None:
        """Refuse pages that cover all projects to users who are not superusers."""
        found = request.resolver_match
        if found is None or not roles.shows_all_projects(found.route) or request.user.is_superuser:
            return None
        return None if is_only_project() else forbidden(request, ACROSS)

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """A stream is still to be read; a server reads it in the context of its request, which ends with it."""
        if hasattr(request, "project_before") and not (response.streaming and isinstance(request, ASGIRequest)):
            current.set(request.project_before)
        return response
