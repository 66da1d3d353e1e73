"""What live re-runs show of a limit: the smallest value of it that is enough, as each re-run's own recording tells."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from django.core.exceptions import ValidationError

from agentcore.replay import Certainty, fold
from agentcore.sufficient_max_tokens import END_AT_MOST
from agentcore.values import replace
from dashboard.policies.suggestions.exhausted_limits import ExhaustedLimit
from dashboard.policies.suggestions.proven_totals import least_total
from dashboard.policies.suggestions.reruns import LimitTrial, said_the_same, with_a_margin
from dashboard.policies.suggestions.suggestion import Basis, Goal, Number, Suggestion
from dashboard.policies.suggestions.used_amounts import CONTINUING, used_of
from dashboard.replay.sweep_service import SWEPT, TooMuchWork, run_of
from dashboard.turns.history import attempts_read, recording_of
from dashboard.turns.models import Turn

#: Tokens that the end of an answer is likely to take of the cap, without being reported.
LIKELY_END = 2
UNREPORTED = 2  #: times the tokens that a text is estimated to take, where none are reported
MOST_ATTEMPTS = 50  #: of a turn whose recording is searched while a page waits
#: What a turn used of a limit, by its row. Time is what its page says that it took.
USED_BY_ROW: Mapping[str, Callable[[Turn], Number]] = {
    "max_continuations": lambda turn: turn.continuations,
    "max_tool_repair_attempts": lambda turn: turn.tool_repairs,
    "schema_rounds": lambda turn: turn.envelope_retries,
    "max_seconds": lambda turn: (turn.took_ms or 0) / 1000,
}
_LIKELY = (Certainty.RECORDED, Certainty.CERTAIN, Certainty.ESTIMATED)


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
    about |= {"original": least.is_original, "more_calls": least.more_calls}
    told = Suggestion(case.limit, least.value, case.recorded, sure, Basis.RERUN, case.goal, given=least.value, **about)
    used = used_of(case.limit, fold(recording_of(least.turn))[-1].after)
    spent = USED_BY_ROW[case.limit](least.turn) if case.limit == "max_seconds" else used
    if least.may_be_cut:
        about = {"may_be_cut": True, "ended_at_it": least.ended_at_it}
        yield replace(told, value=with_a_margin(case, least), spent=spent, **about)
        return
    if case.limit == "max_tokens":
        longest, is_reported = _longest_call(least)
        told = replace(told, longest=longest, unreported_use=not is_reported)
        # Of another answer the cap that it had is no surer than what it used; of the same one it is what was run.
        enough = longest + END_AT_MOST
        if is_reported and not again and enough > case.in_vain and _completes(case, least, enough, _LIKELY):
            yield replace(told, value=enough, spent=spent)
            return
    value = max(_needed(case, least, used), case.in_vain + 1)
    room = least.turn.max_tokens if case.limit == "max_total_completion_tokens" and value < least.value else None
    before = _before_last(least, used) if case.limit == "max_total_tokens" and value < used else None
    shown = replace(told, value=value, spent=spent, room=room, before=before)
    yield shown
    likely = _LESS[case.limit](case, least, shown) if case.limit in _LESS and again else None
    if likely is not None and not any(tried.value == likely and tried.may_be_cut for tried in reruns):
        yield replace(told, value=likely, certainty=Certainty.ESTIMATED)


def _before_last(trial: LimitTrial, used: int) -> int | None:
    """What a re-run had used of all tokens before its last call; None where that call's were not reported."""
    calls = [each.usage or {} for each in attempts_read(trial.turn.id, "usage", "error") if each.error is None]
    last = calls[-1] if calls else {}
    of_last = int(last.get("input_tokens") or 0) + int(last.get("output_tokens") or 0)
    return used - of_last if of_last else None


def _longest_call(trial: LimitTrial) -> tuple[int, bool]:
    """The tokens of the longest call of a re-run, and whether they were reported; else they are no less."""
    calls = attempts_read(trial.turn.id, "usage", "error")
    told = [int((each.usage or {}).get("output_tokens") or 0) for each in calls if each.error is None]
    longest: int = max(told, default=0) if all(told) else trial.turn.output_tokens
    return longest, bool(told) and all(told)


