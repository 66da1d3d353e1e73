"""What the forms of a policy share: the version that they are filled with, which need not be the active one, and their
fields, each number with its key, unit, range and default beside it."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from agentcore.error_policy import PRESETS, ErrorHandlingDecision
from agentcore.number_format import read_number
from agentcore.policy import LIMIT_NAMES, SETTING_NAMES, RecoveryPath
from dashboard.agents.criteria import criteria_clean
from dashboard.agents.json_fields import TypedJson
from dashboard.agents.limit_fields import FAILURES_MEANING, LIMIT_FIELDS, RETENTION_FIELDS, default_in_words
from dashboard.agents.models import Policy, PolicyActivation, PolicyVersion
from dashboard.agents.policy_validation import HANDLING_KEYS, MAX_RETRIES, listed
from dashboard.agents.selectors import activations_of
from dashboard.turns.reason_looks import reason_label
from dashboard.turns.templatetags.formatting import breaking
from dashboard.turns.templatetags.reasons import code_beside

#: What is said of a version that does not count now.
FATES = {
    "draft": "a draft (inactive)",
    "planned": "which is not active yet",
    "past": "which is no longer active",
}


@dataclass(frozen=True, slots=True)
class FormBase:
    """A form is filled with what `version` says. `fate`: `active`, `planned`, `past` or `draft`."""

    version: PolicyVersion
    fate: str
    active: PolicyVersion | None  #: what counts; None: the policy has only drafts
    planned: tuple[PolicyActivation, ...]  #: what is scheduled, the next first
    offered: tuple[PolicyVersion, ...]  #: others it may well be meant to start from
    newest: int  #: the number of the newest version

    @property
    def counts(self) -> bool:
        """Whether the form starts from what counts."""
        return self.fate == "active"

    @property
    def words(self) -> str:
        """What the form starts from, and what counts."""
        said = f"The fields start from v{self.version.version}"
        if self.counts:
            return f"{said}, which is active."
        now = f"v{self.active.version} is active" if self.active else "no version of this policy is active"
        return f"{said}, {FATES[self.fate]}; {now}."

    @property
    def schedules(self) -> list[str]:
        """What will count whatever is saved now, in sentences."""
        return [f"v{row.version.version} becomes active at {row.starts_at:%Y-%m-%d %H:%M} UTC." for row in self.planned]

    def overtaken(self, newest_seen: int) -> str:
        """That other versions were saved since `newest_seen` was the newest one; empty where none was."""
        others = [f"v{number}" for number in range(newest_seen + 1, self.newest + 1)]
        if not others:
            return ""
        return (
            f"While the form was open, {listed(others)} {'was' if len(others) == 1 else 'were'} saved. What you saved "
            f"starts from v{self.version.version}. Compare the versions before you activate one."
        )


def start_of(policy: Policy, *, asked: int | None = None) -> FormBase | None:
    """Where a form starts: from the version `asked` for, else from the newest draft or from what counts.

    What began to count after a draft was written has overtaken it: the form then starts from what counts, so that
    nobody undoes a rollback unawares. None where the policy has no version yet.
    """
    versions = {version.version: version for version in policy.versions.select_related("policy")}
    if not versions:
        return None
    now, newest = timezone.now(), versions[max(versions)]
    rows = [row for row in activations_of(policy) if row.withdrawn_at is None]
    standing = next((row for row in rows if row.starts_at <= now), None)
    active = standing.version if standing else None
    drafted = all(row.version_id != newest.pk for row in rows)
    usual = newest if standing is None or (drafted and newest.created_at > standing.starts_at) else standing.version
    version = usual if asked is None else versions.get(asked, usual)
    return FormBase(
        version=version,
        fate="active" if version == active else _fate(version, rows, now),
        active=active,
        planned=tuple(row for row in reversed(rows) if row.starts_at > now),
        offered=tuple(other for other in (active, newest if drafted else None) if other not in (None, version)),
        newest=newest.version,
    )


def _fate(version: PolicyVersion, rows: Sequence[PolicyActivation], now: datetime) -> str:
    """Of a version that does not count now."""
    starts = [row.starts_at for row in rows if row.version_id == version.pk]
    if not starts:
        return "draft"
    return "planned" if max(starts) > now else "past"


def asked_version(text: object) -> int | None:
    """The number of a version that an address or a form names; None where it names none."""
    said = str(text or "")
    return int(said) if said.isascii() and said.isdigit() and len(said) < 9 else None


#: What a policy says, as its forms arrange it, by heading.
POLICY_SECTIONS = {
    "Limits": tuple(LIMIT_FIELDS),
    "Errors": ("preset", "max_retries", *HANDLING_KEYS),
    "Tool calls": ("tool_calls_on_truncation",),
    "Envelopes": ("recovery",),
    "Criteria": ("finish_reasons", "criteria"),
    "Retention": tuple(RETENTION_FIELDS),
}
NONE = "none"  #: what is written where a limit shall have no number
NOT_SAID = ("", "Inherit (attached policy, else default)")

#: What each recovery does, beside its word.
RECOVERY_WORDS = {
    RecoveryPath.MARKDOWN_FENCE: "JSON in a fenced block",
    RecoveryPath.BRACE_WALKER: "the first complete object in prose",
    RecoveryPath.JSONREPAIR: "repairs malformed JSON, never a truncated answer",
}


def _of_none(name: str, unset: str) -> str:
    """What `none` stands for: of this one limit it is a number, too."""
    return f"the default, which is a limit ({unset})" if name == "max_total_completion_tokens" else unset


def limit_field(name: str) -> forms.Field:
    """A number of a policy to fill in, with its key, unit, range and default."""
    limit = LIMIT_FIELDS.get(name) or RETENTION_FIELDS[name]
    meant = _of_none(name, limit.unset or "")
    none = f" Enter “{NONE}” for {meant}, even if another policy sets a value." if meant else ""
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


def retries_field() -> forms.IntegerField:
    """The number of an error policy, written as limits are."""
    presets = ", ".join(f"{preset_name(name)} {said.max_retries}" for name, said in PRESETS.items())
    return forms.IntegerField(
        required=False,
        label=keyed(LIMIT_NAMES["max_retries"], "max_retries"),
        label_suffix="",
        min_value=0,
        max_value=MAX_RETRIES,
        help_text=f"{FAILURES_MEANING} From 0 to {MAX_RETRIES}. Leave empty to use the preset's value ({presets}).",
        widget=forms.TextInput(attrs={"inputmode": "numeric"}),
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


def preset_name(preset: str) -> str:
    """What people call a preset of the error policy: `stop on any error`."""
    return preset.replace("_", " ")


def reason_choices(words: Iterable[str]) -> list[tuple[str, str]]:
    """Stop reasons to choose from, as lists of turns call them, each with its key where that differs."""
    return [(word, keyed(reason_label(word), word) if code_beside(word) else reason_label(word)) for word in words]


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
    """The number a person wrote; the text itself where it is none."""
    if text.strip().lower() == NONE:
        return None
    number = read_number(text)
    return text if number is None else number
