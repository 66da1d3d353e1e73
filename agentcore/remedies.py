"""What would have let a turn go on: the limits to raise, as far as its own last judgement tells."""

from dataclasses import dataclass

from agentcore.criteria.evaluation import ContinuationDecision
from agentcore.criteria.incomplete_answers import TruncationCriterion, completion_spent
from agentcore.machine.snapshot import Snapshot
from agentcore.resource import IDLE, LIMIT_OF, characters_spent, idle_in_words


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
    stubborn = [name for name in forbade if name not in LIMIT_OF]
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
