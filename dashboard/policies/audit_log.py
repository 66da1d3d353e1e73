"""Who did what to policies, when and why, newest first: from rows that the database lets nobody change, and of shadows
what they say of themselves."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dashboard.agents.models import Policy, PolicyAttachment, PolicyVersion
from dashboard.agents.selectors import activations_of, versions_tried
from dashboard.policies.backtests.result_text import counts_in_words, in_words
from dashboard.policies.diff import diff
from dashboard.policies.selectors import ended_by_activation, shadows_of

LENGTH = 100  #: entries shown
NOBODY = "someone with access to the server"


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
        word = {"made": "attached it to", "changed": "attached it to", "deleted": "detached it from"}[row.pgh_label]
        yield AuditEntry(row.pgh_created_at, who(row), f"{word} {place}", why(row))


def who(row: Any) -> str:
    """Of a change that the database wrote down; empty where it was done here by somebody without a name."""
    return NOBODY if row.pgh_context is None else str(row.pgh_context.get("by") or "")


def why(row: Any) -> str:
    """The reason given with a change, if any was."""
    return str((row.pgh_context or {}).get("why") or "")
