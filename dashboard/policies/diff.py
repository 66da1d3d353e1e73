"""Two versions of policies, field by field."""

from dataclasses import dataclass
from typing import Any

from dashboard.agents.models import PolicyVersion
from dashboard.agents.policy_resolution import FIELDS
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
