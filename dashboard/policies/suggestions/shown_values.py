"""What live re-runs show of a limit: the smallest value of it that is enough, as each re-run's own recording tells."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from django.core.exceptions import ValidationError

from agentcore.replay import Certainty, fold
from agentcore.sufficient_max_tokens import END_AT_MOST
from agentcore.values import replace
from dashboard.policies.suggestions.exhausted_limits import ExhaustedLimit
from dashboard.policies.suggestions.proven_totals import least_total
from dashboard.policies.suggestions.reruns import LimitTrial, said_the_same, says_nothing, with_a_margin
from dashboard.policies.suggestions.suggestion import Basis, Goal, Suggestion
from dashboard.policies.suggestions.used_amounts import CONTINUING, used_of
from dashboard.replay.sweep_service import SWEPT, TooMuchWork, run_of
from dashboard.turns.history import attempts_read, recording_of
from dashboard.turns.models import Attempt

#: Tokens that the end of an answer is likely to take of the cap, without being reported.
LIKELY_END = 2
MOST_ATTEMPTS = 50  #: of a turn whose recording is searched while a page waits
_SURE = (Certainty.RECORDED, Certainty.CERTAIN)


def shown_by_reruns(case: ExhaustedLimit, reruns: tuple[LimitTrial, ...]) -> Iterator[Suggestion]:
    """What a live re-run has shown. Of several that completed, the one under the smallest value above those that did
    not; of max_tokens, one that took one call before those that took more.

    It is certain only where the provider said the same twice, as far as is known; no run takes as long as another. One
    that may have been cut at a cap proves nothing; where it ended exactly at its limit, the value leaves a margin.
    """
    least = least_shown(case, reruns)
    if least is None:
        return
    again = case.limit != "max_seconds" and not least.may_be_cut and said_the_same(case, least)
    sure = Certainty.CERTAIN if again else Certainty.ESTIMATED
    about: dict[str, Any] = {"calls": least.turn.attempts, "used": least.turn.output_tokens, "rerun": least.turn.id}
    about["original"] = least.is_original
    told = Suggestion(case.limit, least.value, case.recorded, sure, Basis.RERUN, case.goal, given=least.value, **about)
    spent = used_of(case.limit, fold(recording_of(least.turn))[-1].after)
    if least.may_be_cut:
        about = {"may_be_cut": True, "ended_at_it": least.ended_at_it}
        yield replace(told, value=with_a_margin(case, least), spent=spent, **about)
        return
    if (longest := _longest_enough(case, least, again)) is not None:
        yield replace(told, value=longest + END_AT_MOST, spent=spent, longest=longest)
        return
    value = max(_needed(case, least, spent), case.in_vain + 1)
    room = least.turn.max_tokens if case.limit == "max_total_completion_tokens" and value < least.value else None
    yield replace(told, value=value, spent=spent, room=room)
    likely = _reported(case, least) if case.limit == "max_tokens" and again else None
    if likely is not None and not any(tried.value == likely and tried.may_be_cut for tried in reruns):
        yield replace(told, value=likely, certainty=Certainty.ESTIMATED)


def _longest_enough(case: ExhaustedLimit, trial: LimitTrial, again: bool) -> int | None:
    """The tokens of the longest call of a re-run, where so many and an end are certainly enough for it, and nothing is
    lost by taking that for the value: the re-run said something else than the turn, so that its own cap is no surer; or
    the agent has a cap that is enough, and less than the re-run was given. None: the value is what it was given."""
    if case.limit != "max_tokens":
        return None
    longest = max((int((each.usage or {}).get("output_tokens") or 0) for each in _calls_of(trial)), default=0)
    value, agent = longest + END_AT_MOST, case.turn.agent
    has_enough = agent is not None and value <= agent.max_tokens < trial.value
    if not longest or value <= case.in_vain or (again and not has_enough):
        return None
    sure = _SURE if again else (*_SURE, Certainty.ESTIMATED)  # of another answer, the cap that it had is no surer
    return longest if _completes(case, trial, value, sure) else None


def _calls_of(trial: LimitTrial) -> list[Attempt]:
    return [each for each in attempts_read(trial.turn.id, "usage", "error") if each.error is None]


def least_shown(case: ExhaustedLimit, reruns: tuple[LimitTrial, ...]) -> LimitTrial | None:
    """Of several under one value the newest."""
    above = (tried for tried in reversed(reruns) if tried.completed and tried.value > case.in_vain)
    told, several = (tried for tried in above if not says_nothing(case, tried)), case.limit == "max_tokens"
    return min(told, key=lambda it: (it.may_be_cut, several and it.turn.attempts > 1, it.value), default=None)


def _needed(case: ExhaustedLimit, trial: LimitTrial, used: int) -> int:
    """What a re-run that completed used of the limit, where every call of it would have been the same under that value;
    else what it was given. Of a total, which is checked before each call, the smallest value of which that is true."""
    stood = max(case.recorded or 0, case.used)
    if case.limit in CONTINUING[1:] and trial.turn.attempts <= MOST_ATTEMPTS and stood < trial.value:
        with suppress(ValidationError, TooMuchWork):
            return least_total(trial.turn, case.limit, fails=int(stood), completes=trial.value)
    return used if _completes(case, trial, used, (Certainty.RECORDED,)) else trial.value


def _reported(case: ExhaustedLimit, trial: LimitTrial) -> int | None:
    """The max_tokens that a re-run of one call would have needed by the tokens that were reported. No more than likely:
    nobody knows how many more the provider counts for the end of an answer."""
    tokens = trial.turn.output_tokens + LIKELY_END
    one_call = trial.turn.attempts == 1 and tokens > case.in_vain
    enough = one_call and _completes(case, trial, tokens, (Certainty.RECORDED, Certainty.CERTAIN, Certainty.ESTIMATED))
    return tokens if enough else None


def _completes(case: ExhaustedLimit, trial: LimitTrial, value: int, sure: tuple[Certainty, ...]) -> bool:
    """Whether a re-run's own recording completes under a smaller value of the limit, and is so sure of it."""
    in_one = case.goal is Goal.ONE_CALL or (case.limit == "max_tokens" and trial.turn.attempts == 1)
    used = 0 if in_one else case.used  # what was repeated after a cut is not said in one call
    if case.limit not in SWEPT or not max(case.recorded or 0, used) < value < trial.value:
        return False
    with suppress(ValidationError, TooMuchWork):
        point = run_of(turn=trial.turn, name=case.limit, overrides={}).at(value)
        return point.completed and point.certainty in sure
    return False
