"""The resource that ran out: the limit that ended a turn, separate from the stop reasons of agent and model.

It is derived from the last judgement: from the deciding criterion and its numbers.
"""

from collections.abc import Callable, Mapping
from typing import Any

from agentcore.continuation_outcome import ContinuationOutcome
from agentcore.criteria.incomplete_answers import APART, MAX_TOKENS, NO_RETRY
from agentcore.cuts import last_cut, same_caps
from agentcore.errors import ErrorType
from agentcore.events import APPROVAL_TIME_LIMIT
from agentcore.policy import limit_in_words
from agentcore.reasons import NormalizedStopReason, StopReason
from agentcore.snapshot import Snapshot
from agentcore.snapshot_parts import Failure

Json = Mapping[str, Any]  #: An outcome, as written by `ContinuationOutcome.to_dict`.

#: The limit that a criterion checks, by its key in policies.
LIMIT_OF: Mapping[str, str] = {
    "StepsLimit": "max_steps",
    "TokenUsageLimit": "max_total_tokens",
    "ExecutionTimeLimit": "max_seconds",
}
#: The key of the time limit of an approval, which is the agent's.
APPROVAL_SECONDS = "approvals.seconds"
IDLE = 2  #: The number of consecutive truncated answers without new text that ends the turn.
#: The description of that cause in verdicts and other possible transitions.
REPEATED = "two truncated answers in a row that added nothing new"
#: The same, if the last answer has no text because reasoning used up its cap.
REASONED = "two answers in a row in which reasoning used up {}"
#: What it used up of calls of which another limit made the cap smaller.
ALL_TOKENS = "all tokens of the call"
#: The same, if only an error reported that the cap was used up.
USED_UP = f"two calls in a row that used up {limit_in_words('max_tokens')} before any text came"
#: All resources that can run out: the limits of a policy, the retries of its error policy, a connection's ceiling for
#: one call, the cap of the call itself for an observed turn, and the time that an agent's approvals wait.
RESOURCES = (
    "max_continuations",
    "max_total_completion_tokens",
    "max_total_output_chars",
    "max_tool_repair_attempts",
    *LIMIT_OF.values(),
    "schema_rounds",
    "max_retries",
    "max_output_tokens",
    "max_tokens",
    APPROVAL_SECONDS,
)
#: Terminal reasons under which nothing of ours ran out, whatever a criterion said beside.
_UNBOUND = frozenset(
    {
        "completed",
        "empty_output",
        "cancelled",
        "interrupted",
        "safety_blocked",
        "context_window_exceeded",
        "unknown_fatal",
        "envelope_refusal",
    }
)
#: What the limits that are counted at `continue_pending` and `repair_pending` bind as.
_BOUND: Mapping[str, str] = {"retry_limit": "max_continuations", "output_cap": "max_total_output_chars"}


def resource_of(snapshot: Snapshot) -> str | None:
    """The limit (one of `RESOURCES`) that ended the turn; None while it runs, and if no limit ended it."""
    end, outcome = snapshot.end, snapshot.outcome
    if unapproved_tools(snapshot):
        return APPROVAL_SECONDS
    if end is None or outcome is None or end.terminal_reason in _UNBOUND:
        return None
    floor = snapshot.setup.output_floor if snapshot.setup else 1
    reasons = (end.terminal_reason, end.stop_reason.value, snapshot.model_stop_reason)
    hopeless = no_retry_helps(snapshot)
    found = resource_in(outcome.to_dict(), *reasons, floor=floor, hopeless=hopeless, judged=outcome)
    return limit_of_observed(snapshot) if snapshot.observed and found else found


def limit_of_observed(snapshot: Snapshot) -> str | None:
    """The limit that ended calls that were only observed: the cap of the last one, where it is known that it cut the
    answer. No other limit is known of them, for their program has those."""
    cut = snapshot.model_stop_reason == NormalizedStopReason.MAX_TOKENS
    return MAX_TOKENS if cut and last_cut(snapshot) == MAX_TOKENS else None


def unapproved_tools(snapshot: Snapshot) -> tuple[str, ...]:
    """The tool of each call that nobody approved in time, where the first error of the refused calls ended the turn;
    where it was cancelled, each tool once. Empty for any other turn."""
    approvals = snapshot.setup.approvals if snapshot.setup else None
    if approvals is None or approvals.seconds is None or snapshot.end is None:
        return ()
    if snapshot.cancelled_by == APPROVAL_TIME_LIMIT:
        return snapshot.approving
    failure = refusal_that_ended(snapshot)
    return failure.refused if failure is not None and failure.refused_by == APPROVAL_TIME_LIMIT else ()


def refusal_that_ended(snapshot: Snapshot) -> Failure | None:
    """The error of calls that were not approved, where the error policy ended the turn because of it; else None."""
    failure, by = snapshot.failure, snapshot.outcome.resolved_by if snapshot.outcome else ""
    if snapshot.end is None or failure is None or failure.unresolved or by != "ErrorPolicyCriterion":
        return None
    return failure if failure.refused else None


