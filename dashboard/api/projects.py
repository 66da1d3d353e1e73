"""Projects and their members, to read. They are made and changed by who has signed in, at /projects/."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import BaseModel, Field

from dashboard.accounts.projects import members_of, with_roles
from dashboard.agents.selectors import project_current
from dashboard.api.callers import caller
from dashboard.api.list_pages import PagedArray, items_array, rows_array

router = Router(tags=["projects"])


class Project(BaseModel):
    """A project that you may enter."""

    id: UUID
    name: str = Field(examples=["default"])
    role: str = Field(description="Yours: superuser, admin, operator, watcher or reader.", examples=["operator"])
    current: bool = Field(description="Whether this is the project that your token or session works in.")


class Member(BaseModel):
    """Somebody who may enter the current project."""

    username: str = Field(examples=["ada"])
    role: str = Field(description="admin, operator, watcher or reader.", examples=["operator"])
    created_at: datetime = Field(description="When the membership was created.")


@router.get("/projects", response=list[Project], summary="List projects")
def project_list(request: HttpRequest, response: HttpResponse, page: PagedArray) -> list[dict[str, Any]]:
    """Those that you may enter with your token or session. A token works in one project only."""
    user, current = caller(request), project_current()
    entered = request.projects  # type: ignore[attr-defined]
    return [
        {"id": one.pk, "name": one.name, "role": role, "current": one.pk == current.pk}
        for one, role in with_roles(list(items_array(request, response, entered, page)), user)
    ]


@router.get("/projects/members", response=list[Member], summary="List the members of the current project")
def member_list(request: HttpRequest, response: HttpResponse, page: PagedArray) -> list[dict[str, Any]]:
    """Superusers may enter every project and are not listed."""
    return [
        {"username": one.user.get_username(), "role": one.role_label, "created_at": one.created_at}
        for one in rows_array(request, response, members_of(project_current()), page, order="-id")
    ]
