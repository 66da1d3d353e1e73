"""The capability block (RFC 0032 §C, RFC 0033 §E): what this host does for an envelope that is not complete."""

from typing import Any

from dashboard.agents.policies import policy_for

#: What a turn's records carry; their fields are in design §3.7.
EVENTS = (
    "envelope.truncated",
    "envelope.retry.attempted",
    "envelope.retry.exhausted",
    "envelope.refusal",
    "envelope.recovery.applied",
    "cap.breached",
)


def capabilities() -> dict[str, Any]:
    """`{envelopes, capabilities: {envelopes}}`: the block, and once more where other readers look for it.

    `maxRetryAttempts` counts calls, the first among them, under the policy of an agent that names none.
    """
    limits = policy_for(None, {}).limits
    multiplier = limits.truncation_budget_multiplier
    reliability = {
        "supported": True,
        "events": list(EVENTS),
        "maxRetryAttempts": limits.schema_rounds + 1,
        "completion": {
            "distinguishesTruncation": True,
            "truncationBudgetMultiplier": int(multiplier) if multiplier == int(multiplier) else multiplier,
        },
    }
    envelopes = {"reliability": reliability}
    return {"envelopes": envelopes, "capabilities": {"envelopes": envelopes}}
