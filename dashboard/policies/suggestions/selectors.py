"""The suggestion for a turn. What is surest is asked first: the recording, then re-runs, then the turns like it."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from math import ceil
from typing import Any

from django.core.exceptions import ValidationError

from agentcore.policy import LIMIT_NAMES
from agentcore.reasons import TurnStatus
from agentcore.replay import Certainty, Recording, fold
from agentcore.resource import APPROVAL_SECONDS
from agentcore.snapshot import Snapshot
from agentcore.sufficient_max_tokens import END_AT_MOST, enough_for_one_call
from agentcore.values import replace
from dashboard.policies.backtests.survival import LEAST_ENDED
from dashboard.policies.suggestions.exhausted_limits import ExhaustedLimit
from dashboard.policies.suggestions.limit_trials import TriedLimit, limit_trials
from dashboard.policies.suggestions.limit_usage import UsageOf, usage_of
from dashboard.policies.suggestions.repaired_calls import RepairedCalls
from dashboard.policies.suggestions.reruns import LimitTrial
from dashboard.policies.suggestions.shown_values import MOST_ATTEMPTS, least_shown, shown_by_reruns
from dashboard.policies.suggestions.suggestion import Basis, Evidence, Goal, Lack, Number, Suggestion
from dashboard.policies.suggestions.trial_costs import costs_of
from dashboard.policies.suggestions.used_amounts import CONTINUING, USED, used_of, value_of
from dashboard.policies.suggestions.usual_limits import finished_sooner, unreported_by, usual_limit
from dashboard.replay.sweep_point import margin_of, surer
from dashboard.replay.sweep_service import SWEPT, TooMuchWork, completes_within, run_of
from dashboard.turns.end_summary import may_be_cut
from dashboard.turns.history import recording_of
from dashboard.turns.models import UNFINISHED, Turn
from dashboard.turns.read_ahead import reading_once
from dashboard.turns.sent_caps import cap_is_recorded

LEAST = LEAST_ENDED  #: answers, below which nothing is said of their share
FAR = 16  #: times the value to begin with: how far a recording is searched


@reading_once()
def suggestion_for(turn: Turn, *, usage: UsageOf = usage_of) -> Suggestion | None:
    """The suggestion for a stored turn, from its history. `usage`: what turns like it used of a limit."""
    if turn.status in UNFINISHED:
        return None
    recording = recording_of(turn)
    spans = fold(recording)
    return next(_suggestions(turn, spans[-1].after, usage, recording), None) if spans else None


@reading_once()
def suggestions_for(turn: Turn, *, usage: UsageOf = usage_of) -> tuple[Suggestion, ...]:
    """All that tells of the limit, the surest first: `suggestion_for` is the first of them. The value to begin with
    is among them only where nothing else tells."""
    if turn.status in UNFINISHED:
        return ()
    recording = recording_of(turn)
    if not (spans := fold(recording)):
        return ()
    found = tuple(_suggestions(turn, spans[-1].after, usage, recording))
    return tuple(said for said in found if said.known) or found[:1]


@reading_once()
def suggestion_of(turn: Turn, last: Snapshot, *, usage: UsageOf = usage_of) -> Suggestion | None:
    """The limit that would have let a turn finish, or complete in one call. `last`: as the history leaves it.

    None where the turn needs none, or no limit would have helped.
    """
    return next(_suggestions(turn, last, usage), None)


def suggestion_and_less(turn: Turn, last: Snapshot) -> tuple[Suggestion | None, Suggestion | None]:
    """`suggestion_of`, and a smaller value that is likely sufficient by the re-run that proves it; None without one."""
    found = _suggestions(turn, last, usage_of)
    said = next(found, None)
    less = next(found, None) if said is not None and said.basis is Basis.RERUN else None
    return said, less if less is not None and less.basis is Basis.RERUN else None


def suggestion_of_another_limit(turn: Turn, last: Snapshot, said: Suggestion) -> Suggestion | None:
    """The surest value of another limit than the suggested one that may let the turn finish as well; None where there
    is none."""
    return next((each for each in _suggestions(turn, last, usage_of) if each.known and each.limit != said.limit), None)


def tried_in_vain(turn: Turn) -> dict[str, int]:
    """The limits of `cases_of`, and the largest value of each that a re-run has shown to be too
    small; 0 where there is none."""
    return {tried.case.limit: tried.case.in_vain for tried in cases_of(turn)}


def _suggestions(
    turn: Turn, last: Snapshot, usage: UsageOf, recording: Recording | None = None
) -> Iterator[Suggestion]:
    """`recording`: the turn's, where the caller has read it."""
    tried = limit_trials(turn, last, usage)
    for place, (case, reruns) in enumerate(((each.case, each.reruns) for each in tried), start=1):
        for found in _found(case, reruns, usage, recording):
            if found.known or place == len(tried):  # a value to begin with is one of the last limit
                about: dict[str, Any] = {"refused": case.refused, "most": case.most, "full_at": case.full_at}
                about["is_below_full"] = (turn.max_tokens or 0) < (case.full_at or 0)
                about["unrecorded"] = case.limit == "max_tokens" and not cap_is_recorded(turn)
                whole = replace(found, together=_beside(case, reruns, found, recording))
                yield replace(whole, costs=costs_of(case, whole, reruns), **about)


