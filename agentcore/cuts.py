"""What cut each truncated answer of a turn: the cap of its call, the limit that made this cap smaller, or none of ours.

Pure causes; their words are in `agentcore.truncation_text`.
"""

from agentcore.messages import ChatResponse
from agentcore.snapshot import Snapshot
from agentcore.truncation_cause import below_cap

#: The causes. The first three are limits, by their keys.
CAP = "max_tokens"  #: the cap of the call
TOTAL = "max_total_completion_tokens"  #: the rest of the turn's total, which was less than the cap
CEILING = "max_output_tokens"  #: the connection's, which a larger cap would have exceeded
BELOW = "below_cap"  #: the context window or the server: the call had tokens left, or no cap was sent
UNRECORDED = "unrecorded"  #: the recording does not say what cap was sent


def bounded(wanted: int, left: int | None, ceiling: int | None) -> tuple[int, str | None]:
    """The cap of a call, and the limit that made it smaller than `wanted`; None: none did."""
    cap, bound = wanted, None
    if ceiling and ceiling < cap:
        cap, bound = ceiling, CEILING
    if left is not None and left < cap:
        cap, bound = left, TOTAL
    return cap, bound


def what_cut(snapshot: Snapshot, response: ChatResponse | None) -> str:
    """What cut the answer of the call, `response`; None: an error said that it was cut."""
    known = snapshot.known_cap is not None or snapshot.uncapped or snapshot.call is None
    if not known:
        return UNRECORDED
    if snapshot.revision and response is not None and below_cap(response, snapshot.sent_cap):
        return BELOW
    return snapshot.cap_bound or CAP


def last_cut(snapshot: Snapshot) -> str:
    """What cut the last answer, of a turn whose last answer was cut."""
    return what_cut(snapshot, snapshot.response)


def same_caps(snapshot: Snapshot) -> bool:
    """Whether the cap that is set cut the last two answers, and no limit had made the cap of either call smaller."""
    return all(cause == CAP for cause in snapshot.cut_by[-2:])


def cuts_of(snapshot: Snapshot) -> tuple[tuple[str, int], ...]:
    """What cut the answers of a turn that ended cut, in order, each cause with how often it did in a row. A turn whose
    history does not tell all of them (a fork of an earlier release, for example) has the last one alone."""
    last, often = last_cut(snapshot), snapshot.spent.continuations + 1
    if len(snapshot.cut_by) != often:
        return ((last, often),)
    runs: list[tuple[str, int]] = []
    for cause in (*snapshot.cut_by[:-1], last):
        same = bool(runs) and runs[-1][0] == cause
        runs[-1:] = [(cause, runs[-1][1] + 1)] if same else [*runs[-1:], (cause, 1)]
    return tuple(runs)
