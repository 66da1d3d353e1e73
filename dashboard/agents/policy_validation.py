"""What a policy may say, judged in words: limits, error policy, envelope rules, finish reasons, tool calls. Pure.

Each `…_clean` returns the value as it is stored or raises `ValidationError` with sentences that say what to do.
"""

import math
from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError

from agentcore.error_policy import PRESETS, ErrorHandlingDecision
from agentcore.errors import ErrorType
from agentcore.number_format import number_rule
from agentcore.policy import SPEC_KEYS, OnTruncation, RecoveryPath, setting_named
from agentcore.quoting import quoted
from agentcore.reasons import NormalizedStopReason
from dashboard.agents.limit_fields import LIMIT_FIELDS, RETENTION_FIELDS, LimitField
from dashboard.platform.form_errors import RuleError

HANDLING_KEYS = tuple(f"on_{error}_error" for error in ErrorType)
MAX_RETRIES = 100
_RETRIES = setting_named("max_retries")
#: The recovery paths that can be switched on and off, in the order they are tried.
RECOVERIES = tuple(path for path in RecoveryPath if path is not RecoveryPath.DIRECT)


def listed(names: Any) -> str:
    """`a, b, c`: the known words of a sentence."""
    return ", ".join(str(name) for name in names)


def limit_clean(name: str, value: Any) -> int | float | None:
    """One limit by its name (one of `LIMIT_FIELDS`)."""
    return _number_clean(name, LIMIT_FIELDS[name], value)


def retention_clean(value: Any) -> dict[str, int | None]:
    """`{keep_raw_days: days | null}`; null: forever, whatever is said elsewhere. Empty: nothing is said."""
    if not isinstance(value, Mapping):
        raise ValidationError('retention must be an object such as `{"keep_raw_days": 30}`.')
    if unknown := [key for key in value if key not in RETENTION_FIELDS]:
        raise ValidationError(f"retention has no {quoted(str(unknown[0]))}; its fields are {listed(RETENTION_FIELDS)}.")
    cleaned = {name: _number_clean(name, RETENTION_FIELDS[name], given) for name, given in value.items()}
    return {name: None if number is None else int(number) for name, number in cleaned.items()}


def number_clean(name: str, value: Any) -> int | float | None:
    """A number of a policy by its name, whichever part of it has it."""
    return _number_clean(name, LIMIT_FIELDS.get(name) or RETENTION_FIELDS[name], value)


def _number_clean(name: str, limit: LimitField, value: Any) -> int | float | None:
    if value is None and limit.unset is not None:
        return None
    # A whole number may be larger than any float: only a float is asked whether it is finite.
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else None
    if number is None or (isinstance(number, float) and (limit.whole or not math.isfinite(number))):
        number = None
    if number is None or not limit.minimum <= number <= limit.maximum:
        raise RuleError(f"{limit.label} ({name})", name, limit.rule)
    return number


def limits_clean(value: Any) -> dict[str, int | float | None]:
    """Limits as given, by our names; the spec's four configuration keys are taken for the fields they mean."""
    if not isinstance(value, Mapping):
        raise ValidationError('limits must be an object such as `{"max_continuations": 3}`.')
    clean: dict[str, int | float | None] = {}
    errors: list[ValidationError] = []
    for key, given in value.items():
        try:
            name = _limit_name(key)
            if name in clean:
                twice = f"{setting_named(name)} is set twice: by its own key and by its key in the specification."
                raise ValidationError(f"{twice} Set it once.", code=name)
            clean[name] = limit_clean(name, given)
        except ValidationError as error:
            errors += error.error_list
    if errors:
        raise ValidationError(errors)
    return clean


def _limit_name(key: Any) -> str:
    name = SPEC_KEYS.get(key, key) if isinstance(key, str) else key
    if name in ("preset", "max_retries", *HANDLING_KEYS):
        raise ValidationError(f"{quoted(str(key))} is not a limit; it belongs in `error_policy`.")
    if name not in LIMIT_FIELDS:
        raise ValidationError(f"There is no limit {quoted(str(key))}; the limits are {listed(LIMIT_FIELDS)}.")
    return str(name)


