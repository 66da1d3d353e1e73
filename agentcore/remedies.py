"""What would have let a turn go on: the limits to raise, as far as its own last judgement tells, and their words."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agentcore.criteria.incomplete_answers import TruncationCriterion, completion_spent
from agentcore.error_policy import ErrorHandlingDecision
from agentcore.errors import ErrorType
from agentcore.evaluation import ContinuationDecision
from agentcore.events import APPROVAL_TIME_LIMIT
from agentcore.number_format import count
from agentcore.policy import higher
from agentcore.reason_text import criterion_in_words
from agentcore.resource import (
    APPROVAL_SECONDS,
    IDLE,
    LIMIT_OF,
    characters_spent,
    idle_in_words,
    refusal_that_ended,
    unapproved_tools,
)
from agentcore.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Raise:
    """A limit to raise. `least`: the smallest value that would have done; None: a larger one than it was."""

    limit: str
    least: int | None = None


@dataclass(frozen=True, slots=True)
class Remedy:
    """The limits that had to be raised together. Where something else forbade too (`stubborn`), none would have helped.

    It says that the next call would have been made, not how that call would have ended.
    """

    raises: tuple[Raise, ...]
    stubborn: tuple[str, ...] = ()


def remedy_of(snapshot: Snapshot, *named: Raise) -> Remedy:
    """The limits that are `named`, and those that forbade beside them."""
    forbade, continuing = _forbade(snapshot), _judged_by_limits(snapshot)
    stubborn = [criterion_in_words(name) for name in forbade if name not in LIMIT_OF]
    if continuing and snapshot.idle_answers >= IDLE:
        stubborn.append(idle_in_words(snapshot))
    chars = [Raise("max_total_output_chars")] if continuing and characters_spent(snapshot) else []
    wanted = (*named, *chars, *(Raise(LIMIT_OF[name]) for name in forbade if name in LIMIT_OF))
    return Remedy(tuple(dict.fromkeys(wanted)), tuple(stubborn))


def limits_spent(snapshot: Snapshot) -> tuple[str, ...]:
    """Every limit that left no room for another call when the turn ended, beside the one that is named."""
    outcome = snapshot.outcome
    if snapshot.end is None or outcome is None or outcome.get_forbidding_criterion() is None:
        return ()
    counted = {
        "max_continuations": snapshot.spent.continuations >= snapshot.limits.max_continuations,
        "max_total_completion_tokens": completion_spent(snapshot),
        "max_total_output_chars": characters_spent(snapshot),
    }
    bound = [name for name, spent in counted.items() if spent] if _judged_by_limits(snapshot) else []
    return (*bound, *(LIMIT_OF[name] for name in _forbade(snapshot) if name in LIMIT_OF))


def _judged_by_limits(snapshot: Snapshot) -> bool:
    """Whether the limits of a continuation settled it, of which only the first that bound was named."""
    return snapshot.outcome is None or snapshot.outcome.resolved_by == TruncationCriterion.__name__


def _forbade(snapshot: Snapshot) -> list[str]:
    """The criteria that forbade beside the one that resolved it."""
    if snapshot.outcome is None:
        return []
    forbade = (said.criterion for said in snapshot.outcome.evaluations if said.decision is ContinuationDecision.FORBID)
    return [name for name in forbade if name != snapshot.outcome.resolved_by]


RE_RUN = "Re-run live to find out."  #: of a what-if that the recording does not decide
#: How a verdict ends that claims no more than another call. What is known beyond the recording is the suggestion's.
NOT_SHOWN = "The recording does not show how it would have ended."


#: What would have helped, and whether only a live re-run shows how the turn then ends.
Helps = tuple[str, bool]


def would_continue(snapshot: Snapshot, *more: Raise) -> Helps:
    """What would have let the turn go on, as far as its own judgement says: other criteria may have forbidden too."""
    remedy = remedy_of(snapshot, *more)
    wanted = dict.fromkeys(map(_raised, remedy.raises))
    return _forbidden_too(remedy) or (f"With {_listed(wanted)} it would have continued. {NOT_SHOWN}", True)


def would_be_told(snapshot: Snapshot) -> Helps:
    """Which settings would have given the model the error of a tool, in place of the end; empty where none would."""
    outcome, failure = snapshot.outcome, snapshot.failure
    said = outcome.get_evaluation_for("ErrorPolicyCriterion") if outcome else None
    if failure is None or failure.unresolved or said is None or said.context.get("errorType") != ErrorType.TOOL:
        return "", False
    remedy, retried = remedy_of(snapshot), snapshot.error_policy.on_tool_error is ErrorHandlingDecision.RETRY
    first = higher("max_retries") if retried else "tool errors set to ignore"
    wanted = dict.fromkeys((first, *map(_raised, remedy.raises)))
    told = f"With {_listed(wanted)}, the model would have received the error. {NOT_SHOWN}"
    return _forbidden_too(remedy) or (told, True)


def would_have_waited(snapshot: Snapshot) -> str:
    """Of a turn that ended because nobody had approved its calls in time; empty for any other."""
    if unapproved(snapshot) is None:
        return ""
    return f"With {higher(APPROVAL_SECONDS)} it would have waited longer."


def unapproved(snapshot: Snapshot) -> str | None:
    """`nobody approved the call of calculator within 30 seconds`, of a turn that was cancelled for it, or that the
    error of the refused call ended; else None."""
    approvals = snapshot.setup.approvals if snapshot.setup else None
    names = unapproved_tools(snapshot)
    if not names or approvals is None or approvals.seconds is None:
        return None
    return f"nobody approved {_calls(names)} within {count(approvals.seconds, 'second')}"


def refused_by_person(snapshot: Snapshot) -> str | None:
    """`ada refused the call of calculator`, of a turn that the error of the refused call ended; else None."""
    failure = refusal_that_ended(snapshot)
    if failure is None or failure.refused_by == APPROVAL_TIME_LIMIT:
        return None
    return f"{failure.refused_by} refused {_calls(failure.refused)}"


def _calls(tools: Sequence[str]) -> str:
    """`the call of calculator`; of several calls `the calls of calculator and search`. `tools`: that of each call."""
    return f"the call{'s' if tools[1:] else ''} of {' and '.join(dict.fromkeys(tools))}"


def sentence(words: str) -> str:
    """The words as a sentence."""
    return f"{words[:1].upper()}{words[1:]}."


def _listed(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def _forbidden_too(remedy: Remedy) -> Helps | None:
    return (sentence(f"{' and '.join(remedy.stubborn)} also forbade continuing"), False) if remedy.stubborn else None


def _raised(raised: Raise) -> str:
    """`4 continuations`, `a higher Max tokens per turn (max_total_tokens)`."""
    if raised.least is not None:
        return count(raised.least, "continuation")
    return higher(raised.limit)
