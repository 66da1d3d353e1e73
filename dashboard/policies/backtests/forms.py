"""What is tried: what a policy says now, or the defaults, with some limits in their place. And on which turns."""

from collections.abc import Mapping
from datetime import timedelta
from functools import cached_property
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone

from agentcore.policy import LIMIT_NAMES, Limits
from agentcore.reasons import TurnStatus
from dashboard.agents.limit_fields import LIMIT_FIELDS
from dashboard.agents.models import Policy, PolicyVersion, Project
from dashboard.agents.policies import POLICY_FIELDS
from dashboard.agents.selectors import (
    policy_get,
    policy_list,
    policy_version_get,
    policy_version_list,
    policy_version_standing,
    policy_versions_active,
)
from dashboard.platform.form_errors import FieldErrors
from dashboard.policies.backtests.selectors import TurnScope, turns_where, words_of_turns
from dashboard.policies.backtests.services import MOST_TOKENS
from dashboard.policies.backtests.sweep_map import CONTINUATIONS
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.models import UNFINISHED

DEFAULTS, ANY, ITS_OWN = "", "", ":own"
DAYS = (1, 7, 30, 90)
AT = "@"  #: between a policy's name, which has none, and a version's number
DRAFTS_ONLY = " (newest draft, inactive)"
#: Limits that stand on the page; a policy says the others.
OFFERED = ("max_continuations", "max_total_completion_tokens")


class DraftForm(FieldErrors, forms.Form):
    """`policy`: a name, `name@version` of a version that is not active, or empty for the default limits; the numbers
    are in place of the policy's own."""

    policy = forms.ChoiceField(required=False)
    max_tokens = forms.IntegerField(label=LIMIT_NAMES["max_tokens"], required=False, min_value=1, max_value=MOST_TOKENS)

    def __init__(self, project: Project, data: Mapping[str, Any] | None) -> None:
        super().__init__(data, auto_id="draft_%s")
        self.project = project
        policies = list(policy_list(project=project))
        counting = policy_versions_active(policy.pk for policy in policies)
        names = [(policy.name, policy.name + ("" if policy.pk in counting else DRAFTS_ONLY)) for policy in policies]
        newest = [each for each in policy_version_list(project=project) if each.policy_id in counting]
        drafts = [each for each in newest if each != counting[each.policy_id]]
        names += [(f"{each.policy}{AT}{each.version}", f"{each.policy} v{each.version} (inactive)") for each in drafts]
        names.sort()
        choice = self.fields["policy"]
        assert isinstance(choice, forms.ChoiceField), "declared above"
        choice.choices = [(DEFAULTS, "no policy: the default limits"), *names]
        choice.error_messages["invalid_choice"] = "Choose one of the policies; that one no longer exists."
        for name in OFFERED:
            known = LIMIT_FIELDS[name]
            self.fields[name] = forms.IntegerField(
                label=known.label, required=False, min_value=int(known.minimum), max_value=int(known.maximum)
            )

    @property
    def numbers(self) -> list[tuple[forms.BoundField, str, str]]:
        """The fields that are numbers, with their unit, and what stands where they are left empty."""
        limits = [(self[name], LIMIT_FIELDS[name].unit, "as in the policy") for name in OFFERED]
        return [(self["max_tokens"], "tokens", "as each turn had it"), *limits]

    @property
    def stands_for(self) -> Policy | None:
        """Whose place the draft takes among the words of each turn; None: the default limits stand for all of them."""
        name = self.cleaned_data["policy"].partition(AT)[0]
        return policy_list(project=self.project).filter(name=name or None).first()

    @property
    def draft(self) -> dict[str, Any]:
        """What the policy says, by `POLICY_FIELDS`. Raises `ValidationError` in words."""
        version = self.tried_version
        said = {field: getattr(version, field) for field in POLICY_FIELDS} if version else {}
        changed = {name: value for name in OFFERED if (value := self.cleaned_data[name]) is not None}
        limits = {**(said.get("limits") or {}), **changed}
        known = {name: value for name, value in limits.items() if name in Limits.__dataclass_fields__}
        return {**said, "limits": known}

    @cached_property
    def tried_version(self) -> PolicyVersion | None:
        """The version of the policy that was chosen; None: the default limits. Raises `ValidationError` in words."""
        chosen = self.cleaned_data["policy"]
        if chosen == DEFAULTS:
            return None
        name, _, number = chosen.partition(AT)
        try:
            policy = policy_get(project=self.project, name=name)
            numbered = policy_version_get(policy=policy, version=int(number)) if number else None
        except (Policy.DoesNotExist, PolicyVersion.DoesNotExist) as error:
            raise ValidationError("Choose one of the policies; that one no longer exists.") from error
        version = numbered or policy_version_standing(policy=policy)
        if version is None:
            raise ValidationError(f"“{policy}” has no version yet; create one under Policies.")
        return version


