"""What is tried: a policy's latest words, or the defaults, with some limits in their place."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from agentcore.policy import Limits
from dashboard.agents.limit_fields import LIMIT_FIELDS
from dashboard.agents.models import Policy, Project
from dashboard.agents.policies import POLICY_FIELDS
from dashboard.agents.selectors import policy_get, policy_list, policy_version_latest
from dashboard.backtests.services import MOST_TOKENS

DEFAULTS = ""
#: Limits that stand on the page; a policy says the others.
OFFERED = ("max_continuations", "max_total_completion_tokens")


class DraftForm(forms.Form):
    """`policy`: a name, or empty for the default limits; the numbers are in place of the policy's own."""

    policy = forms.ChoiceField(required=False)
    max_tokens = forms.IntegerField(label="max_tokens", required=False, min_value=1, max_value=MOST_TOKENS)

    def __init__(self, project: Project, data: Mapping[str, Any] | None) -> None:
        super().__init__(data, auto_id="draft_%s")
        self.project = project
        names = [(policy.name, policy.name) for policy in policy_list(project=project)]
        choice = self.fields["policy"]
        assert isinstance(choice, forms.ChoiceField), "declared above"
        choice.choices = [(DEFAULTS, "the default limits"), *names]
        choice.error_messages["invalid_choice"] = "Choose one of the policies; this one is not there any more."
        for name in OFFERED:
            known = LIMIT_FIELDS[name]
            self.fields[name] = forms.IntegerField(
                label=name, required=False, min_value=int(known.minimum), max_value=int(known.maximum)
            )

    @property
    def numbers(self) -> list[tuple[forms.BoundField, str]]:
        """The fields that are numbers, with what stands where they are left empty."""
        kept = {"max_tokens": "as each turn had it"}
        return [(self[name], kept.get(name, "as the policy says")) for name in ("max_tokens", *OFFERED)]

    @property
    def draft(self) -> dict[str, Any]:
        """What the policy says, by `POLICY_FIELDS`. Raises `ValidationError` in words."""
        said = self._words(self.cleaned_data["policy"])
        changed = {name: value for name in OFFERED if (value := self.cleaned_data[name]) is not None}
        limits = {**(said.get("limits") or {}), **changed}
        known = {name: value for name, value in limits.items() if name in Limits.__dataclass_fields__}
        return {**said, "limits": known}

    def _words(self, name: str) -> dict[str, Any]:
        if name == DEFAULTS:
            return {}
        try:
            policy = policy_get(project=self.project, name=name)
        except Policy.DoesNotExist as error:
            raise ValidationError("Choose one of the policies; this one is not there any more.") from error
        version = policy_version_latest(policy=policy)
        if version is None:
            raise ValidationError(f"“{policy}” says nothing yet; write its first version under Policies.")
        return {field: getattr(version, field) for field in POLICY_FIELDS}
