"""Who changed what of agents and connections, newest first: as many queries for a hundred changes as for one."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any
from uuid import UUID

from django.db.models import ForeignKey, Model

from agentcore.number_format import number
from dashboard.agents.models import Project
from dashboard.policies.audit_log import LENGTH, AuditEntry, who, why

WORDS = {"made": "created", "deleted": "deleted"}  #: by the label of a change
#: Of a change's columns, those that say nothing of what was changed.
APART = ("pgh_id", "pgh_created_at", "pgh_label", "pgh_obj", "pgh_context", "id", "project", "name")
LONGEST = 60  #: characters of a value that are shown

Names = Mapping[UUID, str]


def configuration_trail(project: Project, models: Iterable[type[Model]]) -> tuple[AuditEntry, ...]:
    """What each change made of an agent or a connection; what it names is told by its name."""
    entries = [entry for model in models for entry in _entries(project, model)]
    return tuple(sorted(entries, key=attrgetter("at"), reverse=True)[:LENGTH])


def _entries(project: Project, model: type[Model]) -> Iterator[AuditEntry]:
    changed: Any = model._meta.get_field("changes").related_model
    rows = list(changed.objects.filter(project=project).order_by("-pgh_id")[:LENGTH])
    earlier = _earlier(changed, rows)
    names = _names(changed, [*rows, *earlier.values()])
    for row in rows:
        told = _told(row, earlier.get(row.pgh_id), str(model._meta.verbose_name), names)
        yield AuditEntry(row.pgh_created_at, who(row), told, why(row))


def _earlier(changed: Any, rows: Sequence[Any]) -> dict[int, Any]:
    """By the id of each change the one before it of the same object: among `rows`, the newest first, or before them."""
    if not rows:
        return {}
    before = changed.objects.filter(pgh_obj__in={row.pgh_obj_id for row in rows}, pgh_id__lt=rows[-1].pgh_id)
    last = {row.pgh_obj_id: row for row in before.order_by("pgh_obj_id", "-pgh_id").distinct("pgh_obj_id")}
    found: dict[int, Any] = {}
    for row in reversed(rows):
        if row.pgh_obj_id in last:
            found[row.pgh_id] = last[row.pgh_obj_id]
        last[row.pgh_obj_id] = row
    return found


def _names(changed: Any, rows: Sequence[Any]) -> Names:
    """What the changes refer to, by id: each kind by one query."""
    found: dict[UUID, str] = {}
    for field in _fields(changed):
        if isinstance(field, ForeignKey):
            ids = {getattr(row, field.attname) for row in rows} - {None}
            kind: Any = field.related_model
            found |= dict.fromkeys(ids, f"a {kind._meta.verbose_name} that is gone")
            found |= {pk: str(of) for pk, of in kind._default_manager.in_bulk(ids).items()}
    return found


def _fields(changed: Any) -> list[Any]:
    return [field for field in changed._meta.fields if field.name not in APART]


def _told(row: Any, earlier: Any, kind: str, names: Names) -> str:
    if row.pgh_label != "changed":
        return f"{WORDS[row.pgh_label]} the {kind} {row.name}"
    changes = [
        f"{field.name} {_short(getattr(earlier, field.attname, '?'), names)} → "
        f"{_short(getattr(row, field.attname), names)}"
        for field in _fields(row)
        if earlier is None or getattr(earlier, field.attname) != getattr(row, field.attname)
    ]
    return f"changed the {kind} {row.name}: {'; '.join(changes) or 'its name'}"


def _short(value: Any, names: Names) -> str:
    return _cut(names[value] if isinstance(value, UUID) and value in names else _plain(value))


def _plain(value: Any) -> str:
    if value is None:
        return ""
    return number(value) if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _cut(text: str) -> str:
    return f"{text[: LONGEST - 3]}…" if len(text) > LONGEST else text or "nothing"
