"""The phrases of a verdict about a cut answer: what cut it, and how much of its cap it had used."""

from agentcore.number_format import number
from agentcore.reasons import AttemptKind, NormalizedStopReason
from agentcore.snapshot import Snapshot
from agentcore.sufficient_max_tokens import continued_at_the_cap
from agentcore.truncation_cause import used_of, where_cut

BY_MAX_TOKENS = ("Cut off", " by max_tokens")
#: How a verdict begins where reasoning, and no text, used the cap.
EATEN = "Reasoning used up max_tokens"
BY_REASONING = (EATEN, " before any text came")


def broken_off(snapshot: Snapshot) -> tuple[str, str]:
    """What ended the answers that were gone on with: a resume follows a pause, a continuation a cut."""
    if snapshot.eaten:
        return EATEN, f" before any text came ({of_raised_call(snapshot)}); cut off"
    kinds = {part.kind for answer in (*snapshot.earlier, snapshot.answer) for part in answer.segments}
    last_paused = snapshot.model_stop_reason == NormalizedStopReason.PAUSED
    paused = last_paused or AttemptKind.RESUME in kinds
    cut = not last_paused or AttemptKind.CONTINUATION in kinds
    by = "" if below_caps(snapshot) else " by max_tokens"
    if not paused:
        return "Cut off", by
    return "Paused", f" by the provider or cut off{by}" if cut else " by the provider"


def how_cut(snapshot: Snapshot) -> tuple[str, str]:
    """What cut the last answer, as the lead of a verdict and what follows it."""
    if snapshot.cut_below_cap:
        return "Cut off", f" {where(snapshot)}"
    return BY_REASONING if snapshot.eaten else BY_MAX_TOKENS


def below_caps(snapshot: Snapshot) -> bool:
    """Whether the last cut, and not it alone, was one below the cap."""
    alone = snapshot.spent.continuations > 0 and continued_at_the_cap(snapshot)
    return snapshot.cut_below_cap and not alone


def where(snapshot: Snapshot) -> str:
    """Where the last answer was cut, which its cap did not cut."""
    assert snapshot.response is not None, "a cut answer was answered"
    return where_cut(snapshot.response, snapshot.sent_cap)


def tells_where(snapshot: Snapshot) -> bool:
    """Whether `where` names a number of tokens."""
    used = snapshot.response.usage.output_tokens if snapshot.response and snapshot.response.usage else 0
    return snapshot.sent_cap is not None or bool(used)


def of_call(snapshot: Snapshot) -> str:
    """What of its cap the last answer used."""
    assert snapshot.response is not None, "a cut answer was answered"
    assert snapshot.call is not None, "a cut answer was called for"
    return used_of(snapshot.response, snapshot.known_cap)


def of_raised_call(snapshot: Snapshot) -> str:
    """The same, and where its cap is larger than the one that was set, that it was raised."""
    assert snapshot.call is not None, "a cut answer was called for"
    asked = snapshot.asked.max_tokens if snapshot.call.asked_cap is None else snapshot.call.asked_cap
    raised = f", where max_tokens was raised from {number(asked)}" if snapshot.call.max_tokens > asked else ""
    return f"{of_call(snapshot)}{raised}"
