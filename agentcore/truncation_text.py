"""The phrases of a verdict about a cut answer: what cut it, and how much of its cap it had used."""

from agentcore.number_format import number, times
from agentcore.policy import LIMIT_NAMES
from agentcore.reasons import AttemptKind, NormalizedStopReason
from agentcore.snapshot import Snapshot
from agentcore.sufficient_max_tokens import continued_at_the_cap
from agentcore.truncation_cause import SHOWN, used_of, where_cut

#: How a verdict begins where the last answer is truncated, and where a limit or a rule stopped the turn otherwise.
CUT_OFF, STOPPED = "Cut off", "Stopped"
CAP = SHOWN.name
NAME = LIMIT_NAMES["max_tokens"]  #: where the key stands in the same sentence, or in the one before
BY_CAP = f" by {CAP}"
BY_REASONING = f": reasoning used up {CAP} before any text came"


def broken_off(snapshot: Snapshot) -> tuple[str, str]:
    """What ended the answers that were continued, and how often: a resume follows a pause, a continuation a cut."""
    often = "" if snapshot.spent.continuations == 0 else f" {times(snapshot.spent.continuations + 1)}"
    if snapshot.eaten:
        return CUT_OFF, f"{often}{BY_REASONING} ({of_raised_call(snapshot)})"
    kinds = {part.kind for answer in (*snapshot.earlier, snapshot.answer) for part in answer.segments}
    by = "" if below_caps(snapshot) else BY_CAP
    if snapshot.model_stop_reason == NormalizedStopReason.PAUSED:
        cut = f"cut off{by} or " if AttemptKind.CONTINUATION in kinds else ""
        return STOPPED, f" after the answer was {cut}paused by the provider{often}"
    if AttemptKind.RESUME in kinds:
        return CUT_OFF, f"{by} or paused by the provider{often}"
    return CUT_OFF, f"{often}{by}"


def how_cut(snapshot: Snapshot) -> tuple[str, str]:
    """What cut the last answer, as the lead of a verdict and what follows it."""
    if snapshot.cut_below_cap:
        return CUT_OFF, f" {where(snapshot)}"
    return CUT_OFF, BY_REASONING if snapshot.eaten else BY_CAP


def cut_call(snapshot: Snapshot) -> tuple[str, str]:
    """What became of a broken tool call, in the same parts. Only an answer that its provider calls truncated is cut
    off; in any other a call may be truncated as well."""
    if snapshot.model_stop_reason == NormalizedStopReason.MAX_TOKENS:
        by = "" if snapshot.uncapped else BY_CAP
        return CUT_OFF, f"{by} in a tool call, which did not run"
    return STOPPED, f": a tool call was {snapshot.repairing or 'broken'} and did not run"


def below_caps(snapshot: Snapshot) -> bool:
    """Whether the last cut, and not it alone, was one below the cap."""
    alone = snapshot.spent.continuations > 0 and continued_at_the_cap(snapshot)
    return snapshot.cut_below_cap and not alone


def where(snapshot: Snapshot) -> str:
    """Where the last answer was cut, which its cap did not cut."""
    assert snapshot.response is not None, "a cut answer was answered"
    return where_cut(snapshot.response, snapshot.sent_cap, SHOWN)


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
    raised = f", where {NAME} was raised from {number(asked)}" if snapshot.call.max_tokens > asked else ""
    return f"{of_call(snapshot)}{raised}"
