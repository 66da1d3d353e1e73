"""The version that a policy's form is filled with; it need not be the active one."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from dashboard.agents.models import Policy, PolicyActivation, PolicyVersion
from dashboard.agents.policy_validation import listed
from dashboard.agents.selectors import activations_of

#: What is said of a version that does not count now.
FATES = {
    "draft": "a draft (inactive)",
    "planned": "which is not active yet",
    "past": "which is no longer active",
}


@dataclass(frozen=True, slots=True)
class FormBase:
    """A form is filled with what `version` says. `fate`: `active`, `planned`, `past` or `draft`."""

    version: PolicyVersion
    fate: str
    active: PolicyVersion | None  #: what counts; None: the policy has only drafts
    planned: tuple[PolicyActivation, ...]  #: what is scheduled, the next first
    offered: tuple[PolicyVersion, ...]  #: others it may well be meant to start from
    newest: int  #: the number of the newest version

    @property
    def counts(self) -> bool:
        """Whether the form starts from what counts."""
        return self.fate == "active"

    @property
    def words(self) -> str:
        """What the form starts from, and what counts."""
        said = f"The fields start from v{self.version.version}"
        if self.counts:
            return f"{said}, which is active."
        now = f"v{self.active.version} is active" if self.active else "no version of this policy is active"
        return f"{said}, {FATES[self.fate]}; {now}."

    @property
    def schedules(self) -> list[str]:
        """What will count whatever is saved now, in sentences."""
        return [f"v{row.version.version} becomes active at {row.starts_at:%Y-%m-%d %H:%M} UTC." for row in self.planned]

    def overtaken(self, newest_seen: int) -> str:
        """That other versions were saved since `newest_seen` was the newest one; empty where none was."""
        others = [f"v{number}" for number in range(newest_seen + 1, self.newest + 1)]
        if not others:
            return ""
        return (
            f"While the form was open, {listed(others)} {'was' if len(others) == 1 else 'were'} saved. What you saved "
            f"starts from v{self.version.version}. Compare the versions before you activate one."
        )


def start_of(policy: Policy, *, asked: int | None = None) -> FormBase | None:
    """Where a form starts: from the version `asked` for, else from the newest draft or from what counts.

    What began to count after a draft was written has overtaken it: the form then starts from what counts, so that
    nobody undoes a rollback unawares. None where the policy has no version yet.
    """
    versions = {version.version: version for version in policy.versions.select_related("policy")}
    if not versions:
        return None
    now, newest = timezone.now(), versions[max(versions)]
    rows = [row for row in activations_of(policy) if row.withdrawn_at is None]
    standing = next((row for row in rows if row.starts_at <= now), None)
    active = standing.version if standing else None
    drafted = all(row.version_id != newest.pk for row in rows)
    usual = newest if standing is None or (drafted and newest.created_at > standing.starts_at) else standing.version
    version = usual if asked is None else versions.get(asked, usual)
    return FormBase(
        version=version,
        fate="active" if version == active else _fate(version, rows, now),
        active=active,
        planned=tuple(row for row in reversed(rows) if row.starts_at > now),
        offered=tuple(other for other in (active, newest if drafted else None) if other not in (None, version)),
        newest=newest.version,
    )


def _fate(version: PolicyVersion, rows: Sequence[PolicyActivation], now: datetime) -> str:
    """Of a version that does not count now."""
    starts = [row.starts_at for row in rows if row.version_id == version.pk]
    if not starts:
        return "draft"
    return "planned" if max(starts) > now else "past"


def asked_version(text: object) -> int | None:
    """The number of a version that an address or a form names; None where it names none."""
    said = str(text or "")
    return int(said) if said.isascii() and said.isdigit() and len(said) < 9 else None
