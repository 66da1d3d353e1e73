"""Whether one larger call would certainly have sufficed. Only then a verdict names a value for max_tokens."""

from agentcore.prefill import ECHO, TRIMMING, goes_on_exactly
from agentcore.reasons import AttemptKind, NormalizedStopReason
from agentcore.snapshot import Snapshot

#: The maximum number of unreported tokens that the end of an answer uses of the cap. Some servers count its end marker,
#: which may have three tokens, and some report two tokens less than they count.
END_AT_MOST = 5
_NATURAL = (NormalizedStopReason.END_TURN, NormalizedStopReason.TOOL_CALL)


def enough_for_one_call(snapshot: Snapshot) -> int | None:
    """The smallest `max_tokens` with which one call is certain to have given the same answer; None if no number is
    certain."""
    return snapshot.spent.output_tokens + END_AT_MOST if _one_call_is_certain(snapshot) else None


def _one_call_is_certain(snapshot: Snapshot) -> bool:
    """Whether one call of as many tokens as all calls spent would have said the same (design §3.9, `certain`).

    After a hint a model may say other things than in one go; a failed call, a repair and another iteration spend tokens
    on other texts; an estimate bounds nothing; what cut a call below its cap is not known; an end that may hide a cut
    is no end; reasoning may take more tokens in one call than it took in all of these, because it is hidden, because
    its provider does not report all that it counts, or because it takes its share of a larger cap; a call that was
    never made takes a time that nobody knows.
    """
    spent = snapshot.spent
    alone = spent.attempts == spent.continuations + 1 and not spent.total_failures and snapshot.iteration <= 1
    natural = snapshot.model_stop_reason in _NATURAL and not snapshot.flagged
    told = not spent.estimated and not snapshot.veiled and not snapshot.reasoned
    known = told and snapshot.limits.max_seconds is None
    ended = natural and _tells_its_end(snapshot)
    return alone and ended and known and continued_at_the_cap(snapshot) and _continued_exactly(snapshot)


def _tells_its_end(snapshot: Snapshot) -> bool:
    """Whether the last answer has tokens. Words without any cost some that were not reported; an answer without either
    may have been cut in untold reasoning."""
    said = snapshot.response
    return said is not None and said.usage is not None and said.usage.output_tokens > 0


def continued_at_the_cap(snapshot: Snapshot) -> bool:
    """Whether the continued calls used up their caps. If not, it is not known what truncated them, and a larger cap may
    not help."""
    last = snapshot.response.usage if snapshot.response is not None else None
    if last is None or snapshot.uncapped:
        return False
    return snapshot.spent.output_tokens - last.output_tokens >= snapshot.spent.continuations * snapshot.asked.max_tokens


def _continued_exactly(snapshot: Snapshot) -> bool:
    """Whether every continuation went on from the very words before it: by prefill, or by the provider's own token."""
    if AttemptKind.RESUME in (segment.kind for segment in snapshot.answer.segments):
        return False  # a pause is no cut: the provider goes on with other things than the answer's words
    if writes_on(snapshot):
        return True
    only = snapshot.spent.continuations == 1  # of the calls before the last one nothing is kept
    return only and snapshot.call is not None and snapshot.call.resume_token is not None


def writes_on(snapshot: Snapshot) -> bool:
    """Whether this turn's continuations continue the text itself, according to the connection's setting and to their
    texts. A continuation that repeats the text, from a server not known to echo it, may be a restart."""
    asked = snapshot.setup
    if asked is None or "ambiguous_seam" in snapshot.flagged:
        return False
    if not goes_on_exactly(asked.provider, asked.model, asked.extra):
        return False
    if asked.extra.get(ECHO) or asked.provider in TRIMMING:  # Claude repeats no more than the blanks that were trimmed
        return True
    return not any(part.dropped for answer in (*snapshot.earlier, snapshot.answer) for part in answer.segments)
