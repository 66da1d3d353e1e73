"""What a policy may say, judged in words: limits, error policy, tool calls on truncation. Pure.

Each `…_clean` returns the value as it is stored or raises `ValidationError` with sentences that say what to do.
"""

import math
from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError

from agentcore.error_policy import PRESETS, ErrorHandlingDecision
from agentcore.errors import ErrorType
from agentcore.policy import SPEC_KEYS, OnTruncation
from dashboard.agents.limit_fields import LIMIT_FIELDS

HANDLING_KEYS = tuple(f"on_{error}_error" for error in ErrorType)
MAX_RETRIES = 100


def listed(names: Any) -> str:
    """`a, b, c`: the known words of a sentence."""
    return ", ".join(str(name) for name in names)


def limit_clean(name: str, value: Any) -> int | float | None:
    """One limit by its name (one of `LIMIT_FIELDS`)."""
    limit = LIMIT_FIELDS[name]
    if value is None and limit.unset is not None:
        return None
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else None
    if number is None or not math.isfinite(number) or (limit.whole and not isinstance(number, int)):
        raise ValidationError(f"{name} must be {limit.range_in_words}, not {value!r}.")
    if not limit.minimum <= number <= limit.maximum:
        raise ValidationError(f"{name} is {number}; it must be {limit.range_in_words}.")
    return number


def limits_clean(value: Any) -> dict[str, int | float | None]:
    """Limits as given, by our names; the spec's four configuration keys are taken for the fields they mean."""
    if not isinstance(value, Mapping):
        raise ValidationError("limits must be an object such as {“max_continuations”: 3}.")
    clean: dict[str, int | float | None] = {}
    errors: list[str] = []
    for key, given in value.items():
        try:
            name = _limit_name(key)
            if name in clean:
                raise ValidationError(f"{name} is given twice, by its own name and by the spec's; give it once.")
            clean[name] = limit_clean(name, given)
        except ValidationError as error:
            errors += error.messages
    if errors:
        raise ValidationError(errors)
    return clean


def _limit_name(key: Any) -> str:
    name = SPEC_KEYS.get(key, key) if isinstance(key, str) else key
    if name not in LIMIT_FIELDS:
        raise ValidationError(f"There is no limit “{key}”; the limits are {listed(LIMIT_FIELDS)}.")
    return str(name)


def error_policy_clean(value: Any) -> dict[str, Any]:
    """`{preset, max_retries?, on_<type>_error?…}`; empty stays empty and means the preset `stop_on_any_error`."""
    if not isinstance(value, Mapping):
        raise ValidationError("error_policy must be an object such as {“preset”: “retry_tool_errors”}.")
    errors = [
        f"error_policy has no “{key}”; it knows {listed(('preset', 'max_retries', *HANDLING_KEYS))}."
        for key in value
        if key not in ("preset", "max_retries", *HANDLING_KEYS)
    ]
    if value.get("preset", "stop_on_any_error") not in tuple(PRESETS):
        errors.append(f"There is no error policy “{value['preset']}”; the presets are {listed(PRESETS)}.")
    retries = value.get("max_retries", 0)
    if not isinstance(retries, int) or isinstance(retries, bool) or not 0 <= retries <= MAX_RETRIES:
        errors.append(f"max_retries must be a whole number of failures from 0 to {MAX_RETRIES}, not {retries!r}.")
    decisions = tuple(ErrorHandlingDecision)
    errors += [
        f"{key} must be one of {listed(decisions)}, not {value[key]!r}."
        for key in HANDLING_KEYS
        if key in value and value[key] not in decisions
    ]
    if errors:
        raise ValidationError(errors)
    return {"preset": "stop_on_any_error", **value} if value else {}


def error_policy_warning(error_policy: Mapping[str, Any]) -> str | None:
    """A sentence about a clean error policy that says "retry" and yet never retries; None if it is sound."""
    preset = PRESETS[error_policy.get("preset", "stop_on_any_error")]
    retries = error_policy.get("max_retries", preset.max_retries)
    retried = [key for key in HANDLING_KEYS if error_policy.get(key, getattr(preset, key)) == "retry"]
    if not retried or retries > 1:
        return None
    return (
        f"{listed(retried)} say “retry”, but max_retries is {retries}: the turn stops at the failure with that number, "
        "so nothing is ever retried. Set max_retries to 2 or more to allow a retry."
    )


def tool_calls_on_truncation_clean(value: Any) -> str:
    if value not in tuple(OnTruncation):
        raise ValidationError(f"tool_calls_on_truncation must be one of {listed(OnTruncation)}, not {value!r}.")
    return str(value)


def envelope_clean(value: Any) -> dict[str, Any] | None:
    """The policy's words on envelopes: an object, or nothing."""
    if value is not None and not isinstance(value, Mapping):
        raise ValidationError("envelope must be an object, or be left out.")
    return None if value is None else dict(value)


def limits_valid(value: Any) -> None:
    limits_clean(value)


def error_policy_valid(value: Any) -> None:
    error_policy_clean(value)


def tool_calls_on_truncation_valid(value: Any) -> None:
    tool_calls_on_truncation_clean(value)


def envelope_valid(value: Any) -> None:
    envelope_clean(value)
