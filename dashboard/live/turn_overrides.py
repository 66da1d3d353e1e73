"""What a turn is asked with in place of its agent's and its policy's own words, judged in words."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError

from agentcore.quoting import quoted
from dashboard.agents.models import Connection
from dashboard.agents.policy_validation import (
    error_policy_clean,
    limits_clean,
    retention_clean,
    tool_calls_on_truncation_clean,
)
from dashboard.agents.validation import max_tokens_within, model_valid
from dashboard.platform.fields import storable_text

MAX_MODEL_CHARS = 200
OVERRIDES = ("max_tokens", "limits", "error_policy", "tool_calls_on_truncation", "retention", "system_prompt", "model")


def overrides_clean(given: Mapping[str, Any], connection_: Connection | None) -> dict[str, Any]:
    """A turn's overrides, judged as the agent's and the policy's own fields are. No connection: no ceiling either."""
    unknown = sorted(set(given) - set(OVERRIDES))
    if unknown:
        raise ValidationError(
            {"overrides": f"There is no override {quoted(unknown[0])}; there are {', '.join(OVERRIDES)}."}
        )
    clean, errors = {}, {}
    for name, value in given.items():
        if value is None:
            continue
        try:
            clean[name] = _override_clean(name, value, connection_)
        except ValidationError as error:
            errors[name] = error
    if errors:
        raise ValidationError(errors)
    return clean


def _override_clean(name: str, value: Any, connection_: Connection | None) -> Any:
    match name:
        case "max_tokens":
            known = (connection_.ceiling, connection_.name) if connection_ else (None, "")
            max_tokens_within(value, ceiling=known[0], connection=known[1])
            return value
        case "limits":
            return limits_clean(value)
        case "error_policy":
            error_policy_clean(value)
            return dict(value)
        case "tool_calls_on_truncation":
            return tool_calls_on_truncation_clean(value)
        case "retention":
            return retention_clean(value)
        case "model":
            return model_clean(value)
        case _:
            if not isinstance(value, str):
                raise ValidationError("The system prompt must be text.")
            return storable_text(value)


def model_clean(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_MODEL_CHARS:
        raise ValidationError(f"The model must be a name of 1 to {MAX_MODEL_CHARS} characters.")
    model_valid(value)
    return storable_text(value)
