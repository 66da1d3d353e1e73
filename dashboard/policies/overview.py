"""Policies as their pages show them: what counts where, since when, by whom; every version with its fate.

Also holds two versions of policies, field by field.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from dashboard.agents.models import Agent, Policy, PolicyActivation, PolicyAttachment, PolicyVersion, Project
from dashboard.agents.policy_resolution import FIELDS
from dashboard.agents.selectors import activations_of, attachment_list, policy_list, versions_tried
from dashboard.policies.field_settings import UNSAID, said_by_version
from dashboard.policies.field_text import label_of, value_in_words

NOT_SAID = "inherited"


@dataclass(frozen=True, slots=True)
class Change:
    """A field that two versions say otherwise; `UNSAID` where one does not speak of it."""

    field: str
    before: Any
    after: Any

    @property
    def label(self) -> str:
        return label_of(self.field)

    @property
    def key(self) -> str:
        """`max_continuations`"""
        return self.field.partition(".")[2] or self.field

    @property
    def was(self) -> str:
        return self._words(self.before)

    @property
    def now(self) -> str:
        return self._words(self.after)

    @property
    def same(self) -> bool:
        return self.before is self.after or bool(self.before == self.after)

    @property
    def way(self) -> str:
        """`raised`, `lowered`, `added`, `removed` or `changed`; `same` where nothing did."""
        if self.same:
            return "same"
        if UNSAID in (self.before, self.after):
            return "added" if self.before is UNSAID else "removed"
        if any(isinstance(value, bool) or not isinstance(value, int | float) for value in (self.before, self.after)):
            return "changed"
        return "raised" if self.after > self.before else "lowered"

    def _words(self, value: Any) -> str:
        return NOT_SAID if value is UNSAID else value_in_words(self.field, value)


def diff(before: PolicyVersion | None, after: PolicyVersion) -> tuple[Change, ...]:
    """The fields that differ, in the order of `FIELDS`."""
    return tuple(change for change in compared(before, after) if not change.same)


def compared(before: PolicyVersion | None, after: PolicyVersion) -> tuple[Change, ...]:
    """Every field that either speaks of."""
    old = said_by_version(before) if before else {}
    new = said_by_version(after)
    return tuple(
        Change(field, old.get(field, UNSAID), new.get(field, UNSAID))
        for field in FIELDS
        if field in old or field in new
    )


@dataclass(frozen=True, slots=True)
class PolicyStatus:
    """A policy on the list. `active`: since when what counts; None where there are only drafts."""

    policy: Policy
    active: PolicyActivation | None
    planned: tuple[PolicyActivation, ...]
    newest: int
    agents: tuple[Agent, ...]
    attachments: tuple[PolicyAttachment, ...]

    @property
    def drafted(self) -> bool:
        """Whether a version newer than what counts waits."""
        return self.active is None or self.newest > self.active.version.version


@dataclass(frozen=True, slots=True)
class VersionStatus:
    """A version and what became of it: `active`, `planned`, `past` or `draft`. `at`: since, from or until when."""

    version: PolicyVersion
    word: str
    activation: PolicyActivation | None
    at: datetime | None
    changes: tuple[Change, ...]
    before: PolicyVersion | None  #: what it is compared with


def policy_statuses(project: Project, *, now: datetime) -> tuple[PolicyStatus, ...]:
    """Every policy, by name."""
    policies = list(policy_list(project=project).prefetch_related("versions", "activations__version"))
    agents = list(Agent.objects.filter(project=project).exclude(policy=None))
    places = list(attachment_list(project=project))
    return tuple(_standing(policy, agents, places, now) for policy in policies)


def policy_status(policy: Policy, *, now: datetime) -> PolicyStatus:
    """One policy of the list."""
    agents = list(Agent.objects.filter(policy=policy))
    return _standing(policy, agents, list(attachment_list(project=policy.project)), now)


def _standing(
    policy: Policy, agents: Sequence[Agent], places: Sequence[PolicyAttachment], now: datetime
) -> PolicyStatus:
    standing = [row for row in policy.activations.all() if row.withdrawn_at is None]
    return PolicyStatus(
        policy=policy,
        active=_active(standing, now),
        planned=tuple(sorted((row for row in standing if row.starts_at > now), key=lambda row: row.starts_at)),
        newest=max((version.version for version in policy.versions.all()), default=0),
        agents=tuple(agent for agent in agents if agent.policy_id == policy.pk),
        attachments=tuple(place for place in places if place.policy_id == policy.pk),
    )


def _active(rows: Sequence[PolicyActivation], now: datetime) -> PolicyActivation | None:
    started = [row for row in rows if row.starts_at <= now]
    return max(started, key=lambda row: (row.starts_at, row.created_at, row.pk), default=None)


def version_statuses(policy: Policy, *, now: datetime) -> tuple[VersionStatus, ...]:
    """Its versions, the newest first, each with what it changed and whether it counts."""
    versions = list(versions_tried(policy).select_related("created_by").order_by("-version"))
    rows = [row for row in activations_of(policy) if row.withdrawn_at is None]
    active = _active(rows, now)
    by_number = {version.version: version for version in versions}
    return tuple(_fate(version, rows, active, now, by_number.get(version.version - 1)) for version in versions)


def _fate(
    version: PolicyVersion,
    rows: Sequence[PolicyActivation],
    active: PolicyActivation | None,
    now: datetime,
    before: PolicyVersion | None,
) -> VersionStatus:
    own = [row for row in rows if row.version_id == version.pk]
    planned = min((row for row in own if row.starts_at > now), key=lambda row: row.starts_at, default=None)
    changes = diff(before, version)
    if active is not None and active.version_id == version.pk:
        return VersionStatus(version, "active", active, active.starts_at, changes, before)
    if planned is not None:
        return VersionStatus(version, "planned", planned, planned.starts_at, changes, before)
    if own:
        last = max(own, key=lambda row: (row.starts_at, row.created_at, row.pk))
        return VersionStatus(version, "past", last, _until(last, rows), changes, before)
    return VersionStatus(version, "draft", None, None, changes, before)


def _until(last: PolicyActivation, rows: Sequence[PolicyActivation]) -> datetime | None:
    after = [row.starts_at for row in rows if (row.starts_at, row.created_at) > (last.starts_at, last.created_at)]
    return min(after, default=None)


def version_tried(version_id: UUID, *, project: Project) -> PolicyVersion:
    """A version with its backtest, without the turns that names. Raises `PolicyVersion.DoesNotExist`."""
    versions = PolicyVersion.objects.select_related("backtest").defer("backtest__flips", "backtest__flipped_turns")
    return versions.get(pk=version_id, policy__project=project)
