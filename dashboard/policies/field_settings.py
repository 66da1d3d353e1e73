"""Who set a field of a policy to what it is, when, and why: read from what was activated, in order."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from dashboard.agents.models import Policy, PolicyActivation, PolicyVersion
from dashboard.agents.policies import POLICY_FIELDS
from dashboard.agents.policy_resolution import spoken
from dashboard.policies.field_text import label_of, value_in_words

UNSAID = object()  #: the policy did not speak of the field


@dataclass(frozen=True, slots=True)
class Setting:
    """A field has said `value` since `at`. `before`: what it said until then; `UNSAID` where it did not speak of it."""

    field: str
    value: Any
    before: Any
    at: datetime
    by: str
    why: str
    version: PolicyVersion

    @property
    def way(self) -> str:
        """`lowered`, `raised` or `changed`; `added` where nothing was said before."""
        if self.before is UNSAID:
            return "added"
        if not all(_is_number(value) for value in (self.before, self.value)):
            return "changed"
        return "lowered" if self.value < self.before else "raised"

    @property
    def label(self) -> str:
        return label_of(self.field)

    @property
    def shown(self) -> str:
        return value_in_words(self.field, self.value)

    @property
    def was_words(self) -> str:
        """What it said until then."""
        return "" if self.before is UNSAID else value_in_words(self.field, self.before)

    @property
    def change(self) -> str:
        """`lowered from 5 continuations`, `added`."""
        return "added" if self.before is UNSAID else f"{self.way} from {self.was_words}"

    @property
    def was(self) -> int | float | None:
        """The number a limit was until then; None where there was none."""
        return self.before if self.field.startswith("limits.") and _is_number(self.before) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def said_by_version(version: PolicyVersion) -> dict[str, Any]:
    """The values a version sets, by field."""
    return spoken({name: getattr(version, name) for name in POLICY_FIELDS})


#: What a policy spoke of since when, and by which version, the earliest first.
History = tuple[tuple[datetime, Mapping[str, Setting], UUID], ...]


def history_of(policy: Policy, *, at: datetime) -> History:
    """All that counted until that moment."""
    rows = PolicyActivation.objects.filter(policy=policy, withdrawn_at=None, starts_at__lte=at)
    ordered = rows.select_related("version__policy", "version__created_by", "version__backtest", "created_by").order_by(
        "starts_at", "created_at", "id"
    )
    return tuple(_states(ordered.order_by("starts_at", "created_at", "id")))


def in_force(history: History, at: datetime) -> Mapping[str, Setting]:
    """The settings in force at that moment."""
    index = bisect_right(history, at, key=lambda state: state[0])
    return history[index - 1][1] if index else {}


def set_by(history: History, version_id: UUID, field: str, value: Any, at: datetime) -> Setting | None:
    """Who had set a field as this version says it, where that ran at a moment: it need not have counted any more.

    None where the version says another value than the one that ran, or had not counted until then.
    """
    states = (said for since, said, version in reversed(history) if version == version_id and since <= at)
    setting = next(states, {}).get(field)
    differs = setting is not None and not isinstance(value, list) and setting.value != value
    return None if differs else setting


def ended_at(history: History, setting: Setting) -> datetime | None:
    """When a field was set otherwise again; None where it still says so."""
    later = [state for state in history if state[0] >= setting.at]
    return next((since for since, said, _ in later if said.get(setting.field) is not setting), None)


def _states(activations: Iterable[PolicyActivation]) -> Iterator[tuple[datetime, Mapping[str, Setting], UUID]]:
    current: dict[str, Setting] = {}
    for row in activations:
        after = {}
        for field, value in said_by_version(row.version).items():
            had = current.get(field)
            same = had is not None and had.value == value
            after[field] = had if had and same else _set(row, field, value, UNSAID if had is None else had.value)
        current = after
        yield row.starts_at, current, row.version_id


def _set(row: PolicyActivation, field: str, value: Any, before: Any) -> Setting:
    by = row.created_by or row.version.created_by
    return Setting(
        field=field,
        value=value,
        before=before,
        at=row.starts_at,
        by=by.get_username() if by else "",
        why=row.why or row.version.why,
        version=row.version,
    )
