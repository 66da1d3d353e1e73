"""A link to a turn, or a run, in another project of its reader: the page that is not found offers to open it there."""

from http import HTTPStatus
from uuid import UUID

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.deprecation import MiddlewareMixin

from dashboard.accounts.access import is_machine
from dashboard.agents.models import Project
from dashboard.turns.models import Turn


class OtherProjectMiddleware(MiddlewareMixin):
    """Stands behind `ProjectMiddleware`, which says what projects the reader may enter."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        answer = _page(request) if response.status_code == HTTPStatus.NOT_FOUND else None
        return answer or response


def _page(request: HttpRequest) -> HttpResponse | None:
    found, projects = request.resolver_match, getattr(request, "projects", [])
    turn_id = found.kwargs.get("turn_id") or found.kwargs.get("run_id") if found else None
    if turn_id is None or len(projects) < 2 or request.method != "GET" or is_machine(request.path_info):
        return None
    project = _project_of(turn_id, projects)
    if project is None:
        return None
    context = {"project": project, "wanted": request.get_full_path()}
    return render(request, "accounts/elsewhere.html", context, status=HTTPStatus.NOT_FOUND)


def _project_of(turn_id: UUID, projects: list[Project]) -> Project | None:
    """Which of these projects the turn belongs to, if any."""
    found = Turn.objects.filter(pk=turn_id, project__in=projects).values_list("project_id", flat=True).first()
    return next((project for project in projects if project.pk == found), None)
