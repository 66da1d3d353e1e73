"""Who set a field of a policy to what it is, when, and why: read from what was activated, in order."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dashboard.agents.models import Policy, PolicyActivation, PolicyVersion
from dashboard.agents.policies import POLICY_FIELDS
from dashboard.agents.resolving import spoken
from dashboard.policies.words import value_in_words

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
    def change(self) -> str:
        """`was 5 continuations`, `was not said`; which way it went, where both are numbers."""
        if self.before is UNSAID:
            return "was not said before"
        both = all(isinstance(v, int | float) and not isinstance(v, bool) for v in (self.before, self.value))
        way = ("lowered" if self.value < self.before else "raised") if both else "changed"
        return f"{way} from {value_in_words(self.field, self.before)}"


def said_by_version(version: PolicyVersion) -> dict[str, Any]:
    """What a version says, by field."""
    return spoken({name: getattr(version, name) for name in POLICY_FIELDS})


def settings_of(policy: Policy, *, at: datetime) -> dict[str, Setting]:
    """Each field the policy spoke of at that moment, with who had set it so."""
    rows = PolicyActivation.objects.filter(policy=policy, withdrawn_at=None, starts_at__lte=at)
    ordered = rows.select_related("version__policy", "version__created_by", "created_by").order_by(
        "starts_at", "created_at", "id"
    )
    return settings_in(ordered)


def settings_in(activations: Iterable[PolicyActivation]) -> dict[str, Setting]:
    """The same of activations that are at hand, the earliest first."""
    current: dict[str, Setting] = {}
    for row in activations:
        said = said_by_version(row.version)
        after = {}
        for field, value in said.items():
            had = current.get(field)
            if had is not None and had.value == value:
                after[field] = had
            else:
                after[field] = _set(row, field, value, UNSAID if had is None else had.value)
        current = after
    return current


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
