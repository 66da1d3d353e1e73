"""Saved views: kept, named, shared, deleted, opened with."""

from typing import cast
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from dashboard.accounts.models import User
from dashboard.agents.selectors import project_current
from dashboard.timeline.models import SavedView
from dashboard.timeline.saved_views import (
    open_with,
    saved_view_delete,
    saved_view_rename,
    saved_view_save,
    saved_views,
    view_id_of,
)
from dashboard.turns.timeline_page import address_of


def _user(request: HttpRequest) -> User:
    return cast("User", request.user)


def _view_or_404(request: HttpRequest, view_id: UUID) -> SavedView:
    view = saved_views(project=project_current(), user=_user(request)).filter(pk=view_id).first()
    if view is None:
        raise Http404("There is no such view; it may have been deleted.")
    return view


@require_http_methods(["GET", "HEAD", "POST"])
def index(request: HttpRequest) -> HttpResponse:
    """All views the user sees; a POST saves one."""
    if request.method == "POST":
        return _save(request)
    return render(request, "timeline/views.html", _context(request))


def _context(request: HttpRequest) -> dict[str, object]:
    views = saved_views(project=project_current(), user=_user(request))
    return {"views": views, "opening": view_id_of(request)}


def _save(request: HttpRequest) -> HttpResponse:
    """For htmx the menu of views with what came of it; else the timeline, or the page of views with what is wrong."""
    query, by_htmx = request.POST.get("query", ""), bool(request.headers.get("HX-Request"))
    saved, error = _saved(request, query)
    if by_htmx:
        context = {**_context(request), "saved": saved, "error": error, "query": query, "swapped": True}
        response = render(request, "timeline/_views.html", context)
    elif saved:
        messages.success(request, f"The view “{saved}” is saved.")
        response = redirect(address_of(saved.query))
    else:
        messages.error(request, error)
        response = redirect("timeline:views")
    if saved and request.POST.get("opens"):
        open_with(response, saved.pk, secure=request.is_secure())
    return response


def _saved(request: HttpRequest, query: str) -> tuple[SavedView | None, str]:
    """The view, or why there is none."""
    name, shared = request.POST.get("name", ""), bool(request.POST.get("shared"))
    try:
        view = saved_view_save(project=project_current(), owner=_user(request), name=name, query=query, shared=shared)
    except ValidationError as error:
        return None, " ".join(error.messages)
    return view, ""


@require_POST
def rename(request: HttpRequest, view_id: UUID) -> HttpResponse:
    """Another name, shared or not."""
    view, name = _view_or_404(request, view_id), request.POST.get("name", "")
    try:
        saved_view_rename(view=view, by=_user(request), name=name, shared=bool(request.POST.get("shared")))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, f"The view is now called “{view}”{' and shared' if view.shared else ''}.")
    return redirect("timeline:views")


@require_POST
def delete(request: HttpRequest, view_id: UUID) -> HttpResponse:
    """Only the name goes; no turn does."""
    view = _view_or_404(request, view_id)
    try:
        saved_view_delete(view=view, by=_user(request))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, f"The view “{view.name}” is deleted. No turns were deleted.")
    return redirect("timeline:views")


@require_POST
def opens(request: HttpRequest, view_id: UUID) -> HttpResponse:
    """This browser opens the timeline with this view, or no longer does."""
    view = _view_or_404(request, view_id)
    wanted = view.pk if request.POST.get("opens") else None
    messages.success(
        request,
        f"“{view}” is now your default view in this browser." if wanted else "The timeline opens with all turns again.",
    )
    response = redirect("timeline:views")
    open_with(response, wanted, secure=request.is_secure())
    return response