def error_policy_clean(value: Any) -> dict[str, Any]:
    """`{preset?, max_retries?, on_<type>_error?…}`. A preset speaks of every type of error; without one only what is
    named is said, and what nobody says is as in `stop_on_any_error`."""
    if not isinstance(value, Mapping):
        raise ValidationError('error_policy must be an object such as `{"preset": "retry_tool_errors"}`.')
    errors: list[str | ValidationError] = [
        f"error_policy has no {quoted(str(key))}; its fields are {listed(('preset', 'max_retries', *HANDLING_KEYS))}."
        for key in value
        if key not in ("preset", "max_retries", *HANDLING_KEYS)
    ]
    if value.get("preset", "stop_on_any_error") not in tuple(PRESETS):
        errors.append(f"There is no error policy {quoted(value['preset'])}; the presets are {listed(PRESETS)}.")
    retries = value.get("max_retries", 0)
    if not isinstance(retries, int) or isinstance(retries, bool) or not 0 <= retries <= MAX_RETRIES:
        errors.append(RuleError(_RETRIES, "max_retries", number_rule(0, MAX_RETRIES, whole=True)))
    decisions = tuple(ErrorHandlingDecision)
    errors += [
        ValidationError(f"{setting_named(key)} must be one of {listed(decisions)}, not {quoted(value[key])}.", code=key)
        for key in HANDLING_KEYS
        if key in value and value[key] not in decisions
    ]
    if errors:
        raise ValidationError(errors)
    return dict(value)


def error_policy_warning(error_policy: Mapping[str, Any]) -> str | None:
    """A sentence about a clean error policy that says "retry" and yet never retries; None if it is sound."""
    preset = PRESETS[error_policy.get("preset", "stop_on_any_error")]
    retries = error_policy.get("max_retries", preset.max_retries)
    retried = [key for key in HANDLING_KEYS if error_policy.get(key, getattr(preset, key)) == "retry"]
    if not retried or retries > 1:
        return None
    errors = listed(map(setting_named, retried))
    if not {"preset", "max_retries"} & error_policy.keys():
        return (
            f"Retry is set for {errors}, but {_RETRIES} is not set: unless an attached policy sets it to 2 or more, "
            "nothing is retried."
        )
    return (
        f"Retry is set for {errors}, but {_RETRIES} is {retries}: the turn stops at the failure with that number, so "
        "nothing is ever retried. Set it to 2 or more to allow a retry."
    )


def tool_calls_on_truncation_clean(value: Any) -> str:
    if value not in tuple(OnTruncation):
        words = (
            f"{setting_named('tool_calls_on_truncation')} must be one of {listed(OnTruncation)}, not {quoted(value)}."
        )
        raise ValidationError(words, code="tool_calls_on_truncation")
    return str(value)


def truncation_said_clean(value: Any) -> str:
    """The same of a version, which may leave it unsaid: empty."""
    return "" if value == "" else tool_calls_on_truncation_clean(value)


def envelope_clean(value: Any) -> dict[str, Any] | None:
    """`{recovery: [path]}` with the paths in the order they are tried; None where nothing is said of them."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise ValidationError('envelope must be an object such as `{"recovery": ["markdown-fence"]}`, or be left out.')
    if unknown := [key for key in value if key != "recovery"]:
        elsewhere = f" {quoted(unknown[0])} is one of the limits." if unknown[0] in LIMIT_FIELDS else ""
        raise ValidationError(f"envelope has no {quoted(str(unknown[0]))}; its field is recovery.{elsewhere}")
    return {"recovery": _recovery_clean(value["recovery"])} if "recovery" in value else None


def _recovery_clean(value: Any) -> list[str]:
    if not isinstance(value, list):
        raise ValidationError(f"envelope.recovery must be a list of {listed(RECOVERIES)}, not {quoted(value)}.")
    # Reading the text as it is cannot be switched off: naming it says nothing new.
    known = (RecoveryPath.DIRECT, *RECOVERIES)
    if unknown := [path for path in value if path not in known]:
        raise ValidationError(f"There is no recovery path {quoted(unknown[0])}; the paths are {listed(RECOVERIES)}.")
    return [path.value for path in RECOVERIES if path in value]


def finish_reasons_clean(value: Any) -> list[str]:
    """Normalized stop reasons after which the agent must not go on, each once, in the order of the enumeration."""
    if not isinstance(value, list):
        raise ValidationError(
            f'finish_reasons must be a list of stop reasons such as `["max_tokens"]`, not {quoted(value)}.'
        )
    if unknown := [word for word in value if word not in tuple(NormalizedStopReason)]:
        raise ValidationError(f"There is no stop reason {quoted(unknown[0])}; they are {listed(NormalizedStopReason)}.")
    return [reason.value for reason in NormalizedStopReason if reason in value]


PRESETS_THAT_NEVER_RETRY = tuple(name for name in PRESETS if error_policy_warning({"preset": name}))


def limits_valid(value: Any) -> None:
    limits_clean(value)


def error_policy_valid(value: Any) -> None:
    error_policy_clean(value)


def tool_calls_on_truncation_valid(value: Any) -> None:
    truncation_said_clean(value)


def envelope_valid(value: Any) -> None:
    envelope_clean(value)


def retention_valid(value: Any) -> None:
    retention_clean(value)


def finish_reasons_valid(value: Any) -> None:
    finish_reasons_clean(value)
