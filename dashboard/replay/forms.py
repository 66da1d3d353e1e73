"""The settings that a replay can change: limits, error handling, and the calls of a truncated answer."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from agentcore.error_policy import PRESETS, ErrorHandlingDecision, ErrorPolicy
from agentcore.policy import LIMIT_NAMES, SETTING_NAMES, OnTruncation, Policy
from dashboard.agents.limit_fields import LIMIT_FIELDS
from dashboard.agents.policies import error_policy_of
from dashboard.agents.policy_validation import HANDLING_KEYS, MAX_RETRIES, error_policy_warning
from dashboard.agents.validation import MAX_TOKENS
from dashboard.platform.form_errors import FieldErrors
from dashboard.replay.limit_controls import FIRST, LimitControl, Number
from dashboard.turns.sent_caps import NOT_RECORDED

HANDLING = ("preset", "max_retries", *HANDLING_KEYS)
PLACEHOLDER = 8  #: characters that a number's field has room for
TRUNCATION = "tool_calls_on_truncation"
NONE = "no_"  #: before a limit's name: it is taken away
NAMES = ("max_tokens", *LIMIT_FIELDS, *(NONE + name for name in LIMIT_FIELDS), *HANDLING, TRUNCATION)


def given_of(query: Mapping[str, Any]) -> dict[str, str]:
    """What an address or a form says for this form, without what it leaves empty."""
    return {name: str(query[name]) for name in NAMES if query.get(name)}


class BudgetForm(FieldErrors, forms.Form):
    """Each answer is optional: left out, it stays as recorded."""

    def __init__(self, dials: tuple[LimitControl, ...], policy: Policy, data: Mapping[str, Any] | None) -> None:
        super().__init__(data, auto_id="budget_%s")
        self.dials, self.policy = dials, policy
        for dial in dials:
            self.fields[dial.name] = _number_field(dial)
            if dial.may_be_none:
                self.fields[NONE + dial.name] = forms.BooleanField(label=dial.unset, required=False)
        self.fields["preset"] = _choice("preset", PRESETS)
        self.fields["max_retries"] = _retries(policy.error_policy)
        for key in HANDLING_KEYS:
            self.fields[key] = _choice(SETTING_NAMES[key], ErrorHandlingDecision, unsaid="as in the preset")
        self.fields[TRUNCATION] = _choice(SETTING_NAMES[TRUNCATION], OnTruncation)
        for name, field in self.fields.items():
            field.widget.attrs |= {"aria-describedby": f"budget_{name}_error"}

    @property
    def first(self) -> list["Row"]:
        """The dials that stand open."""
        return [self._row(dial) for dial in self.dials if dial.name in FIRST]

    @property
    def others(self) -> list["Row"]:
        return [self._row(dial) for dial in self.dials if dial.name not in FIRST]

    @property
    def handling(self) -> list[tuple[forms.BoundField, str]]:
        """The fields of the error policy and of cut calls, with what was recorded."""
        recorded = {key: str(getattr(self.policy.error_policy, key)) for key in HANDLING[1:]}
        recorded |= {"preset": _preset_of(self.policy.error_policy), TRUNCATION: self.policy.tool_calls_on_truncation}
        told = dict.fromkeys(recorded, NOT_RECORDED) if self.policy.watched else recorded
        return [(self[name], told[name].replace("_", " ")) for name in (*HANDLING, TRUNCATION)]

    @property
    def opened(self) -> bool:
        """Whether something behind “all limits” is said."""
        return any(self.data.get(name) for name in NAMES if name not in FIRST)

    @property
    def warning(self) -> str:
        """A retry that can never retry is said; empty where the error policy is sound."""
        asked = self.overrides.get("error_policy") if self.is_valid() else None
        if not asked:
            return ""
        meant = error_policy_of(asked, self.policy.error_policy)
        return error_policy_warning({key: getattr(meant, key) for key in HANDLING[1:]}) or ""

    def _row(self, dial: LimitControl) -> "Row":
        taken = self[NONE + dial.name] if dial.may_be_none else None
        return dial, self[dial.name], self._stands(dial), taken

    def _stands(self, dial: LimitControl) -> Number:
        """Where its slider stands."""
        try:
            value = float(str(self[dial.name].value() or ""))
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            value = float(dial.slides_to // 2 if dial.recorded is None else dial.recorded)
        held = max(float(dial.least), min(value, float(dial.slides_to)))
        return int(held) if dial.whole else held

    @property
    def overrides(self) -> dict[str, Any]:
        """What differs from the recording, as services take it."""
        said = {dial.name: self._said(dial) for dial in self.dials}
        changed = {dial.name: said[dial.name] for dial in self.dials if said[dial.name] != dial.recorded}
        tokens = {"max_tokens": changed.pop("max_tokens")} if changed.get("max_tokens") else {}
        changed.pop("max_tokens", None)
        errors = self._errors_said()
        cut = self.cleaned_data.get(TRUNCATION)
        return {
            **tokens,
            **({"limits": changed} if changed else {}),
            **({"error_policy": errors} if errors else {}),
            **({TRUNCATION: cut} if cut and cut != self.policy.tool_calls_on_truncation else {}),
        }

    def _said(self, dial: LimitControl) -> Number | None:
        if self.cleaned_data.get(NONE + dial.name):
            return None
        value: Number | None = self.cleaned_data.get(dial.name)
        return dial.recorded if value is None else value

    def _errors_said(self) -> dict[str, Any]:
        said = {name: self.cleaned_data.get(name) for name in HANDLING}
        given = {name: value for name, value in said.items() if value not in (None, "")}
        return {} if self._as_recorded(given) else given

    def _as_recorded(self, given: Mapping[str, Any]) -> bool:
        was = self.policy.error_policy
        return all(name != "preset" and getattr(was, name) == value for name, value in given.items())

    def take_errors(self, error: ValidationError) -> None:
        """Show a service's error beside the field it names, or above all."""
        by_field = error.error_dict if hasattr(error, "error_dict") else {"": error.error_list}
        for field, faults in by_field.items():
            for fault in faults:
                named = (name for name in (fault.code, field) if name in self.fields)
                self.add_error(next(named, None), fault)