def least_shown(case: ExhaustedLimit, reruns: tuple[LimitTrial, ...]) -> LimitTrial | None:
    """Of several under one value the newest."""
    above = (tried for tried in reversed(reruns) if tried.completed and tried.value > case.in_vain)
    told, several = (tried for tried in above if not says_nothing(case, tried)), case.limit == "max_tokens"
    return min(told, key=lambda it: (it.may_be_cut, several and it.more_calls > 0, it.value), default=None)


def says_nothing(case: ExhaustedLimit, trial: LimitTrial) -> bool:
    """Whether a re-run used no more of the limit than the turn was allowed, because it gave another answer, or may have
    been cut before, or took less time. Such a re-run does not show what more of the limit is good for. Failures in a
    row are forgotten with the call that succeeds."""
    if case.limit == "max_retries" or _used(case, trial) > (case.recorded or 0):
        return False
    apart = case.limit in (*CONTINUING[1:], "max_seconds") or (trial.may_be_cut and case.limit != "max_tokens")
    return apart or not said_the_same(case, trial)


def _used(case: ExhaustedLimit, trial: LimitTrial) -> Number:
    """What a re-run used of the limit: by its row, where that tells."""
    if case.limit == "max_tokens":
        several = trial.turn.attempts > 1 and trial.turn.output_tokens > (case.recorded or 0)
        return _longest_call(trial)[0] if several else trial.turn.output_tokens
    by_row = USED_BY_ROW.get(case.limit)
    return by_row(trial.turn) if by_row else used_of(case.limit, fold(recording_of(trial.turn))[-1].after)


def _needed(case: ExhaustedLimit, trial: LimitTrial, used: int) -> int:
    """What a re-run that completed used of the limit, where every call of it would have been the same under that value;
    else what it was given. Of a total, which is checked before each call, the smallest value of which that is true."""
    stood = max(case.recorded or 0, case.used)
    if case.limit in CONTINUING[1:] and trial.turn.attempts <= MOST_ATTEMPTS and stood < trial.value:
        with suppress(ValidationError, TooMuchWork):
            return least_total(trial.turn, case.limit, fails=int(stood), completes=trial.value)
    return used if _completes(case, trial, used, (Certainty.RECORDED,)) else trial.value


def _likely_total(case: ExhaustedLimit, trial: LimitTrial, told: Suggestion) -> int | None:
    """A total smaller than the proven one, by what a re-run used: it only lowers the cap of the last call, which ended
    below that. Likely, as `_likely_enough` is."""
    tokens = trial.turn.output_tokens + LIKELY_END
    if tokens <= case.in_vain or tokens >= told.value or not _longest_call(trial)[1]:
        return None
    return tokens if _completes(case, trial, tokens, _LIKELY) else None


def _likely_enough(case: ExhaustedLimit, trial: LimitTrial, told: Suggestion) -> int | None:
    """A smaller max_tokens by the longest call of a re-run that continued none. No more than likely: nobody knows how
    many more tokens the provider counts for the end of an answer, or at all where it reports none."""
    longest = told.longest or 0
    tokens = UNREPORTED * longest if told.unreported_use else longest + LIKELY_END
    if trial.more_calls or not longest or tokens <= case.in_vain:
        return None
    if told.unreported_use:
        return tokens if max(case.recorded or 0, 0) < tokens <= trial.value // UNREPORTED else None
    return tokens if _completes(case, trial, tokens, _LIKELY) else None


#: What gives a smaller value than the proven one, by the limit.
_LESS = {"max_tokens": _likely_enough, "max_total_completion_tokens": _likely_total}


def _completes(case: ExhaustedLimit, trial: LimitTrial, value: int, sure: tuple[Certainty, ...]) -> bool:
    """Whether a re-run's own recording completes under a smaller value of the limit, and is so sure of it."""
    in_one = case.goal is Goal.ONE_CALL or (case.limit == "max_tokens" and not trial.more_calls)
    used = 0 if in_one else case.used  # what was repeated after a cut is not said in one call
    if case.limit not in SWEPT or not max(case.recorded or 0, used) < value < trial.value:
        return False
    with suppress(ValidationError, TooMuchWork):
        point = run_of(turn=trial.turn, name=case.limit, overrides={}).at(value)
        return point.completed and point.certainty in sure
    return False
