"""What would have let a turn go on, in words: the last part of a verdict."""

from agentcore.error_policy import ErrorHandlingDecision
from agentcore.errors import ErrorType
from agentcore.events import APPROVAL_TIME_LIMIT
from agentcore.machine.snapshot import Snapshot
from agentcore.number_format import count
from agentcore.remedies import Raise, Remedy, remedy_of

RE_RUN = "Re-run live to find out."
ENDS = "The recording ends here."

#: What would have helped, and whether only a live re-run shows how the turn then ends.
Helps = tuple[str, bool]


def would_continue(snapshot: Snapshot, *more: Raise) -> Helps:
    """What would have let the turn go on, as far as its own judgement says: other criteria may have forbidden too."""
    remedy = remedy_of(snapshot, *more)
    wanted = dict.fromkeys(map(_raised, remedy.raises))
    return _forbidden_too(remedy) or (f"With {' and '.join(wanted)} it would have continued. {ENDS}", True)


def would_be_told(snapshot: Snapshot) -> Helps:
    """Which settings would have given the model the error of a tool, in place of the end; empty where none would."""
    outcome, failure = snapshot.outcome, snapshot.failure
    said = outcome.get_evaluation_for("ErrorPolicyCriterion") if outcome else None
    if failure is None or failure.unresolved or said is None or said.context.get("errorType") != ErrorType.TOOL:
        return "", False
    remedy, retried = remedy_of(snapshot), snapshot.error_policy.on_tool_error is ErrorHandlingDecision.RETRY
    first = "a larger max_retries" if retried else "on_tool_error set to ignore"
    wanted = dict.fromkeys((first, *map(_raised, remedy.raises)))
    told = f"With {' and '.join(wanted)}, the model would have received the error. {ENDS}"
    return _forbidden_too(remedy) or (told, True)


def would_have_waited(snapshot: Snapshot) -> str:
    """Of a turn that was cancelled because nobody had approved of its calls in time; empty for any other."""
    approvals = snapshot.setup.approvals if snapshot.setup else None
    waiting = snapshot.approving and snapshot.cancelled_by == APPROVAL_TIME_LIMIT
    if approvals is None or approvals.seconds is None or not waiting:
        return ""
    waited = count(approvals.seconds, "second")
    return f"It waited {waited} for approval. With a longer time to approve, it would have kept waiting."


def sentence(words: str) -> str:
    """The words as a sentence."""
    return f"{words[:1].upper()}{words[1:]}."


def _forbidden_too(remedy: Remedy) -> Helps | None:
    return (sentence(f"{' and '.join(remedy.stubborn)} also forbade continuing"), False) if remedy.stubborn else None


def _raised(raised: Raise) -> str:
    """`4 continuations`, `a larger max_total_tokens`."""
    if raised.least is not None:
        return count(raised.least, "continuation")
    return f"a larger {raised.limit}"
