"""What the page of a turn suggests, for its sweep: pages, API and commands that sweep a limit name the same number."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from agentcore.errors import CoreError
from agentcore.observed_verdict import NO_HELP
from agentcore.reasons import TurnStatus
from agentcore.replay import Certainty
from agentcore.verdict import verdict_of
from dashboard.agents.policies import stored_policy
from dashboard.policies.suggestions.covered_values import with_covered
from dashboard.policies.suggestions.measured_values import measured_values
from dashboard.policies.suggestions.next_step import next_step_of
from dashboard.policies.suggestions.panel import last_of
from dashboard.policies.suggestions.selectors import suggestions_for
from dashboard.policies.suggestions.suggestion import Basis, Goal, Suggestion
from dashboard.policies.suggestions.suggestion_log import tell
from dashboard.policies.suggestions.suggestion_text import because, beside, certainty_word, sentence
from dashboard.policies.suggestions.trial_costs import costs_in_words
from dashboard.replay.limit_controls import limit_controls_of, retries_control
from dashboard.replay.suggested_value import MeasuredValue, SuggestedValue
from dashboard.replay.sweep_point import fewest_first
from dashboard.replay.sweep_range import usual_range
from dashboard.replay.sweep_result import Sweep
from dashboard.replay.sweep_service import turn_sweep
from dashboard.turns.models import UNFINISHED, Turn
from dashboard.turns.prices.selectors import price_of
from dashboard.turns.read_ahead import reading_once

#: Of a turn that a person or a client cancelled.
NO_LIMIT = "The turn was cancelled, not stopped by a limit."


def suggestions_of_sweep(turn: Turn) -> tuple[Suggestion, ...]:
    """As `suggestions_for`; none for a turn whose recording this version of the core cannot judge."""
    try:
        return suggestions_for(turn)
    except CoreError:
        return ()


@reading_once()
def suggested_sweep(
    *,
    turn: Turn,
    name: str,
    values: range,
    overrides: Mapping[str, Any],
    suggestions: Iterable[Suggestion] | None = None,
) -> Sweep:
    """The sweep, with what is suggested for this limit; under other changed limits that does not apply.

    Raises `ValidationError` in words. `suggestions`: None, to be read.
    """
    said = suggestions_of_sweep(turn) if suggestions is None else tuple(suggestions)
    if not _others(overrides, name):
        tell(turn, *(each for each in said if each.limit == name))
    suggested = () if _others(overrides, name) else tuple(_value(turn, each) for each in _beyond(said, name))
    named = {each.value for each in suggested}
    run = _as_suggested(measured_values(turn=turn, name=name, overrides=overrides), said)
    measured = tuple(each for each in run if values and (values[0] <= each.value <= values[-1] or each.value in named))
    suggested = _not_run(suggested, measured)
    also = [each.value for each in measured]
    beyond = _beyond_range(turn, name, values, largest_by_limit(said).get(name, 0))
    given: dict[str, Any] = {"turn": turn, "name": name, "values": values, "overrides": overrides}
    found = turn_sweep(**given, suggested=suggested, also=also, compared=beyond)
    elsewhere = bool(said) and all(each.limit != name for each in said)
    found = with_covered(_as_run(found, measured), said, run)
    within = (values[0], values[-1]) if beyond else None
    return replace(found, elsewhere=elsewhere, in_vain="" if said and not elsewhere else _in_vain(turn), within=within)


def largest_by_limit(said: Iterable[Suggestion]) -> dict[str, int]:
    """The largest value that is suggested for each limit: the range that a page opens on goes beyond it."""
    largest: dict[str, int] = {}
    for each in said:
        largest[each.limit] = max(int(each.value), largest.get(each.limit, 0))
    return largest


def _beyond_range(turn: Turn, name: str, values: range, largest: int) -> range:
    """The usual range, which pages open on, where it has values beyond the one that was asked for: what is recommended
    is the best of all. Empty where it has none."""
    policy = stored_policy(turn.policy)
    dials = (*limit_controls_of(turn, policy), retries_control(policy.error_policy))
    dial = next((dial for dial in dials if dial.name == name), None)
    if dial is None or not values:
        return range(0)
    usual = usual_range(turn, dial, beyond=largest)
    return range(0) if values[0] <= usual.start and values[-1] >= usual[-1] else usual


def _as_run(found: Sweep, measured: tuple[MeasuredValue, ...]) -> Sweep:
    """With what re-runs took in place of what the recording tells of the same values, and recommended by that."""
    # What was shown with other settings beside the value is not true of the value alone.
    shown = [each for each in reversed(found.suggested) if each.rerun is not None and not each.beside]
    told: tuple[MeasuredValue | SuggestedValue, ...] = (*measured, *shown)
    run = {each.value: each.as_run for each in told}
    tried = (run[point.value](point) if point.value in run else point for point in found.known)
    known = {point.value: point for point in tried}
    points = tuple(known[point.value] for point in found.points)
    in_vain = {each.value for each in measured if not each.is_enough}
    proven = {each.value for each in told if each.proven and each.value in known}
    advised = ({point.value for point in found.recommended} - in_vain) | proven
    recommended = fewest_first(known[value] for value in advised)
    whole = replace(found, points=points, known=tuple(known.values()))
    return replace(whole, measured=measured, recommended=recommended)


def _not_run(suggested: Iterable[SuggestedValue], measured: Iterable[MeasuredValue]) -> tuple[SuggestedValue, ...]:
    """Without the likely values under which a re-run completed: it tells of them what is known."""
    shown = {each.value for each in measured if each.is_enough}
    return tuple(each for each in suggested if each.rerun or each.beside or each.value not in shown)


def _as_suggested(measured: Iterable[MeasuredValue], said: Iterable[Suggestion]) -> tuple[MeasuredValue, ...]:
    """With the certainty that the turn's page gives the same re-run."""
    told = {each.rerun for each in said if each.rerun}
    sure = {each.rerun for each in said if each.rerun and each.certainty is Certainty.CERTAIN}
    return tuple(replace(each, proven=each.rerun in sure) if each.rerun in told else each for each in measured)


