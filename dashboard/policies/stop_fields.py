"""Which field of a policy ended a turn. Pure; told by the reasons a turn ends with (design §3.2)."""

from collections.abc import Mapping

from agentcore.resource import RESOURCES

#: By terminal reason, where that alone says it.
BY_TERMINAL: Mapping[str, str] = {
    "retry_limit": "limits.max_continuations",
    "budget_exhausted": "limits.max_total_completion_tokens",
    "output_cap": "limits.max_total_output_chars",
    "tool_repair_failed": "limits.max_tool_repair_attempts",
    "envelope_invalid": "limits.schema_rounds",
    "envelope_truncation_unrecoverable": "limits.schema_rounds",
}
#: By the criterion that forbade: the built-in ones ask about one field each, any other is one of `criteria`.
BY_CRITERION: Mapping[str, str] = {
    "StepsLimit": "limits.max_steps",
    "TokenUsageLimit": "limits.max_total_tokens",
    "ExecutionTimeLimit": "limits.max_seconds",
    "FinishReasonCheck": "finish_reasons",
}
#: A connection's ceiling, and what a watched caller asked for, are no policy's word.
NOT_OF_POLICIES = ("max_output_tokens", "max_tokens")
#: By the limit that ran out.
BY_RESOURCE: Mapping[str, str] = {
    **{name: f"limits.{name}" for name in RESOURCES if name not in ("max_retries", *NOT_OF_POLICIES)},
    "max_retries": "error_policy.max_retries",
}
#: What settles a judgement beside those: the machine's own criteria, and all of them together.
OF_THE_MACHINE = ("TruncationCriterion", "EnvelopeCriterion", "ErrorPolicyCriterion", "aggregate")
#: By the agent's stop reason, where nothing tells which criterion forbade: one of a policy's own may say any of these.
BY_STOP: Mapping[str, str] = {
    "steps_limit": "limits.max_steps",
    "token_limit": "limits.max_total_tokens",
    "time_limit": "limits.max_seconds",
    "finish_reason": "finish_reasons",
}
#: Terminal reasons under which some field of the policy may have ended the turn.
TERMINAL = (*BY_TERMINAL, "forbidden", "provider_error")


#: Where the last judgement's criterion must be looked up, for the reasons alone do not tell.
ASKED = ("forbidden", "budget_exhausted", "provider_error")


def clause_of(
    *,
    terminal_reason: str | None,
    stop_reason: str | None,
    error_type: str | None = None,
    resolved_by: str = "",
    resource: str | None = None,
) -> str | None:
    """The field (of `policy_resolution.FIELDS`) whose word ended the turn; None where none did.

    `resolved_by`: the criterion that settled the last judgement, needed where the terminal reason is one of `ASKED`.
    `resource`: the limit that ran out, where that is known; it decides.
    """
    if resource is not None:
        return BY_RESOURCE.get(resource)
    if terminal_reason not in TERMINAL:
        return None
    if terminal_reason in ASKED and resolved_by in BY_CRITERION:
        return BY_CRITERION[resolved_by]
    if terminal_reason in BY_TERMINAL:
        return BY_TERMINAL[terminal_reason]
    if terminal_reason == "provider_error" or (resolved_by == "ErrorPolicyCriterion" and error_type):
        return "error_policy.max_retries" if stop_reason == "retry_limit" else f"error_policy.on_{error_type}_error"
    if resolved_by and resolved_by not in OF_THE_MACHINE:
        return "criteria"
    return BY_STOP.get(stop_reason or "", "criteria")
