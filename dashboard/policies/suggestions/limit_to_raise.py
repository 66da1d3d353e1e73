"""The limit whose larger value would have let a turn go on, by its last snapshot."""

from agentcore.cuts import TOTAL, UNRECORDED, last_cut
from agentcore.messages import CallIssue
from agentcore.reasons import NormalizedStopReason
from agentcore.resource import resource_of
from agentcore.snapshot import Snapshot
from dashboard.policies.suggestions.used_amounts import CONTINUING, USED, is_cut_envelope, is_total


def limit_to_raise(last: Snapshot) -> str | None:
    """A cut is mended by a larger cap; what ran out otherwise by more of that."""
    assert last.end is not None, "asked of ended turns"
    resource = resource_of(last)
    ended = last.end.terminal_reason
    was_cut = last.model_stop_reason == NormalizedStopReason.MAX_TOKENS
    if was_cut and last_cut(last) == UNRECORDED:  # a cap that its program sets may help, whatever cut the answer
        return "max_tokens"
    if was_cut and last_cut(last) == TOTAL and is_total(last, TOTAL) and (ended == "retry_limit" or last.eaten):
        return TOTAL  # its last call had no more than the rest of it, and a larger cap would spend more than that
    if last.cut_below_cap:
        return _below_cap(last, resource)
    if last.repairing is CallIssue.TRUNCATED and ended in ("tool_repair_failed", "max_tokens", "broken_tool_call"):
        return "max_tokens"
    if ended == "repetition":  # a model that begins anew after each cut needs one call
        return "max_tokens"
    if was_cut and resource in (*CONTINUING, "max_tokens") and not is_total(last, resource):
        return "max_tokens"
    if is_cut_envelope(last):
        return "max_tokens"
    return resource if resource in USED and resource != "max_tokens" else None


def _below_cap(last: Snapshot, resource: str | None) -> str | None:
    """Of a cut that no cap of ours explains. Where a call had none, one may be set. Else more of what held further
    continuations back, unless one was made and added no text: then the context window is full."""
    if last.uncapped:
        return "max_tokens"
    untried = resource == CONTINUING[0] and not last.spent.continuations
    continues = untried or last.going_on_helped or resource in CONTINUING[1:]
    return resource if continues and resource in USED and resource != "max_tokens" else None
