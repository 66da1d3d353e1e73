"""The forms of the admin: what a person fills in, and every fault in words beside its field."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from agentcore.error_policy import PRESETS, ErrorHandlingDecision
from agentcore.policy import OnTruncation
from dashboard.agents import policy_validation, selectors
from dashboard.agents.limit_fields import LIMIT_FIELDS, default_in_words
from dashboard.agents.models import Agent, Connection, Policy, PolicyVersion, known_tools
from dashboard.agents.policy_validation import HANDLING_KEYS, MAX_RETRIES


class ConnectionForm(forms.ModelForm):  # type: ignore[type-arg]
    provider = forms.ChoiceField()

    class Meta:
        model = Connection
        fields = (
            "name",
            "provider",
            "base_url",
            "api_key_env",
            "max_output_tokens",
            "context_window",
            "hint_role",
            "max_tokens_field",
        )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        from agentcore.providers import PROVIDERS

        super().__init__(*args, **kwargs)
        _belong_to_default_project(self.instance)
        self.fields["provider"] = forms.ChoiceField(choices=[(name, name) for name in PROVIDERS])


class AgentForm(forms.ModelForm):  # type: ignore[type-arg]
    tools = forms.MultipleChoiceField(
        required=False,
        choices=lambda: [(name, name) for name in known_tools()],
        widget=forms.CheckboxSelectMultiple,
    )

    class Meta:
        model = Agent
        fields = (
            "name",
            "connection",
            "model",
            "max_tokens",
            "system_prompt",
            "tools",
            "policy",
            "envelope_schema",
            "gateway_mode",
        )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _belong_to_default_project(self.instance)


def limit_field(name: str) -> forms.Field:
    """One limit as a number to fill in; its help names unit, default and range."""
    limit = LIMIT_FIELDS[name]
    return forms.CharField(
        required=False,
        label=limit.label,
        help_text=f"{limit.meaning} {limit.range_in_words.capitalize()}. Empty: {default_in_words(name)}.",
        widget=forms.TextInput(attrs={"inputmode": "numeric" if limit.whole else "decimal"}),
    )


def handling_field(key: str) -> forms.ChoiceField:
    decisions = [(decision.value, decision.value) for decision in ErrorHandlingDecision]
    return forms.ChoiceField(
        required=False,
        label=key.removesuffix("_error").replace("_", " ").capitalize() + " error",
        choices=[("", "as the preset says"), *decisions],
    )


class PolicyForm(forms.ModelForm):  # type: ignore[type-arg]
    """A policy's name and what its next version says. `said()` is what the service takes."""

    max_continuations = limit_field("max_continuations")
    max_total_completion_tokens = limit_field("max_total_completion_tokens")
    max_total_output_chars = limit_field("max_total_output_chars")
    max_tool_repair_attempts = limit_field("max_tool_repair_attempts")
    max_steps = limit_field("max_steps")
    max_total_tokens = limit_field("max_total_tokens")
    max_seconds = limit_field("max_seconds")
    schema_rounds = limit_field("schema_rounds")
    truncation_budget_multiplier = limit_field("truncation_budget_multiplier")
    preset = forms.ChoiceField(choices=[(name, name.replace("_", " ")) for name in PRESETS])
    max_retries = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=MAX_RETRIES,
        help_text=f"Consecutive failures at which a retry stops: 0 to {MAX_RETRIES}. Empty: as the preset says "
        f"({', '.join(f'{name} {preset.max_retries}' for name, preset in PRESETS.items())}).",
    )
    on_tool_error = handling_field("on_tool_error")
    on_model_error = handling_field("on_model_error")
    on_validation_error = handling_field("on_validation_error")
    on_rate_limit_error = handling_field("on_rate_limit_error")
    on_timeout_error = handling_field("on_timeout_error")
    on_unknown_error = handling_field("on_unknown_error")
    tool_calls_on_truncation = forms.ChoiceField(
        choices=[(word.value, word.value.replace("_", " ")) for word in OnTruncation],
        help_text="What is done with whole tool calls of an answer that was cut.",
    )

    class Meta:
        model = Policy
        fields = ("name",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        instance = kwargs.get("instance")
        latest = selectors.policy_version_latest(policy=instance)
        kwargs["initial"] = {**(initial_of(latest) if latest else {}), **(kwargs.get("initial") or {})}
        super().__init__(*args, **kwargs)
        _belong_to_default_project(self.instance)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        for name in LIMIT_FIELDS:
            if cleaned.get(name):
                try:
                    cleaned[name] = policy_validation.limit_clean(name, _number(cleaned[name]))
                except ValidationError as error:
                    self.add_error(name, error)
        return cleaned

    def said(self) -> dict[str, Any]:
        """What the form says beside the name, as `policy_create` takes it; an empty field is left out."""
        data = self.cleaned_data
        error_policy = {key: data[key] for key in ("preset", "max_retries", *HANDLING_KEYS)}
        return {
            "limits": {name: data[name] for name in LIMIT_FIELDS if data[name] != ""},
            "error_policy": {key: value for key, value in error_policy.items() if value not in ("", None)},
            "tool_calls_on_truncation": data["tool_calls_on_truncation"],
        }


def initial_of(version: PolicyVersion) -> dict[str, Any]:
    """The fields of `PolicyForm` as this version fills them."""
    limits = {name: value for name, value in version.limits.items() if value is not None}
    return {**limits, **version.error_policy, "tool_calls_on_truncation": version.tool_calls_on_truncation}


def _number(text: str) -> int | float | str:
    """The number a person wrote, or the text itself where it is none: the sentence about it then quotes it."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _belong_to_default_project(instance: Connection | Agent | Policy) -> None:
    if instance.project_id is None:
        instance.project = selectors.project_default()