class OverForm(FieldErrors, forms.Form):
    """Which turns a draft is tried on: the timeline's filters that matter most, as choices. `policy`: whose draft."""

    prefix = "over"
    agent = forms.ChoiceField(required=False)
    provider = forms.ChoiceField(required=False)
    model = forms.ChoiceField(required=False)
    status = forms.ChoiceField(required=False, label="Ended")
    since = forms.ChoiceField(required=False, label="Since", initial=30)

    def __init__(self, project: Project, policy: Policy | None, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(data)
        known = words_of_turns(project=project)
        where = turns_where(policy=policy) if policy else TurnScope({})
        self.own = where.filter
        self.initial = {"agent": ITS_OWN}
        own = [(ITS_OWN, f"applies to: {where.words}")] if where.filter else []
        self._offer("agent", [*own, (ANY, "any agent"), *_same(known["agent"])])
        self._offer("provider", [(ANY, "any provider"), *_same(known["provider"])])
        self._offer("model", [(ANY, "any model"), *_same(known["model"])])
        ended = [status.value for status in TurnStatus if status.value not in UNFINISHED]
        self._offer("status", [(ANY, "any status"), *_same(ended)])
        self._offer(
            "since", [*((str(n), f"the last {n} days" if n > 1 else "a day ago") for n in DAYS), (ANY, "all time")]
        )

    def _offer(self, name: str, choices: list[tuple[str, str]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField), "declared above"
        field.choices = choices
        field.error_messages["invalid_choice"] = f"Choose one of each list; this {name} no longer exists."

    @property
    def filter(self) -> dict[str, Any]:
        """As the timeline's, once the form is valid."""
        chosen = {name: value for name, value in self.cleaned_data.items() if value}
        own = self.own if chosen.get("agent") == ITS_OWN and chosen.pop("agent") else {}
        if days := chosen.pop("since", ""):
            chosen["since"] = (timezone.now() - timedelta(days=int(days))).isoformat(timespec="minutes")
        return TimelineFilters.parse({**own, **chosen})[0].as_dict()


class CellForm(FieldErrors, forms.Form):
    """A cell of the map of two limits. `newest` and `oldest`: the last and the first turn that the map was made of."""

    continuations = forms.TypedChoiceField(
        label=LIMIT_NAMES["max_continuations"],
        choices=[(str(count), count) for count in CONTINUATIONS],
        coerce=int,
        error_messages={
            "invalid_choice": f"{LIMIT_NAMES['max_continuations']} must be one of {', '.join(map(str, CONTINUATIONS))}."
        },
    )
    max_tokens = forms.IntegerField(label=LIMIT_NAMES["max_tokens"], min_value=1, max_value=MOST_TOKENS)
    newest = forms.UUIDField(required=False)
    oldest = forms.UUIDField(required=False)


def _same(words: list[str]) -> list[tuple[str, str]]:
    return [(word, word) for word in words]
