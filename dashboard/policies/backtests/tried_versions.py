"""Which version of a policy a backtest tried, and whether that version is active by now."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone

from dashboard.agents.models import PolicyActivation, PolicyVersion
from dashboard.agents.policies import POLICY_FIELDS, policy_said
from dashboard.agents.selectors import policy_versions_active
from dashboard.policies.backtests.models import Backtest

#: What pages call the state of a version, by the API's word for it.
STATES = {"draft": "draft, inactive", "active": "active", "planned": "scheduled", "past": "no longer active"}


@dataclass(frozen=True, slots=True)
class TriedVersion:
    """`changed`: other limits were tried in place of some of its own. `saved_after`: the settings were saved as this
    version after the backtest."""

    version: PolicyVersion
    stands: str
    changed: bool
    saved_after: bool

    @property
    def state(self) -> str:
        return STATES[self.stands]

    def as_dict(self) -> dict[str, Any]:
        """As the API returns it."""
        name = self.version.policy.name
        return {"policy": name, "version": self.version.version, "stands": self.stands, "changed": self.changed}


def tried_versions(backtests: Sequence[Backtest]) -> dict[UUID, TriedVersion]:
    """By backtest, with as many queries for many as for one. A backtest of unsaved settings has none."""
    named = {backtest.tried_version for backtest in backtests if backtest.tried_version}
    unnamed = [backtest.pk for backtest in backtests if not backtest.tried_version]
    versions = PolicyVersion.objects.select_related("policy")
    by_id = {version.pk: version for version in versions.filter(pk__in=named)} if named else {}
    saved = {version.backtest_id: version for version in versions.filter(backtest__in=unnamed).order_by("-version")}
    stands = _states([*by_id.values(), *saved.values()], timezone.now())
    found = {}
    for backtest in backtests:
        version = by_id.get(backtest.tried_version) if backtest.tried_version else saved.get(backtest.pk)
        if version is not None:
            changed = _said(version) != {name: value for name, value in backtest.policy.items() if value}
            found[backtest.pk] = TriedVersion(version, stands[version.pk], changed, not backtest.tried_version)
    return found


def _said(version: PolicyVersion) -> dict[str, Any]:
    said = policy_said(**{name: getattr(version, name) for name in POLICY_FIELDS})
    return {name: value for name, value in said.items() if value}


def _states(versions: Iterable[PolicyVersion], now: datetime) -> Mapping[UUID, str]:
    versions = list(versions)
    if not versions:
        return {}
    active = {version.pk for version in policy_versions_active({each.policy_id for each in versions}).values()}
    rows = PolicyActivation.objects.filter(version__in=versions, withdrawn_at=None)
    starts = list(rows.values_list("version_id", "starts_at"))
    planned = {version_id for version_id, at in starts if at > now}
    past = {version_id for version_id, at in starts if at <= now}
    words = [("past", past), ("planned", planned), ("active", active)]
    states = dict.fromkeys((version.pk for version in versions), "draft")
    return states | {version_id: word for word, ids in words for version_id in ids}
