"""The inbox, and closing its notices."""

from typing import cast
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from dashboard.accounts.models import User
from dashboard.agents.selectors import project_current
from dashboard.inbox.models import Notice
from dashboard.inbox.selectors import inbox_of, notice_get, notices_seen
from dashboard.inbox.services import notices_see


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """What needs a person; its socket keeps it up to date."""
    project = project_current()
    return render(request, "inbox/page.html", {"inbox": inbox_of(project), "seen": notices_seen(project)})


@require_POST
def see(request: HttpRequest, notice_id: UUID) -> HttpResponse:
    """Close a notice; with `open`, go to what it is about."""
    project = project_current()
    try:
        notice = notice_get(project, notice_id)
    except Notice.DoesNotExist as error:
        raise Http404(f"There is no notice {notice_id}.") from error
    notices_see(project=project, ids=[notice.id], by=cast("User", request.user).get_username())
    if request.headers.get("HX-Request"):
        return HttpResponse(status=204, headers={"HX-Redirect": notice.leads_to} if "open" in request.POST else {})
    return redirect(notice.leads_to) if "open" in request.POST else redirect("inbox:page")