def idle_in_words(snapshot: Snapshot) -> str:
    """The cause of ending a turn whose last answers added nothing, as worded in verdicts."""
    if snapshot.eaten:
        return REASONED.format(limit_in_words(MAX_TOKENS) if same_caps(snapshot) else ALL_TOKENS)
    return USED_UP if snapshot.refused_as_cut else REPEATED


def characters_spent(snapshot: Snapshot) -> bool:
    """Whether no further character is allowed. A cap inside a grapheme leaves a remainder that nothing fits into."""
    return snapshot.cut_at_cap or snapshot.spent.output_chars >= snapshot.limits.max_total_output_chars


def out_of_time(snapshot: Snapshot) -> bool:
    """Whether the turn's own time limit ended its last call, so the provider did not fail."""
    error = snapshot.failure.provider if snapshot.failure else None
    return error is not None and error.type is ErrorType.TIMEOUT and resource_of(snapshot) == "max_seconds"


def no_retry_helps(snapshot: Snapshot) -> bool:
    """Whether the error that ended the turn would not have been retried under any max_retries, because it is permanent,
    or because the provider requests a longer wait than the policy allows."""
    error = snapshot.failure.provider if snapshot.failure else None
    if error is None or not error.retryable:
        return error is not None
    said = snapshot.outcome.get_evaluation_for("ErrorPolicyCriterion") if snapshot.outcome else None
    return said is not None and NO_RETRY in (said.bound, said.context.get("bound"))


def resource_in(
    outcome: Json,
    terminal_reason: str,
    stop_reason: str,
    model_stop_reason: str | None,
    *,
    floor: int = 1,
    hopeless: bool = False,
    judged: ContinuationOutcome | None = None,
) -> str | None:
    """The same as `resource_of`, for a stored judgement (`ContinuationOutcome.to_dict`). `floor`: the smallest output
    limit the dialect takes, in tokens; `hopeless`: no retry could have helped against its error; `judged`: see
    `bound_of`."""
    said = next((one for one in outcome["evaluations"] if one["criterion"] == outcome["resolvedBy"]), None)
    if terminal_reason in _UNBOUND or said is None or said["decision"] != "forbid":
        return None
    if hopeless and said["criterion"] == "ErrorPolicyCriterion":
        return None
    if (by_name := LIMIT_OF.get(said["criterion"])) is not None:
        return by_name
    reader = _READERS.get(said["criterion"])
    if reader is None:
        return None
    return reader(said, bound_of(said, judged), terminal_reason, stop_reason, model_stop_reason, floor)


def bound_of(said: Json, judged: ContinuationOutcome | None) -> str | None:
    """The cause named by an evaluation that forbade, usually a limit; None if it names none.

    `judged`: the same judgement as this core makes it again, for rules before revision 5 do not store every bound."""
    if "bound" in said["context"]:
        bound = said["context"]["bound"]
        return None if bound is None else str(bound)
    again = judged.get_evaluation_for(said["criterion"]) if judged is not None else None
    return again.bound if again is not None and again.decision == said["decision"] else None


def _apart(bound: str | None) -> str | None:
    """What ran out where nobody's limit is to blame: the cap of the call, or nothing of ours."""
    return MAX_TOKENS if bound == MAX_TOKENS else None


def _truncation(
    said: Json, bound: str | None, terminal_reason: str, _stop: str, _model: str | None, floor: int
) -> str | None:
    context = said["context"]
    if bound in APART:
        return _apart(bound)
    if terminal_reason == "tool_repair_failed":
        return "max_tool_repair_attempts"
    if bound == "budget_exhausted":
        limit = context.get("tokensLimit", 0)
        spent = limit is not None and limit - context.get("tokensUsed", 0) < max(1, floor)
        return "max_total_completion_tokens" if spent else "max_total_tokens"
    return _BOUND.get(str(bound))


def _envelope(
    said: Json, bound: str | None, _terminal: str, _stop: str, model_stop_reason: str | None, _floor: int
) -> str | None:
    if bound in APART:
        return _apart(bound)
    if bound is not None:
        return bound
    full = model_stop_reason == NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED
    cut = said["context"].get("fault") == "truncation" and not full
    return "max_output_tokens" if cut else None


def _errors(
    _said: Json, _bound: str | None, _terminal: str, stop_reason: str, _model: str | None, _floor: int
) -> str | None:
    return "max_retries" if stop_reason == StopReason.RETRY_LIMIT else None


_READERS: Mapping[str, Callable[[Json, str | None, str, str, str | None, int], str | None]] = {
    "TruncationCriterion": _truncation,
    "EnvelopeCriterion": _envelope,
    "ErrorPolicyCriterion": _errors,
}
