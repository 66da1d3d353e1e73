"""The verdict of calls that were only observed: an import, an ingested trace, a call through the gateway.

Their program acts, so no limit of a policy is told of them: only what cut the answer, as far as the recording says it.
"""

from agentcore.commands import Finish
from agentcore.completed_verdict import Verdict
from agentcore.cuts import BELOW, UNRECORDED, last_cut
from agentcore.reasons import NormalizedStopReason
from agentcore.snapshot import Snapshot
from agentcore.truncation_cause import SHOWN
from agentcore.truncation_text import NAME, broken_off, cut_call, how_cut, of_call, used_in_words

#: What is known of a cut below the cap. No number of ours is said to have helped against it.
NO_HELP = "The recording does not show what would have helped."
#: What may help a call without a cap, by the name of the cap.
MAY_HELP = "Setting {} may help: without it, many servers apply a low default limit."
#: What may have cut an answer that its cap did not cut.
FULL = "The context window was full, or the server has a limit of its own."
_UNKNOWN = "The recording does not show how many more tokens it needed."
_NOT_TOLD = f"{SHOWN.name} of the request was not recorded, so which limit cut the answer is not known."
_OBSERVED = "this call was only observed"
_SEND_BACK = "To continue, the program sends the answer back unchanged in another call."


def full(snapshot: Snapshot) -> str:
    """What may have cut an answer that its cap did not cut, and what may help against it."""
    return f"{FULL} {MAY_HELP.format(NAME) if snapshot.uncapped else NO_HELP}"


def not_continued(snapshot: Snapshot) -> Verdict:
    """Of an answer that was cut or paused, and that its program did not go on with."""
    lead, by = broken_off(snapshot)
    happened = f"{by}; the program that made the call did not continue it. {used_in_words(snapshot)}"
    if snapshot.model_stop_reason == NormalizedStopReason.PAUSED:
        return Verdict(lead, happened, _SEND_BACK)
    return Verdict(lead, happened, *_helps(snapshot))


def _helps(snapshot: Snapshot) -> tuple[str, bool]:
    cause = last_cut(snapshot)
    if cause == BELOW:
        return full(snapshot), False
    return (_NOT_TOLD, False) if cause == UNRECORDED else (_UNKNOWN, True)


def observed_cut(snapshot: Snapshot, _end: Finish) -> Verdict:
    """Of a call whose cap ran out, or a limit that is not recorded."""
    counted = snapshot.response is not None and snapshot.response.usage is not None
    how = "reported" if last_cut(snapshot) == UNRECORDED else "used"
    used = f", with {of_call(snapshot)} {how}" if counted else ""
    lead, cut = how_cut(snapshot)
    if snapshot.repairing:
        (lead, cut), used = cut_call(snapshot), ""
    helps, rerun = _helps(snapshot)
    return Verdict(lead, f"{cut}{used}; {_OBSERVED}.", helps, rerun=rerun)


def observed_broken_call(snapshot: Snapshot, _end: Finish) -> Verdict:
    """Of a call that returned a tool call which is not complete, and was not cut."""
    lead, broken = cut_call(snapshot)
    return Verdict(lead, f"{broken}; {_OBSERVED}.")
