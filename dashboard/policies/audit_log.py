"""Who did what to policies, when and why, newest first: from rows that the database lets nobody change, and of shadows
what they say of themselves.

Also holds who changed what of agents and connections, newest first: as many queries for a hundred changes as for one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any
from uuid import UUID

from django.db.models import ForeignKey, Model

from agentcore.number_format import number
from agentcore.policy import SETTING_NAMES
from dashboard.agents.models import Policy, PolicyAttachment, PolicyVersion, Project
from dashboard.agents.selectors import activations_of, versions_tried
from dashboard.policies.backtests.result_text import counts_in_words, in_words
from dashboard.policies.overview import diff
from dashboard.policies.selectors import ended_by_activation, shadows_of

LENGTH = 100  #: entries shown
NOBODY = "the system (nobody was signed in)"


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One thing that was done. `what` is a sentence without its subject."""

    at: datetime
    by: str
    what: str
    why: str = ""


def audit_entries(policy: Policy) -> tuple[AuditEntry, ...]:
    """The account of one policy: versions made, activated, scheduled, withdrawn, tried in the shadow; where it was
    attached."""
    entries = [*_versions(policy), *_activations(policy), *_shadows(policy), *_attachments(policy)]
    return tuple(sorted(entries, key=lambda entry: entry.at, reverse=True)[:LENGTH])


def _versions(policy: Policy) -> Iterator[AuditEntry]:
    before: PolicyVersion | None = None
    for version in versions_tried(policy).select_related("created_by").order_by("version"):
        changes = "; ".join(f"{change.label} {change.was} → {change.now}" for change in diff(before, version))
        by = version.created_by.get_username() if version.created_by else ""
        tried = f", with {in_words(version.backtest)}" if version.backtest else ""
        nothing = "no overrides" if before is None else "no changes"
        words = f"created v{version.version}: {changes or nothing}{tried}"
        yield AuditEntry(version.created_at, by, words, version.why)
        before = version


def _activations(policy: Policy) -> Iterator[AuditEntry]:
    for row in activations_of(policy):
        by = row.created_by.get_username() if row.created_by else ""
        later = (row.starts_at - row.created_at).total_seconds() > 1
        word = f"scheduled v{row.version.version} for {row.starts_at:%Y-%m-%d %H:%M} UTC" if later else ""
        yield AuditEntry(
            row.created_at, by, (word or f"activated v{row.version.version}") + _evidence(row.evidence), row.why
        )
        if row.withdrawn_at is not None:
            yield AuditEntry(row.withdrawn_at, row.withdrawn_by, f"cancelled the schedule of v{row.version.version}")


def _shadows(policy: Policy) -> Iterator[AuditEntry]:
    for shadow in shadows_of(policy):
        version = f"v{shadow.version.version}"
        by = shadow.created_by.get_username() if shadow.created_by else ""
        yield AuditEntry(shadow.started_at, by, f"started a shadow run of {version}", shadow.why)
        if shadow.ended_at is not None:
            by = shadow.ended_by.get_username() if shadow.ended_by else ""
            because = f", because {version} was activated" if ended_by_activation(shadow) else ""
            yield AuditEntry(shadow.ended_at, by, f"ended the shadow run of {version}{because}")


def _evidence(evidence: dict[str, Any] | None) -> str:
    return f" after {shadow_in_words(evidence)}" if evidence else ""


def shadow_in_words(evidence: Mapping[str, Any]) -> str:
    """What a shadow had counted when its draft was promoted."""
    judged = evidence.get("judged", 0)
    waiting = evidence.get("waiting", 0)
    late = f"; {waiting:,} more had not been evaluated yet" if waiting else ""
    return f"a shadow run over {judged:,} turn{'' if judged == 1 else 's'} ({counts_in_words(evidence)}{late})"


def _attachments(policy: Policy) -> Iterator[AuditEntry]:
    changed: Any = PolicyAttachment._meta.get_field("changes").related_model
    for row in changed.objects.filter(policy=policy).select_related("connection"):
        place = PolicyAttachment(connection=row.connection, model=row.model, provider=row.provider).place
        word = {
            "made": "attached the policy to",
            "changed": "attached the policy to",
            "deleted": "detached the policy from",
        }[row.pgh_label]
        yield AuditEntry(row.pgh_created_at, who(row), f"{word} {place}", why(row))


def who(row: Any) -> str:
    """Of a change that the database wrote down; empty where it was done here by somebody without a name."""
    return NOBODY if row.pgh_context is None else str(row.pgh_context.get("by") or "")


def why(row: Any) -> str:
    """The reason given with a change, if any was."""
    return str((row.pgh_context or {}).get("why") or "")


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
        f"{SETTING_NAMES.get(field.name, field.name)} {_short(getattr(earlier, field.attname, '?'), names)} → "
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