Row = tuple[LimitControl, forms.BoundField, Number, forms.BoundField | None]


def _number_field(dial: LimitControl) -> forms.Field:
    attrs = {"inputmode": "numeric" if dial.whole else "decimal", "placeholder": _placeholder(dial), "step": dial.step}
    known = LIMIT_FIELDS.get(dial.name)
    kind: Any = forms.IntegerField if dial.whole else forms.FloatField
    field: Any = kind(
        label=dial.label,
        required=False,
        min_value=dial.least,
        max_value=known.maximum if known else MAX_TOKENS,
        widget=forms.NumberInput(attrs=attrs),
    )
    field.unit = known.told_unit if known else ""
    return field  # type: ignore[no-any-return]


def _retries(policy: ErrorPolicy) -> forms.Field:
    return forms.IntegerField(
        label=LIMIT_NAMES["max_retries"],
        required=False,
        min_value=0,
        max_value=MAX_RETRIES,
        widget=forms.NumberInput(attrs={"inputmode": "numeric", "placeholder": str(policy.max_retries)}),
    )


def _choice(label: str, words: Iterable[str], *, unsaid: str = "as recorded") -> forms.Field:
    known = [str(word) for word in words]
    return forms.ChoiceField(
        label=label,
        required=False,
        choices=[("", unsaid), *((word, word.replace("_", " ")) for word in known)],
        error_messages={"invalid_choice": f"There is no “%(value)s”; choose from {', '.join(known)}."},
    )


def _preset_of(policy: ErrorPolicy) -> str:
    return next((name for name, preset in PRESETS.items() if preset == policy), "custom")


def _placeholder(dial: LimitControl) -> str:
    """The recorded value; what no value means stands beside the field, where it is too long for it."""
    if dial.recorded is None:
        return dial.unset if len(dial.unset) <= PLACEHOLDER else ""
    return f"{dial.recorded:,}" if dial.whole else f"{dial.recorded:g}"