def _beside(
    case: ExhaustedLimit, reruns: tuple[LimitTrial, ...], found: Suggestion, recording: Recording | None
) -> Mapping[str, Any] | None:
    """What has to be raised beside the suggested value; of one that a re-run has shown, what that was given."""
    if found.basis is Basis.RECORDING:
        return None if case.together is None or _is_enough_alone(case, found, recording) else case.together
    if found.basis is Basis.NONE:
        return case.beside(found.value, case.beside_ample)
    if found.basis in (Basis.AGENT, Basis.MODEL):
        return case.beside(found.value, case.together)
    least = least_shown(case, reruns) if found.basis is Basis.RERUN else None
    limits = {name: value for name, value in (least.beside if least else {}).items() if name in LIMIT_NAMES}
    if least is None or not limits:
        return case.together
    needed = _needed_beside(case, least, found.value, limits)
    rest = {name: value for name, value in (case.together or {}).items() if name != "limits"}
    return ({**rest, "limits": needed} if needed else rest) or None


def _is_enough_alone(case: ExhaustedLimit, found: Suggestion, recording: Recording | None) -> bool:
    """Whether the recording is as sure of the value where nothing is raised beside it."""
    with suppress(ValidationError, TooMuchWork):
        point = run_of(turn=case.turn, name=case.limit, overrides={}, recording=recording).at(int(found.value))
        return point.completed and point.certainty.rank <= found.certainty.rank
    return False


def _needed_beside(
    case: ExhaustedLimit, trial: LimitTrial, value: Number, given: Mapping[str, Number | None]
) -> Mapping[str, Number | None]:
    """Of what a re-run was given beside the value, as much as it used and the turn did not have, where every call of it
    would have been the same under that; else all."""
    last, room = fold(recording_of(trial.turn))[-1].after, trial.turn.max_tokens or 0
    used = {name: used_of(name, last) + (room if name in CONTINUING[1:] else 0) for name in given if name in USED}
    stood = {name: value_of(case.last, name) or 0 for name in used}
    enough = {name: max(amount, stood[name]) for name, amount in used.items()}
    fewer = {name: amount for name, amount in enough.items() if given[name] is None or amount <= (given[name] or 0)}
    with suppress(ValidationError, TooMuchWork):
        point = run_of(turn=trial.turn, name=case.limit, overrides={"limits": fewer}).at(int(value))
        if fewer and point.completed and point.certainty is Certainty.RECORDED:
            least = {name: fewer.get(name, amount) for name, amount in given.items()}
            return {name: amount for name, amount in least.items() if amount is None or amount > stood.get(name, 0)}
    return given


def _found(
    case: ExhaustedLimit, reruns: tuple[LimitTrial, ...], usage: UsageOf, recording: Recording | None
) -> Iterator[Suggestion]:
    recorded = None if case.repaired is not None or may_be_cut(case.turn) else _recorded(case, recording)
    if case.goal is Goal.ONE_CALL:
        yield from _in_one_call(case, reruns, recorded)
        return
    if case.repaired is not None:
        yield from _in_one_call(case, reruns, _complete_at_once(case, case.repaired))
        yield Suggestion(case.limit, case.ample, case.recorded, Certainty.UNDECIDABLE, Basis.NONE, case.goal)
        return
    if recorded is not None:
        yield recorded
    if case.limit == APPROVAL_SECONDS:
        yield Suggestion(case.limit, case.ample, case.recorded, Certainty.UNDECIDABLE, Basis.NONE)
        return
    usual = usual_limit(case, usage)
    yield from shown_by_reruns(case, reruns)
    if isinstance(usual, Suggestion):
        yield usual
    if case.limit == "max_retries" and not case.in_vain:
        asked = case.last.failure.provider if case.last.failure else None
        told = (case.ample, case.recorded, Certainty.ESTIMATED, Basis.SETTING, Goal.RETRY)
        wait = asked.retry_after if asked else None
        yield Suggestion(case.limit, *told, longer_than=case.used, wait=wait)
    about = {} if isinstance(usual, Suggestion) else {"evidence": usual, **finished_sooner(case, usage)}
    about["ended"] = case.turn.status == TurnStatus.COMPLETED
    first = case.ample if isinstance(usual, Suggestion) else _to_begin_with(case, usual)
    yield Suggestion(case.limit, first, case.recorded, Certainty.UNDECIDABLE, Basis.NONE, **about)


