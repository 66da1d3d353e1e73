"""Fields of a policy and their values in words, the same on every page."""

import json
from typing import Any

from agentcore.policy import SETTING_NAMES
from agentcore.resource import APPROVAL_SECONDS
from dashboard.agents.limit_fields import NUMBER_FIELDS, ONE, number_in_words, spec_key_of
from dashboard.turns.sent_caps import NO_CAP_SET

LEVEL_WORDS = {
    "watched": "observed only: no limits applied",
    "operator": "an operator, while the turn ran",
    "turn": "turn override",
    "agent": "agent policy",
    "model": "attached to connection and model",
    "provider": "attached to the provider",
    "site": "attached to the whole site",
    "default": "default",
    "approvals": "the agent",
    "connection": "the connection",
    "caller": "the program that made the call",
}
LABELS = {
    "envelope.recovery": "Local recovery",
    "finish_reasons": "Final stop reasons",
    "criteria": "Custom criteria",
}


def label_of(field: str) -> str:
    """A field in English."""
    if field in NUMBER_FIELDS:
        return NUMBER_FIELDS[field].label
    return LABELS.get(field) or SETTING_NAMES.get(field) or SETTING_NAMES[field.rpartition(".")[2]]


def key_of(field: str) -> str:
    """The spec's configuration key for a field; empty where it has none."""
    part, _, name = field.partition(".")
    return (spec_key_of(name) or "") if part == "limits" else ""


def value_in_words(field: str, value: Any) -> str:
    """A value as it is read: `120,000 characters`, `no limit`, `retry`."""
    if field in NUMBER_FIELDS:
        limit = NUMBER_FIELDS[field]
        if value is None:
            return limit.unset or "no limit"
        return _with_unit(value, limit.unit)
    if field == "max_tokens" and value is None:
        return NO_CAP_SET
    if isinstance(value, list):
        return ", ".join(item if isinstance(item, str) else _written(item) for item in value) or "none"
    if isinstance(value, int | float) and field in _UNITS:
        return _with_unit(value, _UNITS[field])
    return f"{value:,}" if isinstance(value, int) else str(value).replace("_", " ")


#: The units of the numbers that are no limits of a policy's `limits`.
_UNITS = {
    "max_tokens": "tokens",
    "max_output_tokens": "tokens",
    APPROVAL_SECONDS: "seconds",
    "error_policy.max_retries": "failures",
    "retention.keep_raw_days": "days",
}


def _with_unit(value: float, unit: str) -> str:
    return f"{number_in_words(value)} {ONE.get(unit, unit[:-1]) if value == 1 else unit}"


def _written(item: Any) -> str:
    if isinstance(item, dict) and "path" in item:
        given = ", ".join(f"{key}={value!r}" for key, value in (item.get("kwargs") or {}).items())
        return f"{item['path']}({given})"
    return json.dumps(item, ensure_ascii=False)
