"""The fields of a policy's form: each number with its key, unit, range and default beside it."""

import json
from typing import Any

from django import forms
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from agentcore.error_policy import ErrorHandlingDecision
from agentcore.policy import RecoveryPath
from dashboard.agents.criteria import criteria_clean
from dashboard.agents.json_fields import TypedJson
from dashboard.agents.limit_fields import LIMIT_FIELDS, RETENTION_FIELDS, SETTING_NAMES, default_in_words
from dashboard.turns.templatetags.formatting import breaking

NONE = "none"  #: what is written where a limit shall have no number
NOT_SAID = ("", "Inherit (attached policy, else default)")

#: What each recovery does, beside its word.
RECOVERY_WORDS = {
    RecoveryPath.MARKDOWN_FENCE: "JSON in a fenced block",
    RecoveryPath.BRACE_WALKER: "the first complete object in prose",
    RecoveryPath.JSONREPAIR: "repairs malformed JSON, never a truncated answer",
}


def limit_field(name: str) -> forms.Field:
    """A number of a policy to fill in, with its key, unit, range and default."""
    limit = LIMIT_FIELDS.get(name) or RETENTION_FIELDS[name]
    none = f" Enter “{NONE}” for {limit.unset}, even if another policy sets a value." if limit.unset else ""
    terms = {
        "Unit": limit.unit,
        "Range": limit.span_in_words,
        "Default": default_in_words(name),
    }
    return forms.CharField(
        required=False,
        label=keyed(limit.label, name),
        label_suffix="",
        help_text=format_html("{}{}{}", _terms(terms), limit.meaning, none),
        widget=forms.TextInput(attrs={"inputmode": "numeric" if limit.whole else "decimal"}),
    )


def handling_field(key: str) -> forms.ChoiceField:
    decisions = [(decision.value, decision.value) for decision in ErrorHandlingDecision]
    return forms.ChoiceField(
        required=False,
        label=keyed(SETTING_NAMES[key], key),
        label_suffix="",
        choices=[("", "Use the preset, else inherit"), *decisions],
    )


class KeyedLabel(SafeString):
    """A label with the key that programs and files know the field by."""

    plain: str  #: the label alone


def keyed(label: str, key: str) -> KeyedLabel:
    """The label of a field with its key."""
    whole = KeyedLabel(format_html('{} <code class="key">{}</code>', label, breaking(key)))
    whole.plain = label
    return whole


def _terms(terms: dict[str, str]) -> SafeString:
    each = format_html_join(" ", "<span>{} <b>{}</b></span>", terms.items())
    return format_html('<span class="terms">{}</span> ', each)


class CriteriaField(TypedJson):
    """A list of criteria as JSON; each is built once, so that a wrong one is answered here, in words."""

    widget = forms.Textarea(attrs={"rows": 8, "spellcheck": "false", "class": "vLargeTextField mono"})

    def prepare_value(self, value: Any) -> Any:
        return json.dumps(value, indent=2, ensure_ascii=False) if isinstance(value, list) and value else value or ""

    def clean(self, value: Any) -> list[dict[str, Any]]:
        said = super().clean(value)
        return criteria_clean([] if said is None else said)


def number_of(text: str) -> int | float | str | None:
    """The number a person wrote, or the text itself where it is none: the sentence about it then quotes it."""
    if text.strip().lower() == NONE:
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
