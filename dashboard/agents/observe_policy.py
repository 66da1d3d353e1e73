"""The policy of calls in observe mode, and how their turns are recognised. Pure.

Its policy does not act on it: nothing more is asked for, nothing is cut, and how it ended is what its provider said.
"""

from collections.abc import Mapping
from typing import Any

from agentcore.error_policy import ErrorPolicy
from agentcore.events import OperatorActed
from agentcore.policy import Policy
from agentcore.replay import Recording
from agentcore.values import replace
from dashboard.agents.policy_resolution import ERROR_FIELDS

ENDLESS_CHARS = 10**9  #: more than any answer has, and than any policy may say
WATCHER = "the gateway"  #: who allows a pause to be resumed: as operator of its own turn, in its history

WATCHED_LIMITS: Mapping[str, Any] = {
    "max_continuations": 0,
    "max_tool_repair_attempts": 0,
    "schema_rounds": 0,
    "max_total_output_chars": ENDLESS_CHARS,
    "max_total_completion_tokens": None,
    "max_total_tokens": None,
    "max_seconds": None,
}
#: Limits that older policies of watched calls have as their author set them.
_ONCE_KEPT = ("max_total_completion_tokens", "max_total_tokens")
#: All that is so replaced; by no policy's author.
WATCHED_FIELDS = (
    *(f"limits.{name}" for name in WATCHED_LIMITS),
    *(f"error_policy.{name}" for name in ERROR_FIELDS),
    "finish_reasons",
    "criteria",
)


def watching(policy: Policy) -> Policy:
    """The policy of a call that is only watched: it allows nothing more, so that the verdict says what would have.

    Nor does it take anything away: an answer is not cut, and a call not ended, because of a limit of ours.
    """
    return replace(
        policy,
        limits=replace(policy.limits, **WATCHED_LIMITS),
        error_policy=ErrorPolicy.stop_on_any_error(),
        finish_reasons=(),
        criteria=(),
        criterion_specs=(),
        watched=True,
    )


def was_watched(policy: Policy) -> bool:
    """Whether a turn that ran under this policy was only watched. Older turns' sources do not tell."""
    if policy.limits.max_total_output_chars != ENDLESS_CHARS:
        return False
    limits = replace(policy.limits, **{name: WATCHED_LIMITS[name] for name in _ONCE_KEPT})
    return watching(policy) == replace(policy, limits=limits, watched=True)


def is_observed(stored: Mapping[str, Any]) -> bool:
    """The same of a policy as a turn keeps it, also of one whose limits are those that its calls imply."""
    return bool(stored.get("watched"))


def by_itself(recording: Recording) -> Recording:
    """A watched turn without the watcher's own acts, as the same decisions: what a draft allows is then all it allows.

    Each act allowed one resume more of an answer that its provider had paused.
    """
    acts = [record for record in recording.records if _is_ours(record.event)]
    if not acts:
        return recording
    policy = recording.policy
    limits = replace(policy.limits, max_continuations=policy.limits.max_continuations + len(acts))
    kept = tuple(record for record in recording.records if not _is_ours(record.event))
    return replace(recording, policy=replace(policy, limits=limits), records=kept)


def _is_ours(event: Any) -> bool:
    return isinstance(event, OperatorActed) and event.by == WATCHER