def _in_vain(turn: Turn) -> str:
    """What the turn's page says where no larger value of a limit would have helped; empty where it says to re-run."""
    last = None if turn.status in (*UNFINISHED, TurnStatus.COMPLETED) else last_of(turn)
    verdict = None if last is None else verdict_of(last)
    if last is None or verdict is None or verdict.rerun:
        return ""
    step = next_step_of(turn, last)
    told = " ".join(filter(None, (verdict.helps, step.advice if step else "")))
    return told or (NO_LIMIT if turn.status == TurnStatus.CANCELLED else NO_HELP)


def _beyond(said: Iterable[Suggestion], name: str) -> tuple[Suggestion, ...]:
    """Those of the limit that the sweep does not find by itself: where the recording tells, it does."""
    of_limit = tuple(each for each in said if each.limit == name)
    is_found = any(each.basis is Basis.RECORDING and each.goal is not Goal.NO_REPAIR for each in of_limit[:1])
    return () if is_found else of_limit


def _others(overrides: Mapping[str, Any], name: str) -> bool:
    limits = set(overrides.get("limits") or {}) - {name}
    return bool(limits or {key for key, value in overrides.items() if value} - {"limits", name})


def _value(turn: Turn, said: Suggestion) -> SuggestedValue:
    words = f"{sentence(said)} {because(said)}"
    about: dict[str, Any] = {}
    if said.rerun is not None and said.certainty is Certainty.ESTIMATED and said.given != said.value:
        about = {"calls": said.calls, "tokens": said.used}
    elif said.rerun is not None:
        again = Turn.objects.get(pk=said.rerun)
        seconds = None if again.took_ms is None else again.took_ms / 1000
        about = {"calls": again.attempts, "tokens": again.output_tokens, "price": price_of(again), "seconds": seconds}
        about["rerun"] = said.rerun
    elif said.costs is not None:
        about = {"tokens": said.costs.filled_tokens, "price": said.costs.filled_price}
    costs = "" if said.basis is Basis.RERUN else costs_in_words(said.costs, model=turn.model)
    about |= {"costs": costs, "beside": " + ".join(beside(said)), "tries_again": said.only_tries_again}
    together = said.together or {}
    about["settings"] = {**(together.get("limits") or {}), **(together.get("error_policy") or {})}
    return SuggestedValue(int(said.value), certainty_word(said), said.certainty, words, **about)


def in_words(said: Suggestion) -> dict[str, str]:
    """The badge and the sentences of a suggestion, where another limit is swept than the one it names."""
    return {
        "word": certainty_word(said),
        "certainty": said.finish_certainty.value,
        "words": f"{sentence(said)} {because(said)}",
    }
