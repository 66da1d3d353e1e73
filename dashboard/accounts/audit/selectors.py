"""Reads of the audit log."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

from django.apps import apps
from django.db.models import Model, Q, QuerySet

from dashboard.accounts.audit.models import Entry
from dashboard.agents.models import Project

BATCH = 500  #: entries that an export reads at a time


@dataclass(frozen=True, slots=True)
class Filters:
    """Which entries; empty and None let all through."""

    by: str = ""
    action: str = ""  #: a part of it
    target: str = ""  #: a part of it
    control: str = ""  #: an operator's action on a turn, of `action_words.CONTROL_WORDS`
    since: datetime | None = None
    until: datetime | None = None
    before: UUID | None = None  #: only those older than this entry, for the next page


@dataclass(frozen=True, slots=True)
class Changed:
    """A row of changes that the database wrote in the course of an action: its table, its id, and what was changed.

    The state before is the row of the same object with the next lower id in the same table.
    """

    table: str
    id: int
    object_id: str
    how: str  #: `made`, `changed` or `deleted`


def entries(filters: Filters, *, project: Project, of_none: bool = False) -> QuerySet[Entry]:
    """Those of a project, the newest first. `of_none`: also those that belong to no project."""
    found = Entry.objects.filter(Q(project_id=project.pk) | (Q(project_id=None) if of_none else Q()))
    given = {
        "by": filters.by,
        "action__icontains": filters.action,
        "target__icontains": filters.target,
        "target__endswith": f"/control?action={filters.control}" if filters.control else "",
        "at__gte": filters.since,
        "at__lt": filters.until,
        "id__lt": filters.before,
    }
    return found.filter(**{name: value for name, value in given.items() if value})


def with_changes(shown: Sequence[Entry]) -> list[tuple[Entry, list[Changed]]]:
    """Each entry with the changes of the configuration that were made in its course."""
    made = defaultdict[str, list[Changed]](list)
    for table in _tables():
        for action, change in _changes(table, [str(one.id) for one in shown]):
            made[action].append(change)
    return [(one, made[str(one.id)]) for one in shown]


def exported(filters: Filters, *, project: Project, of_none: bool = False) -> Iterator[list[dict[str, Any]]]:
    """All entries that the filters let through, the oldest first, as values of JSON, some at a time."""
    left = entries(filters, project=project, of_none=of_none).order_by("id")
    while found := list(left[:BATCH]):
        yield [_as_json(one, changes) for one, changes in with_changes(found)]
        left = left.filter(id__gt=found[-1].id)


def _as_json(one: Entry, changes: Sequence[Changed]) -> dict[str, Any]:
    told = {field.name: getattr(one, field.name) for field in Entry._meta.fields}
    times: dict[str, str | None] = {"began_at": one.began_at.isoformat(), "at": one.at.isoformat(), "id": str(one.id)}
    times["project_id"] = str(one.project_id) if one.project_id else None
    references = [{"table": c.table, "id": c.id, "object": c.object_id, "how": c.how} for c in changes]
    return {**told, **times, "changes": references}


@cache
def _tables() -> tuple[type[Model], ...]:
    """The models of changes that django-pghistory keeps (`agents.change_tracking`)."""
    return tuple(model for model in apps.get_models() if hasattr(model, "pgh_tracked_model"))


def _changes(table: type[Model], actions: Sequence[str]) -> Iterator[tuple[str, Changed]]:
    rows = table._default_manager.filter(pgh_context__action__in=actions).order_by("pgh_id")
    for number, how, object_id, context in rows.values_list("pgh_id", "pgh_label", "pgh_obj_id", "pgh_context"):
        yield context["action"], Changed(table._meta.db_table, number, str(object_id), how)
