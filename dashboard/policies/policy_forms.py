"""The form of a policy: every limit, rule and criterion a field of its own, every fault in words beside it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from agentcore.error_policy import PRESETS
from agentcore.policy import LIMIT_NAMES, SETTING_NAMES, EnvelopeRules, OnTruncation
from agentcore.reasons import NormalizedStopReason
from dashboard.agents import policy_validation
from dashboard.agents.change_tracking import MAX_WHY
from dashboard.agents.forms import belong_to_current_project, sections
from dashboard.agents.limit_fields import LIMIT_FIELDS, RETENTION_FIELDS
from dashboard.agents.models import Policy, PolicyVersion
from dashboard.agents.policies import envelope_rules_of, policy_said
from dashboard.agents.policy_validation import HANDLING_KEYS, PRESETS_THAT_NEVER_RETRY, RECOVERIES, listed
from dashboard.platform.form_errors import FieldErrors, NamedError, label_of
from dashboard.policies.backtests.models import Backtest
from dashboard.policies.policy_creation import evidence_fault, evidence_waits
from dashboard.policies.policy_form_base import (
    NONE,
    NOT_SAID,
    POLICY_SECTIONS,
    RECOVERY_WORDS,
    CriteriaField,
    asked_version,
    handling_field,
    limit_field,
    number_of,
    preset_name,
    reason_choices,
    retries_field,
    start_of,
)
from dashboard.policies.policy_impact import TOTALS, totals_too_small, unsaved
from dashboard.policies.policy_versions import start_clean

#: Fields about the version, not of what it says.
ABOUT = ("name", "why", "counts", "starts_at", "backtest")
COUNTS = (("draft", "Draft (inactive)"), ("now", "Active now"), ("later", "Active from a later time"))
#: What a version says, by its columns.
SAID = ("limits", "error_policy", "tool_calls_on_truncation", "envelope", "finish_reasons", "criteria", "retention")


class PolicyForm(FieldErrors, forms.ModelForm):  # type: ignore[type-arg]
    """A policy's name and what its next version says. `said()` is what the service takes.

    It is filled from the version `start` tells of; which one that was comes back with it, as `start`; which one
    counted then, as `counted`; and which one was the newest, as `newest`.
    """

    asked: int | None = None  #: the version that the page's address asks it to start from
    ran: Backtest | None = None  #: the backtest that came with it, once it is cleaned

    max_continuations = limit_field("max_continuations")
    max_total_completion_tokens = limit_field("max_total_completion_tokens")
    max_total_output_chars = limit_field("max_total_output_chars")
    max_tool_repair_attempts = limit_field("max_tool_repair_attempts")
    max_steps = limit_field("max_steps")
    max_total_tokens = limit_field("max_total_tokens")
    max_seconds = limit_field("max_seconds")
    schema_rounds = limit_field("schema_rounds")
    truncation_budget_multiplier = limit_field("truncation_budget_multiplier")
    preset = forms.ChoiceField(
        required=False,
        choices=[NOT_SAID, *((name, preset_name(name)) for name in PRESETS)],
        help_text=f"With {listed(map(preset_name, PRESETS_THAT_NEVER_RETRY))}, nothing is retried unless you set "
        f"{LIMIT_NAMES['max_retries']} to 2 or more below.",
    )
    max_retries = retries_field()
    on_tool_error = handling_field("on_tool_error")
    on_model_error = handling_field("on_model_error")
    on_validation_error = handling_field("on_validation_error")
    on_rate_limit_error = handling_field("on_rate_limit_error")
    on_timeout_error = handling_field("on_timeout_error")
    on_unknown_error = handling_field("on_unknown_error")
    tool_calls_on_truncation = forms.ChoiceField(
        label=SETTING_NAMES["tool_calls_on_truncation"],
        required=False,
        choices=[NOT_SAID, *((word.value, word.value.replace("_", " ")) for word in OnTruncation)],
        help_text="How complete tool calls in a truncated answer are handled.",
    )

    recovery = forms.MultipleChoiceField(
        required=False,
        choices=[(path.value, f"{path}: {RECOVERY_WORDS[path]}") for path in RECOVERIES],
        initial=[path.value for path in EnvelopeRules().recovery],
        widget=forms.CheckboxSelectMultiple,
        label="Local recovery",
        help_text="How JSON is recovered from an envelope that is not valid JSON. It costs no retry. "
        "The default selection is inherited, unless the version that the form starts from sets it.",
    )
    finish_reasons = forms.MultipleChoiceField(
        required=False,
        choices=reason_choices([reason.value for reason in NormalizedStopReason]),
        widget=forms.CheckboxSelectMultiple,
        label="Final stop reasons",
        help_text="Model stop reasons after which the agent must not continue.",
    )
    criteria = CriteriaField(
        required=False,
        label="Custom criteria",
        help_text="A JSON list, evaluated beside the built-in criteria: "
        '[{"path": "ResponseContentCheck", "kwargs": {"message": "Say more.", "min_chars": 200}}]. '
        "A path is the name of a built-in criterion, or module.Class of a module listed in WHYSTOP_CRITERIA; "
        "kwargs are the arguments it is built with.",
    )

    keep_raw_days = limit_field("keep_raw_days")

    why = forms.CharField(
        max_length=MAX_WHY,
        label="Reason",
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Stored with the version and its activation. It cannot be edited later.",
    )
    counts = forms.ChoiceField(
        choices=COUNTS,
        initial="draft",
        label="Status",
        help_text="A draft is inactive. Run a backtest or a shadow run before you activate it.",
    )
    starts_at = forms.DateTimeField(
        required=False,
        label="From",
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        help_text="Used only with “Active from a later time”. In UTC, at most one year ahead.",
    )
    backtest = forms.ModelChoiceField(Backtest.objects.all(), required=False, widget=forms.HiddenInput)

    class Meta:
        model = Policy
        fields = ("name",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        belong_to_current_project(self.instance)
        if isinstance(field := self.fields["backtest"], forms.ModelChoiceField):
            field.queryset = Backtest.objects.filter(project=self.instance.project)
        asked = asked_version(self.data.get("start")) or self.asked
        self.start = None if self.instance._state.adding else start_of(self.instance, asked=asked)
        self.newest_seen = asked_version(self.data.get("newest")) or (self.start.newest if self.start else 0)
        if self.start is not None:
            self.initial.update(initial_of(self.start.version))

    @property
    def sections(self) -> Mapping[str, list[forms.BoundField]]:
        return sections(self, POLICY_SECTIONS)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        for name in (*LIMIT_FIELDS, *RETENTION_FIELDS):
            if cleaned.get(name):
                try:
                    cleaned[name] = policy_validation.number_clean(name, number_of(cleaned[name]))
                except ValidationError as error:
                    self.add_error(name, error)
        self._fits(cleaned)
        if cleaned.get("counts") == "later":
            self._starts_ahead(cleaned.get("starts_at"))
        if cleaned.get("counts") != "draft":
            self._counts_still()
        self.ran = cleaned.get("backtest")
        if self.ran and not self.errors:
            self._waits_for(self.ran)
        return cleaned

    def _waits_for(self, backtest: Backtest) -> None:
        """A version carries for good what it was saved with, so it waits for a backtest that speaks for it."""
        said = policy_said(**self.said())
        if evidence_waits(backtest, said, self.instance):
            far = evidence_fault(backtest, said, self.instance)
            self.add_error(
                "backtest",
                f"The backtest of these settings {far}. Save when it has finished to keep it with the version, "
                "or cancel it and save without it.",
            )

    def _counts_still(self) -> None:
        """Refuses, once, what was written before another version began to count: it would be undone unawares.

        The admin saves in one transaction, through which the lock lasts: who saves at the same moment waits.
        """
        counted = asked_version(self.data.get("counted"))
        if counted is None or self.start is None:
            return
        with transaction.atomic():
            Policy.objects.select_for_update().get(pk=self.instance.pk)
            self.start = start_of(self.instance, asked=self.start.version.version)
        now = self.start.active.version if self.start and self.start.active else 0
        if counted == now:
            return
        before = f"v{counted}" if counted else "none"
        self.add_error(
            "counts",
            f"While this form was open, {f'v{now}' if now else 'none'} became active; "
            f"{before} was active when it was opened. "
            "Your fields are kept as you wrote them. Compare the versions, then save again to replace it.",
        )

    def _starts_ahead(self, starts_at: datetime | None) -> None:
        if starts_at is None:
            self.add_error("starts_at", "Enter when it becomes active, or choose another status above.")
            return
        try:
            start_clean(starts_at, timezone.now())
        except ValidationError as error:
            self.add_error(None, error)

    def _fits(self, cleaned: dict[str, Any]) -> None:
        """A total that one answer of an agent under this policy would use up is surely not meant."""
        if self.instance._state.adding:
            return
        totals = {name: cleaned[name] for name in TOTALS if isinstance(cleaned.get(name), int)}
        for name, words in totals_too_small(unsaved(self.instance, {"limits": totals})).items():
            self.add_error(name, f"{totals[name]:,} is {words}")

    @property
    def form_faults(self) -> list[str]:
        """Without what is wrong with the backtest, which its panel says."""
        return [str(words) for words in self.non_field_errors()]

    @property
    def faults_said(self) -> list[str]:
        """What is wrong with what the form says, apart from name, reason and moment, each with its field's name."""
        wrong = {name: errors for name, errors in self.errors.as_data().items() if name not in ABOUT}
        return [self._called(name, error) for name, errors in wrong.items() for error in errors]

    def _called(self, name: str, error: ValidationError) -> str:
        words = " ".join(error.messages)
        return words if isinstance(error, NamedError) or name not in self.fields else f"{label_of(self, name)}: {words}"

    @property
    def overtaken(self) -> str:
        """That other versions were saved while the form was open; empty where none was."""
        return self.start.overtaken(self.newest_seen) if self.start else ""

    @property
    def attached(self) -> Backtest | None:
        """The backtest that goes with the version: one that speaks for it."""
        chosen: Backtest | None = self.cleaned_data.get("backtest")
        return None if self.unattached else chosen

    @property
    def unattached(self) -> str:
        """Why the backtest that ran does not go with the version; empty where it does, or none ran."""
        chosen: Backtest | None = self.cleaned_data.get("backtest")
        return evidence_fault(chosen, policy_said(**self.said()), self.instance) if chosen else ""

    def said(self) -> dict[str, Any]:
        """What the form says beside the name, as `policy_create` takes it; an empty field is left out."""
        data = self.cleaned_data
        error_policy = {key: data[key] for key in ("preset", "max_retries", *HANDLING_KEYS)}
        return {
            "limits": {name: data[name] for name in LIMIT_FIELDS if data[name] != ""},
            "error_policy": {key: value for key, value in error_policy.items() if value not in ("", None)},
            "tool_calls_on_truncation": data["tool_calls_on_truncation"],
            "envelope": self._recovery_said(),
            "finish_reasons": policy_validation.finish_reasons_clean(data["finish_reasons"]),
            "criteria": data["criteria"],
            "retention": {name: data[name] for name in RETENTION_FIELDS if data[name] != ""},
        }

    def _recovery_said(self) -> dict[str, Any] | None:
        """The default is said only where the version it starts from says it, lest what is attached take its place."""
        said = policy_validation.envelope_clean({"recovery": self.cleaned_data["recovery"]})
        told_before = self.start is not None and self.start.version.envelope is not None
        return said if told_before or said != {"recovery": list(EnvelopeRules().recovery)} else None


def initial_of(version: PolicyVersion) -> dict[str, Any]:
    """The fields of `PolicyForm` as this version fills them."""
    numbers = {**version.limits, **version.retention}
    return {
        **{name: NONE if value is None else value for name, value in numbers.items()},
        **version.error_policy,
        "tool_calls_on_truncation": version.tool_calls_on_truncation,
        "recovery": [path.value for path in envelope_rules_of(version.envelope).recovery],
        "finish_reasons": version.finish_reasons,
        "criteria": version.criteria,
    }


def said_by(version: PolicyVersion) -> dict[str, Any]:
    """What a version says, in the terms of `PolicyForm.said`."""
    return {name: getattr(version, name) for name in SAID}
