"""OpenAPI of a policy's parts: every key with its meaning, range and default."""

from typing import Any

from agentcore.error_policy import PRESETS, ErrorHandlingDecision
from agentcore.policy import SPEC_KEYS
from dashboard.agents.criteria import POLICY_CRITERIA
from dashboard.agents.limit_fields import (
    FAILURES_MEANING,
    LIMIT_FIELDS,
    RETENTION_FIELDS,
    LimitField,
    default_in_words,
)
from dashboard.agents.policy_validation import HANDLING_KEYS, MAX_RETRIES, RECOVERIES, listed


def _number_schema(name: str, limit: LimitField, meaning: str = "") -> dict[str, Any]:
    kind = "integer" if limit.whole else "number"
    return {
        "type": kind if limit.unset is None else [kind, "null"],
        "minimum": limit.minimum,
        "maximum": limit.maximum,
        "description": f"{meaning or limit.meaning} Left out: {default_in_words(name)}.",
    }


def limits_schema() -> dict[str, Any]:
    also = SPEC_KEYS.items()
    return {
        "type": "object",
        "properties": {
            **{name: _number_schema(name, limit) for name, limit in LIMIT_FIELDS.items()},
            **{key: _number_schema(ours, LIMIT_FIELDS[ours], f"Alias of {ours}.") for key, ours in also},
        },
        "examples": [{"max_continuations": 5, "max_total_completion_tokens": 2000}],
    }


def retention_schema() -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: _number_schema(name, number) for name, number in RETENTION_FIELDS.items()},
        "additionalProperties": False,
        "examples": [{"keep_raw_days": 30}],
    }


def error_policy_schema() -> dict[str, Any]:
    handling = {"enum": [decision.value for decision in ErrorHandlingDecision]}
    return {
        "type": "object",
        "properties": {
            "preset": {
                "enum": list(PRESETS),
                "description": "The preset sets every type of error. If it is left out, only the named types are set, "
                "and the others are handled as in stop_on_any_error. With ignore_tool_errors, nothing is "
                "retried unless max_retries is set to 2 or more, and `warnings` says so.",
            },
            "max_retries": {
                "type": "integer",
                "minimum": 0,
                "maximum": MAX_RETRIES,
                "description": FAILURES_MEANING,
            },
            **dict.fromkeys(HANDLING_KEYS, handling),
        },
        "examples": [{"preset": "retry_tool_errors", "max_retries": 3, "on_model_error": "retry"}],
    }


def envelope_schema() -> dict[str, Any]:
    paths = {"enum": [path.value for path in RECOVERIES]}
    return {
        "type": "object",
        "properties": {
            "recovery": {
                "type": "array",
                "items": paths,
                "description": "How JSON is recovered from an answer that is not valid JSON. No path costs a retry. "
                "`jsonrepair`, off by default, also repairs malformed JSON, but never a truncated answer.",
            }
        },
        "additionalProperties": False,
        "examples": [{"recovery": ["markdown-fence", "brace-walker", "jsonrepair"]}],
    }


def criterion_schema() -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "path": {
                "type": "string",
                "description": "`module.Class` of a module that WHYSTOP_CRITERIA lists, or built in: "
                f"{listed(POLICY_CRITERIA)}.",
            },
            "kwargs": {"type": "object", "description": "Keyword arguments of the class."},
        },
        "required": ["path"],
        "additionalProperties": False,
        "examples": [{"path": "ResponseContentCheck", "kwargs": {"message": "Say more.", "min_chars": 200}}],
    }
