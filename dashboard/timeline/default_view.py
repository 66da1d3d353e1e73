"""The saved view a browser opens the timeline with: a cookie names it."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse

from dashboard.accounts.models import User
from dashboard.agents.models import Project
from dashboard.timeline.models import SavedView
from dashboard.timeline.saved_views import saved_views

COOKIE = "whystop_view"
LASTING = 400 * 86_400  #: seconds; no browser keeps a cookie longer
#: Where all turns are, for browsers that open with a view.
EVERYTHING = "/?view=all"


def view_id_of(request: HttpRequest) -> UUID | None:
    """The id this browser opens with, whether or not there is such a view."""
    try:
        return UUID(request.COOKIES.get(COOKIE, ""))
    except ValueError:
        return None


def opening_view(*, request: HttpRequest, project: Project, user: User) -> SavedView | None:
    """The view to open with, if it is still one of the user's."""
    view_id = view_id_of(request)
    return saved_views(project=project, user=user).filter(pk=view_id).first() if view_id else None


def open_with(response: HttpResponse, view_id: UUID | None, *, secure: bool) -> None:
    """From now on this browser opens with this view; None: with all turns."""
    if view_id is None:
        response.delete_cookie(COOKIE)
    else:
        kept = {"max_age": LASTING, "httponly": True, "samesite": "Lax", "secure": secure}
        response.set_cookie(COOKIE, str(view_id), **kept)  # type: ignore[arg-type]
