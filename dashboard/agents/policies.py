"""From a stored policy and a turn's overrides to the core's `Policy`.

Also holds the JSON repairer given to the core, used where a policy allows repair (`envelope.recovery`).
"""

from collections.abc import Mapping
from typing import Any

import json_repair
from django.core.exceptions import ValidationError

from agentcore.error_policy import PRESETS, ErrorHandlingDecision, ErrorPolicy
from agentcore.policy import REVISION, CriterionSpec, EnvelopeRules, Limits, OnTruncation, Policy, RecoveryPath, stated
from agentcore.reasons import NormalizedStopReason
from agentcore.serial import policy_from_json
from agentcore.values import replace
from dashboard.agents import policy_validation
from dashboard.agents.criteria import criteria_clean, criteria_faults, criterion_of
from dashboard.agents.models import PolicyVersion
from dashboard.agents.policy_validation import error_policy_warning
from dashboard.agents.schema_validation.validator import violations

MAX_REPAIRED = 100_000  #: characters
#: Times that the repairer looks at a character of the text. It looks at each some ten times, but for texts such as
#: `{"{"{"…`, whose time grows with the square of their length. Unlike a time, this is the same at every replay.
MOST_LOOKS = 1_000_000


def repaired(text: str) -> str:
    """The text as JSON; empty where there is nothing to repair, or too much."""
    if len(text) > MAX_REPAIRED:
        return ""
    try:
        # The core reads the result strictly; no second reading here.
        return str(json_repair.repair_json(_Counted(text), skip_json_loads=True, ensure_ascii=False))
    except Exception:
        # Whatever it stumbles over in what a model said: nothing was repaired, and the answer is judged as it is.
        return ""


class _TooOften(Exception):
    """The repairer has looked at enough."""


class _Counted(str):
    """A text that can be looked at so often."""

    _left = MOST_LOOKS

    def __getitem__(self, place: Any) -> str:
        self._left -= 1
        if self._left < 0:
            raise _TooOften
        return super().__getitem__(place)


#: What a policy says, by the names the API, a version's columns and a draft's keys share.
POLICY_FIELDS = (
    "limits", "error_policy", "envelope", "tool_calls_on_truncation", "finish_reasons", "criteria", "retention",
)  # fmt: skip


def policy_for(version: PolicyVersion | None, overrides: Mapping[str, Any]) -> Policy:
    """The policy a turn runs under: the version's words, each override on top, field by field."""
    said = {} if version is None else {field: getattr(version, field) for field in POLICY_FIELDS}
    return overridden(draft_policy(said), overrides)


def draft_policy(body: Mapping[str, Any]) -> Policy:
    """The policy that clean words describe, by `POLICY_FIELDS`; what is left out or null has its default.

    How long raw answers are kept is no part of it: that judges nothing.
    """
    return _able(
        Policy(
            limits=replace(Limits(), **body.get("limits") or {}),
            error_policy=error_policy_of(body.get("error_policy") or {}),
            tool_calls_on_truncation=OnTruncation(body.get("tool_calls_on_truncation") or "execute_if_complete"),
            finish_reasons=tuple(NormalizedStopReason(word) for word in body.get("finish_reasons") or ()),
            criterion_specs=tuple(CriterionSpec(**said) for said in body.get("criteria") or ()),
            envelope=envelope_rules_of(body.get("envelope")),
            drop_repetitions=True,
            tell_estimates=True,
            revision=REVISION,
        )
    )


def envelope_rules_of(body: Mapping[str, Any] | None) -> EnvelopeRules:
    """`{recovery?: [path]}` as a value. Versions from before there were rules may hold other keys."""
    recovery = (body or {}).get("recovery")
    return EnvelopeRules() if recovery is None else EnvelopeRules(tuple(RecoveryPath(path) for path in recovery))


def overridden(policy: Policy, overrides: Mapping[str, Any]) -> Policy:
    """The policy with a turn's overrides (see `dashboard.live.services.OVERRIDES`) in place of its own words."""
    limits = replace(policy.limits, **overrides.get("limits") or {})
    changed = overrides.get("error_policy")
    wanted = replace(
        policy,
        limits=limits,
        error_policy=error_policy_of(changed, policy.error_policy) if changed else policy.error_policy,
        tool_calls_on_truncation=OnTruncation(
            overrides.get("tool_calls_on_truncation") or policy.tool_calls_on_truncation
        ),
        max_tokens=overrides.get("max_tokens") or policy.max_tokens,
        system_prompt=overrides.get("system_prompt", policy.system_prompt),
        model=overrides.get("model") or policy.model,
    )
    return stated(wanted, policy)


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
    """A policy as a turn keeps it, able to judge again."""
    return _able(policy_from_json(body))


def policy_warnings(version: PolicyVersion) -> list[str]:
    """What a version says that surely is not meant, or that does not work any more, in sentences."""
    warning = error_policy_warning(version.error_policy)
    return [*([warning] if warning else []), *criteria_faults(policy_for(version, {}))]


def _able(policy: Policy) -> Policy:
    """The policy with what its words name and the core does not have: validator, repairer, criteria."""
    criteria = tuple(criterion_of(spec) for spec in policy.criterion_specs)
    return replace(policy, validate=violations, repair=repaired, criteria=criteria)


def policy_said(**given: Any) -> dict[str, Any]:
    """What the version stores, by field; all that is wrong with it is said at once."""
    clean: dict[str, Any] = {}
    errors: dict[str, ValidationError] = {}
    for field, value in given.items():
        try:
            clean[field] = POLICY_CLEANERS[field](value)
        except ValidationError as error:
            errors[field] = error
    if errors:
        raise ValidationError(errors)
    return clean


POLICY_CLEANERS = {
    "limits": policy_validation.limits_clean,
    "error_policy": policy_validation.error_policy_clean,
    "envelope": policy_validation.envelope_clean,
    "tool_calls_on_truncation": policy_validation.truncation_said_clean,
    "finish_reasons": policy_validation.finish_reasons_clean,
    "criteria": criteria_clean,
    "retention": policy_validation.retention_clean,
}
