"""The page of a run."""

from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.agents.selectors import project_current
from dashboard.timeline.runs.page_context import run_context
from dashboard.turns.models import Turn


@require_safe
def page(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """The calls of a run as one path with branches."""
    try:
        context = run_context(run_id, project=project_current())
    except Turn.DoesNotExist as error:
        raise Http404(f"There is no run {run_id}.") from error
    return render(request, "runs/page.html", context)