def _to_begin_with(case: ExhaustedLimit, known: Evidence) -> int:
    """Clearly more than was used, and no less than the other turns needed that used more: they are too few for an
    estimate, and show that less is hopeless."""
    if known.usual is None or known.lack not in (Lack.FEW, Lack.STOPPED):
        return case.ample
    return max(case.ample, case.allowed_of(ceil(known.usual.most) + margin_of(case.limit)))


def _in_one_call(
    case: ExhaustedLimit, reruns: tuple[LimitTrial, ...], recorded: Suggestion | None
) -> Iterator[Suggestion]:
    """By the recording; of what that only estimates, by a re-run under such a value, which proves or disproves it."""
    if recorded is not None and recorded.certainty is not Certainty.ESTIMATED:
        yield recorded
        return
    least = least_shown(case, reruns)
    likely = recorded if recorded is not None and recorded.value > case.in_vain else None
    if likely is not None and (least is None or least.value > likely.value):
        yield likely
    else:
        yield from shown_by_reruns(case, reruns)


def _complete_at_once(case: ExhaustedLimit, repaired: RepairedCalls) -> Suggestion | None:
    """By how long the calls were that were requested again."""
    unreported = unreported_by(case)
    if repaired.enough is None or unreported is None:
        return None
    value = repaired.enough + max(unreported, END_AT_MOST)
    if case.ceiling is not None and value > case.ceiling:
        return None
    told = (value, case.recorded, Certainty.ESTIMATED, Basis.RECORDING, case.goal)
    calls, used = case.last.own.attempts - repaired.cut, case.last.own.output_tokens - repaired.wasted
    return Suggestion(case.limit, *told, calls=calls, used=used, unreported=unreported)


def _recorded(case: ExhaustedLimit, recording: Recording | None) -> Suggestion | None:
    """What the recording of a whole answer tells: the smallest value under which it completes, in one call if asked."""
    one_call = case.goal is Goal.ONE_CALL
    if one_call and (tokens := enough_for_one_call(case.last)) is not None:
        if case.ceiling is not None and case.ceiling < tokens:
            return None
        certain = (tokens, case.recorded, Certainty.CERTAIN, Basis.RECORDING, case.goal)
        return Suggestion("max_tokens", *certain, calls=1, used=case.last.spent.output_tokens)
    if case.limit not in SWEPT or case.turn.attempts > MOST_ATTEMPTS or not isinstance(case.recorded, int):
        return None
    with suppress(ValidationError, TooMuchWork):  # a recording that cannot be judged any more tells nothing
        run = run_of(turn=case.turn, name=case.limit, overrides=case.together or {}, recording=recording)
        holds = completes_within(1) if one_call else completes_within(FAR * case.ample)
        most = FAR * case.ample if case.ceiling is None else case.ample
        if not (holds(run.at(most)) and run.at(most).is_enough):
            return None
        value = run.between(case.recorded, most, holds)
        point = surer(run.at(value), run.at, margin_of(case.limit))
        told = (point.value, case.recorded, point.certainty, Basis.RECORDING, case.goal)
        return Suggestion(case.limit, *told, calls=point.calls, used=point.tokens, used_most=value)
    return None


@reading_once()
def cases_of(turn: Turn, usage: UsageOf = usage_of) -> tuple[TriedLimit, ...]:
    """The limits that may let the turn finish, or complete in one call, each with the re-runs that tried it."""
    spans = fold(recording_of(turn))
    return limit_trials(turn, spans[-1].after, usage) if spans else ()


def proving_rerun(tried: TriedLimit) -> Turn | None:
    """The re-run whose history tells of the suggestion for a turn; None where there is none."""
    least = least_shown(tried.case, tried.reruns)
    return None if least is None else least.turn
