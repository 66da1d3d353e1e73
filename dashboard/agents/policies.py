"""From a stored policy and a turn's overrides to the core's `Policy`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agentcore.error_policy import PRESETS, ErrorHandlingDecision, ErrorPolicy
from agentcore.policy import Limits, OnTruncation, Policy
from agentcore.serial import policy_from_json
from dashboard.agents.models import PolicyVersion
from dashboard.agents.schemas import violations


def policy_for(version: PolicyVersion | None, overrides: Mapping[str, Any]) -> Policy:
    """The policy a turn runs under: the version's words, each override on top, field by field."""
    said = _said(version)
    return overridden(
        Policy(
            limits=replace(Limits(), **said["limits"]),
            error_policy=error_policy_of(said["error_policy"]),
            tool_calls_on_truncation=OnTruncation(said["tool_calls_on_truncation"]),
            validate=violations,
        ),
        overrides,
    )


def draft_policy(body: Mapping[str, Any]) -> Policy:
    """The policy of a draft that is not stored: `{limits?, error_policy?, tool_calls_on_truncation?}`."""
    return Policy(
        limits=replace(Limits(), **body.get("limits") or {}),
        error_policy=error_policy_of(body.get("error_policy") or {}),
        tool_calls_on_truncation=OnTruncation(body.get("tool_calls_on_truncation") or "execute_if_complete"),
        validate=violations,
    )


def overridden(policy: Policy, overrides: Mapping[str, Any]) -> Policy:
    """The policy with `{max_tokens?, limits?, error_policy?, system_prompt?, model?}` in place of its own."""
    limits = replace(policy.limits, **overrides.get("limits") or {})
    changed = overrides.get("error_policy")
    return replace(
        policy,
        limits=limits,
        error_policy=error_policy_of(changed, policy.error_policy) if changed else policy.error_policy,
        max_tokens=overrides.get("max_tokens") or policy.max_tokens,
        system_prompt=overrides.get("system_prompt", policy.system_prompt),
        model=overrides.get("model") or policy.model,
    )


def error_policy_of(body: Mapping[str, Any], base: ErrorPolicy | None = None) -> ErrorPolicy:
    """`{preset?, max_retries?, on_<type>_error?…}` as a value; without a preset it changes `base`."""
    preset = body.get("preset")
    policy = PRESETS[preset] if preset else base or ErrorPolicy.stop_on_any_error()
    changes: dict[str, Any] = {
        key: ErrorHandlingDecision(value) for key, value in body.items() if key.startswith("on_")
    }
    if "max_retries" in body:
        changes["max_retries"] = body["max_retries"]
    return replace(policy, **changes)


def stored_policy(body: dict[str, Any]) -> Policy:
    """A policy as a turn keeps it, able to validate again."""
    return replace(policy_from_json(body), validate=violations)


def _said(version: PolicyVersion | None) -> Mapping[str, Any]:
    if version is None:
        return {"limits": {}, "error_policy": {}, "tool_calls_on_truncation": "execute_if_complete"}
    return {
        "limits": version.limits,
        "error_policy": version.error_policy,
        "tool_calls_on_truncation": version.tool_calls_on_truncation,
    }
