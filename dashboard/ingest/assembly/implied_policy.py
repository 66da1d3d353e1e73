"""The policy implied by the calls of a turn: it allows exactly what was done."""

from functools import lru_cache

from agentcore.error_policy import ErrorHandlingDecision, ErrorPolicy
from agentcore.policy import LIMIT_NAMES, Policy
from agentcore.values import replace
from dashboard.agents.observe_policy import watching
from dashboard.ingest.assembly.call_links import CallLink
from dashboard.ingest.assembly.turn_grouping import TurnCalls

ENDLESS = 10**9  #: tokens; more than any turn has


def implied(turn: TurnCalls, base: Policy) -> Policy:
    """`base`: the policy of nobody's words, able to judge. Turns of as many calls of each kind have the same one."""
    return _implied(tuple(step.joint for step in turn.steps[1:]), base)


@lru_cache(maxsize=256)
def _implied(joints: tuple[CallLink | None, ...], base: Policy) -> Policy:
    watched = watching(base)
    if not joints:
        return watched
    counts = {joint: joints.count(joint) for joint in CallLink}
    limits = replace(
        watched.limits,
        max_continuations=counts[CallLink.CONTINUATION],
        max_tool_repair_attempts=counts[CallLink.REPAIR],
        max_steps=max(watched.limits.max_steps, counts[CallLink.TOOLS] + 2),
        max_total_completion_tokens=ENDLESS,
    )
    return replace(watched, limits=limits, error_policy=_errors(counts[CallLink.RETRY]))


def _errors(retries: int) -> ErrorPolicy:
    """A tool that failed did not stop it; a call that failed was tried again so often."""
    ignoring = ErrorPolicy(on_tool_error=ErrorHandlingDecision.IGNORE)
    if not retries:
        return ignoring
    retrying = ErrorPolicy.retry_all(max_retries=retries + 1)
    return replace(retrying, on_tool_error=ErrorHandlingDecision.IGNORE)


def told(turn: TurnCalls, policy: Policy) -> str:
    """The policy in a sentence."""
    if len(turn.steps) == 1:
        return "Consistent with a policy that allows no further call."
    limits = policy.limits
    parts = [
        f"Max continuations {limits.max_continuations}",
        f"Max tool-call repairs {limits.max_tool_repair_attempts}",
        f"{LIMIT_NAMES['max_retries']} {policy.error_policy.max_retries}",
    ]
    return f"Consistent with a policy of {', '.join(parts)}."
