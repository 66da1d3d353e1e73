"""The limits that may let a turn finish, the first to try first, each with the live re-runs that tried it.

Most often there is one. A cap that the provider, or the connection, does not allow is followed by continuations. Where
a re-run was complete with more continuations, and no larger cap was tried with success, those come first.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agentcore.reasons import TurnStatus
from agentcore.resource import resource_of
from agentcore.snapshot import Snapshot
from agentcore.values import replace
from dashboard.live.turn_loader import connection_of
from dashboard.policies.suggestions.cap_refusals import refusal_of
from dashboard.policies.suggestions.exhausted_limits import (
    CONTINUING,
    ExhaustedLimit,
    continued_instead,
    exhausted_limit_of,
    value_of,
)
from dashboard.policies.suggestions.relatives import relatives_of, settings_changed
from dashboard.policies.suggestions.reruns import LimitTrial, reruns_of
from dashboard.policies.suggestions.suggestion import Goal
from dashboard.turns.models import Turn


@dataclass(frozen=True, slots=True)
class TriedLimit:
    case: ExhaustedLimit
    reruns: tuple[LimitTrial, ...]  #: the oldest first

    @property
    def completed(self) -> bool:
        """Whether a re-run shows a value that is enough."""
        return any(tried.completed and tried.value > self.case.in_vain for tried in self.reruns)


def limit_trials(turn: Turn, last: Snapshot) -> tuple[TriedLimit, ...]:
    """Empty where the turn needs no limit raised, or none would have helped."""
    case = exhausted_limit_of(turn, last)
    if case is None:
        return ()
    first = _tried(case)
    if case.limit != "max_tokens" or case.goal is not Goal.FINISH:
        return (first,)
    first = replace(first, case=_bounded(first))
    if first.completed:
        return (first,)
    if (continued := _continued(turn, last)) is not None:
        return (continued, first)
    if not (first.case.is_full or first.case.refused):
        return (first,)
    instead = replace(continued_instead(turn, last), refused=first.case.refused, most=first.case.most)
    return (_tried(instead),) if first.case.is_full else (first, _tried(instead))


def _continued(turn: Turn, last: Snapshot) -> TriedLimit | None:
    """What held continuations back, where a re-run was complete with more of it and nothing else; the newest one."""
    for other in reversed(relatives_of(turn)):
        given = settings_changed(turn, other) if other.status == TurnStatus.COMPLETED else {}
        if given and all(_is_more(name, value, last) for name, value in given.items()):
            tried = _tried(_of_given(turn, last, given))
            if tried.completed:
                return tried
    return None


def _is_more(name: str, value: Any, last: Snapshot) -> bool:
    stood = value_of(last, name) if name in CONTINUING else None
    return stood is not None and (value is None or value > stood)


def _of_given(turn: Turn, last: Snapshot, given: Mapping[str, Any]) -> ExhaustedLimit:
    """The limit that stopped the turn, where that is one of those that were given; else the first of them."""
    stopped = resource_of(last)
    limit = stopped if stopped is not None and stopped in given else next(name for name in CONTINUING if name in given)
    rest = {name: value for name, value in given.items() if name != limit}
    return ExhaustedLimit(turn, last, limit, together={"limits": rest} if rest else None)


def _tried(case: ExhaustedLimit) -> TriedLimit:
    reruns = reruns_of(case)
    return TriedLimit(replace(case, in_vain=in_vain(reruns)), reruns)


def in_vain(reruns: Iterable[LimitTrial]) -> int:
    """The largest value that was not enough; 0 where there is none."""
    return max((tried.value for tried in reruns if tried.in_vain), default=0)


def _bounded(tried: TriedLimit) -> ExhaustedLimit:
    """With what one call may ask for today."""
    refusal, connection = refusal_of(tried.reruns), connection_of(tried.case.turn)
    allowed = connection.ceiling if connection is not None else None
    if refusal is None:
        return replace(tried.case, allowed=allowed)
    return replace(tried.case, allowed=allowed, refused=refusal.value, most=refusal.most)
