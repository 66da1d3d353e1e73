"""`/projects/`: the projects that one may enter, and the members of the current one.

Also holds what belongs to a project and has a name: what a member of it works with, and where it sends turns.
"""

from collections.abc import Callable, Iterator
from http import HTTPStatus

from django import forms
from django.apps import apps
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.middleware.csrf import rotate_token
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dashboard.accounts import project_services
from dashboard.accounts.access import HOME, next_url
from dashboard.accounts.models import Membership
from dashboard.accounts.projects import (
    SESSION_KEY,
    is_only_project,
    member_get,
    members_of,
    roles_to_give,
    superusers,
    with_roles,
)
from dashboard.accounts.roles import ADMINISTER_KEYS, CHANGE_MEMBERS, MAKE_PROJECT, Role, may
from dashboard.accounts.views import user_of
from dashboard.agents.change_tracking import on_behalf
from dashboard.agents.current_project import DEFAULT_PROJECT
from dashboard.agents.models import Project
from dashboard.agents.selectors import project_current
from dashboard.configuration.project_forms import MemberForm, ProjectForm
from dashboard.configuration.signals import project_created
from dashboard.gateway.selectors import key_counts, keys_left

#: By the names of their models, for the packages of some are above this one. Keys are counted beside their owners, and
#: each user reads their own tokens and views.
LISTED = (
    "agents.Connection", "agents.Agent", "agents.Policy", "tools.McpServer", "gateway.Alias", "webhooks.Webhook",
    "telemetry.Destination", "alerting.Alert",
)  # fmt: skip


def contents_of(project: Project) -> Iterator[tuple[str, list[str]]]:
    """Each kind that the project has something of, in the plural, and the names of what it has, sorted."""
    for label in LISTED:
        model = apps.get_model(label)
        names = model._base_manager.filter(project=project).order_by("name").values_list("name", flat=True)
        if found := list(names):
            yield str(model._meta.verbose_name_plural), found


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def index(request: HttpRequest) -> HttpResponse:
    """The projects that one may enter; a form that was sent makes one, which is then the current project."""
    if request.method != "POST":
        return _index(request, ProjectForm())
    form = ProjectForm(request.POST)

    def create() -> None:
        by = user_of(request)
        with transaction.atomic():
            project = project_services.project_create(by=by, **form.cleaned_data)
            with on_behalf(by):
                project_created.send(sender=Project, project=project)
        _enter(request, project)

    if not _done(form, create):
        return _index(request, form, HTTPStatus.UNPROCESSABLE_ENTITY)
    messages.success(
        request, f"The project “{form.cleaned_data['name']}” was created and opened. Add its members here."
    )
    return redirect("projects:members")


@require_POST
def switch(request: HttpRequest) -> HttpResponse:
    """Switch project."""
    found = next((one for one in request.projects if str(one.pk) == request.POST.get("project")), None)  # type: ignore[attr-defined]
    if found is None:
        raise Http404("There is no such project, or you are not a member of it.")
    _enter(request, found)
    return redirect(next_url(request, request.POST.get("next", HOME)))


@require_POST
def rename(request: HttpRequest) -> HttpResponse:
    """Give the current project another name."""
    form, project = ProjectForm(request.POST), project_current()
    if not _done(
        form, lambda: project_services.project_rename(project=project, by=user_of(request), **form.cleaned_data)
    ):
        return _members(request, rename_form=form, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    messages.success(request, f"The project is now called “{form.cleaned_data['name']}”.")
    return redirect("projects:members")


@never_cache
@require_safe
def members(request: HttpRequest) -> HttpResponse:
    """The members of the current project and their roles."""
    return _members(request)


@require_POST
def member_add(request: HttpRequest) -> HttpResponse:
    """Let a user enter the current project."""
    by, project = user_of(request), project_current()
    form = MemberForm(request.POST, roles=roles_to_give(by))

    def add() -> None:
        username, role = form.cleaned_data["username"], Role(form.cleaned_data["role"])
        project_services.member_add(project=project, username=username, role=role, by=by)

    if not _done(form, add):
        return _members(request, member_form=form, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    messages.success(request, f"{form.cleaned_data['username']} is now a member of “{project}”.")
    return redirect("projects:members")


@require_POST
def member_change(request: HttpRequest, member_id: int) -> HttpResponse:
    """Give a member another role."""
    member, role = _member(member_id), request.POST.get("role", "")
    if role not in list(Role):
        messages.error(request, "Choose one of the roles.")
        return redirect("projects:members")
    return _told(
        request,
        lambda: project_services.member_change(member=member, role=Role(role), by=user_of(request)),
        f"{member.user} is now {role} of “{member.project}”.",
    )


@require_POST
def member_remove(request: HttpRequest, member_id: int) -> HttpResponse:
    """Remove a member."""
    member = _member(member_id)
    return _told(
        request,
        lambda: project_services.member_remove(
            member=member, by=user_of(request), revoke_keys="revoke_keys" in request.POST
        ),
        f"{member.user} is no longer a member of “{member.project}”.",
    )


def _told(request: HttpRequest, act: Callable[[], object], done: str) -> HttpResponse:
    """Back to the members, with what was done or why it was not."""
    try:
        act()
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, done)
    return redirect("projects:members")


def _enter(request: HttpRequest, project: Project) -> None:
    """Forms of pages that were opened in another project are refused from now on: they would act in this one."""
    request.session[SESSION_KEY] = str(project.pk)
    if project != project_current():
        rotate_token(request)


def _member(member_id: int) -> Membership:
    try:
        return member_get(member_id, project=project_current())
    except Membership.DoesNotExist as error:
        raise Http404("There is no such member of this project.") from error


def _done(form: forms.Form, act: Callable[[], object]) -> bool:
    """Whether the form was right, and what it asks for was done; else it says why not."""
    if not form.is_valid():
        return False
    try:
        act()
    except ValidationError as error:
        form.add_error(None, error)
        return False
    return True


def _index(request: HttpRequest, form: ProjectForm, status: int = HTTPStatus.OK) -> HttpResponse:
    user = user_of(request)
    context = {
        "entered": with_roles(request.projects, user),  # type: ignore[attr-defined]
        "form": form,
        "may_create": may(user, MAKE_PROJECT),
    }
    return render(request, "accounts/projects.html", context, status=status)


def _members(
    request: HttpRequest,
    *,
    member_form: MemberForm | None = None,
    rename_form: ProjectForm | None = None,
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    user, project = user_of(request), project_current()
    given, keys = roles_to_give(user), key_counts(project)
    context = {
        "project": project,
        "members": [(member, keys.get(member.user_id, 0)) for member in members_of(project)],
        "superusers": superusers(),
        "contents": list(contents_of(project)),
        "roles": given,
        "may_change": may(user, CHANGE_MEMBERS),
        "may_remove": not is_only_project(),
        "may_revoke": may(user, ADMINISTER_KEYS),
        "left_keys": list(keys_left(project)) if may(user, ADMINISTER_KEYS) else [],
        "may_rename": may(user, MAKE_PROJECT) and project.name != DEFAULT_PROJECT,
        "member_form": member_form or MemberForm(roles=given),
        "rename_form": rename_form or ProjectForm(initial={"name": project.name}),
    }
    return render(request, "accounts/members.html", context, status=status)
