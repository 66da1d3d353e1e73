"""A timeline's filters under a name: one's own, and those that others share.

Also holds the saved view a browser opens the timeline with: a cookie names it.
"""

from urllib.parse import urlencode
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict

from dashboard.accounts.models import User
from dashboard.agents.models import Project
from dashboard.platform.one_line import ONE_LINE, is_one_line
from dashboard.timeline.models import SavedView
from dashboard.turns.filters import TimelineFilters, unknown_filters

MOST_VIEWS = 200  #: of one user in a project
MAX_NAME_CHARS = 80


def saved_views(*, project: Project, user: User) -> QuerySet[SavedView]:
    """The user's own views and the shared ones of others, by name."""
    seen = Q(owner=user) | Q(shared=True)
    return SavedView.objects.filter(seen, project=project).select_related("owner")


def saved_view_save(*, project: Project, owner: User, name: str, query: str, shared: bool = False) -> SavedView:
    """Keep these filters under this name; one of the same name is the owner's old one and is replaced.

    Raises `ValidationError`, by field and in words.
    """
    kept = {"query": _query_clean(query), "shared": shared}
    view = SavedView(project=project, owner=owner, name=_name_clean(name), **kept)
    view.clean_fields()
    views = SavedView.objects.filter(project=project, owner=owner)
    if not views.filter(name=view.name).exists() and views.count() >= MOST_VIEWS:
        raise ValidationError({"name": f"There are {MOST_VIEWS} views already. Delete one that you do not need."})
    return SavedView.objects.update_or_create(project=project, owner=owner, name=view.name, defaults=kept)[0]


def saved_view_rename(*, view: SavedView, by: User, name: str, shared: bool) -> SavedView:
    """Raises `ValidationError`, in words, where the view is somebody else's or the name is taken or none."""
    if view.owner_id != by.pk:
        raise ValidationError(f"The view “{view.name}” is {view.owner.get_username()}'s; only they can rename it.")
    view.name, view.shared = _name_clean(name), shared
    view.full_clean(validate_constraints=False)
    others = SavedView.objects.filter(project_id=view.project_id, owner=by, name=view.name).exclude(pk=view.pk)
    if others.exists():
        raise ValidationError(f"You have another view “{view.name}” already; choose another name.")
    view.save(update_fields=["name", "shared"])
    return view


def saved_view_delete(*, view: SavedView, by: User) -> None:
    """Raises `ValidationError` where the view is somebody else's."""
    if view.owner_id != by.pk:
        raise ValidationError(f"The view “{view.name}” is {view.owner.get_username()}'s; only they can delete it.")
    view.delete()


def _name_clean(name: str) -> str:
    said = name.strip()
    if not said:
        raise ValidationError({"name": "Name is required."})
    if len(said) > MAX_NAME_CHARS:
        raise ValidationError({"name": f"Name must have at most {MAX_NAME_CHARS} characters; it has {len(said):,}."})
    if "\x00" in said:
        raise ValidationError({"name": "Name must not contain the character U+0000."})
    if not is_one_line(said):
        raise ValidationError({"name": f"Name {ONE_LINE}"})
    return said


def _query_clean(query: str) -> str:
    """The filters of an address, as they are always written."""
    given = QueryDict(query.removeprefix("?"))
    filters, errors = TimelineFilters.parse(given)
    errors = {**unknown_filters(given, beside=("cursor", "limit")), **errors}
    if errors:
        raise ValidationError({"query": list(errors.values())})
    return urlencode(filters.as_dict(), doseq=True)


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
