"""Keeps a what-if as a draft policy."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from django.core.exceptions import ValidationError

from agentcore import serial
from agentcore.policy import Policy
from dashboard.accounts.models import User
from dashboard.agents.models import PolicyVersion
from dashboard.agents.policies import overridden, stored_policy
from dashboard.live.services import overrides_clean
from dashboard.live.turn_loader import connection_of
from dashboard.policies.policy_creation import policy_create
from dashboard.turns.models import Turn


def policy_of_replay(
    *, turn: Turn, overrides: Mapping[str, Any], name: str, created_by: User | None = None
) -> PolicyVersion:
    """The turn's policy under these numbers as a draft: of a new policy, or of one that has this name already.

    max_tokens, the prompt and the model are the agent's, not a policy's: they are not kept.
    """
    if not name:
        raise ValidationError("Give the policy a name. The name of an existing policy creates its next version.")
    wanted = overrides_clean(overrides, connection_of(turn))
    policy = overridden(stored_policy(turn.policy), wanted)
    return policy_create(project=turn.project, name=name, created_by=created_by, activate=False, **_said(policy))


def _said(policy: Policy) -> dict[str, Any]:
    limits = {field.name: getattr(policy.limits, field.name) for field in fields(policy.limits)}
    return {
        "limits": limits,
        "error_policy": {key: serial.to_json(value) for key, value in serial.to_json(policy.error_policy).items()},
        "envelope": {"recovery": [path.value for path in policy.envelope.recovery]},
        "tool_calls_on_truncation": policy.tool_calls_on_truncation.value,
        "finish_reasons": [reason.value for reason in policy.finish_reasons],
        "criteria": [serial.to_json(spec) for spec in policy.criterion_specs],
    }
