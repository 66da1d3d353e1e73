"""Sweeps one limit over a range: how the turn would have ended at each value.

Two values are named: from where it completes for certain, and from where it likely does (design §3.9). Completing need
not grow with a limit (a continuation more may run into another limit): "from" is said only where every larger value
that was tried completes as well. The smallest value is not searched by halves alone: between the last grid value that
fails and the first that completes it is, and then every smaller value is tried too, as far as the work allows. Where it
does not, the words say so. The work is that of the what-ifs in all (`agentcore.replay.work_budget`), not their number.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from django.core.exceptions import ValidationError

from agentcore.policy import Policy
from agentcore.quoting import quoted
from agentcore.reasons import TurnStatus
from agentcore.replay import Experience, Recording, what_if
from agentcore.resource import out_of_time, resource_of
from dashboard.agents.criteria import criteria_faults
from dashboard.agents.policies import overridden
from dashboard.agents.policy_validation import limit_clean, listed
from dashboard.live.services import overrides_clean
from dashboard.live.turn_loader import connection_of, how_to_find_out
from dashboard.replay.found_values import found_in
from dashboard.replay.limit_controls import Number
from dashboard.replay.services import answered_calls, turn_experience
from dashboard.replay.suggested_value import SuggestedValue
from dashboard.replay.sweep_point import Holds, Point, calls_of, margin_of, recommended, stretch_of, surer
from dashboard.replay.sweep_result import Sweep
from dashboard.turns.end_summary import is_doubtful, may_be_cut
from dashboard.turns.history import recording_of
from dashboard.turns.models import Turn
from dashboard.turns.prices.rates import Rate
from dashboard.turns.prices.selectors import totals_price, turn_rate
from dashboard.turns.projection import status_of
from dashboard.turns.sent_caps import cap_is_recorded

SWEPT = (
    "max_tokens",
    "max_continuations",
    "max_total_completion_tokens",
    "max_total_output_chars",
    "max_tool_repair_attempts",
    "max_steps",
    "max_total_tokens",
    "max_seconds",
    "schema_rounds",
    "max_retries",
)
MOST_POINTS = 120  #: of the chart
MOST_WORK = 24_000  #: of one sweep, in steps of following a recording (`agentcore.replay.work_budget`)
THOROUGH_WORK = 16_000  #: the same, beyond which no smaller values than the first that completes are tried one by one
OF_A_POINT = 5  #: what a what-if takes beside its steps


class TooMuchWork(Exception):
    """A value that was not evaluated: those before it took all the work that there may be."""


def turn_sweep(
    *,
    turn: Turn,
    name: str,
    values: range,
    overrides: Mapping[str, Any],
    suggested: tuple[SuggestedValue, ...] = (),
    also: Iterable[int] = (),
    compared: Iterable[int] = (),
) -> Sweep:
    """The turn at each of `values` of one limit, under what else is overridden. Raises `ValidationError` in words.

    `suggested`: values of the limit that something else than the recording tells of; they are tried as well, and so
    are those of `also`. `compared`: values that are tried to recommend the best, and not listed.
    """
    _swept(name, values)
    run = run_of(turn=turn, name=name, overrides=overrides)
    connection = connection_of(turn)
    overrides_clean(_at(name, values[0]), connection)
    overrides_clean(_at(name, values[-1]), connection)
    known = [each.value for each in suggested if each.known]
    found = run.sweep(values, recorded_value(turn, run.recording.policy, name), also=[*known, *also], compared=compared)
    return replace(
        found, suggested=suggested, doubtful=is_doubtful(turn), how=how_to_find_out(turn), untimed=turn.untimed
    )


def run_of(*, turn: Turn, name: str, overrides: Mapping[str, Any], recording: Recording | None = None) -> "SweepRun":
    """The turn, ready to be tried at any value of one limit. Raises `ValidationError` in words."""
    recording = recording_of(turn) if recording is None else recording
    if not recording.records:
        raise ValidationError("Nothing has been recorded for this turn yet.")
    if faults := criteria_faults(recording.policy):
        raise ValidationError(faults)
    connection = connection_of(turn)
    policy = overridden(recording.policy, overrides_clean(overrides, connection))
    return SweepRun(recording, policy, name, turn_rate(turn), turn_experience(turn), at_cap=may_be_cut(turn))


def recorded_value(turn: Turn, policy: Policy, name: str) -> Number | None:
    """The value of a limit that the turn ran under; None: no limit."""
    if name == "max_retries":
        return policy.error_policy.max_retries
    if name == "max_tokens":
        return turn.max_tokens if cap_is_recorded(turn) else None
    value: Number | None = getattr(policy.limits, name)
    return value


def _swept(name: str, values: range) -> None:
    if name not in SWEPT:
        raise ValidationError({"limit": f"There is no limit {quoted(name)} to sweep; there are {listed(SWEPT)}."})
    if not values or values.step < 1:
        raise ValidationError({"end": "The range is empty: its end must not be below its start."})
    count = (values[-1] - values[0]) // values.step + 1  # `len` knows no more than a processor's word holds
    if count > MOST_POINTS:
        raise ValidationError(
            {"step": f"The range has {count:,} values; the maximum is {MOST_POINTS}. Choose a larger step."}
        )
    for value in (values[0], values[-1]):
        if name not in ("max_tokens", "max_retries"):  # those are no limits of a policy's `limits`
            limit_clean(name, value)


def _at(name: str, value: int) -> dict[str, Any]:
    if name == "max_retries":
        return {"error_policy": {name: value}}
    return {"max_tokens": value} if name == "max_tokens" else {"limits": {name: value}}


def _completes(point: Point) -> bool:
    return point.is_enough


def _completes_certainly(point: Point) -> bool:
    return point.is_enough and point.completes_certainly


def completes_within(calls: int) -> Holds:
    """Whether the turn completes in at most so many calls."""
    return lambda point: point.is_enough and point.calls <= calls


@dataclass(slots=True)
class SweepRun:
    """One turn under one limit, and what is known of it so far."""

    recording: Recording
    policy: Policy
    name: str
    rate: Rate | None
    experience: Experience
    at_cap: bool = False  #: the recorded turn is said to have completed, and may have been cut at its last cap
    known: dict[int, Point] = field(default_factory=dict)
    work: int = 0  #: so far

    def sweep(
        self, values: range, recorded: Number | None, also: Iterable[int] = (), compared: Iterable[int] = ()
    ) -> Sweep:
        sure, was = False, [recorded, *also] if isinstance(recorded, int) and recorded > 0 else [*also]
        with suppress(TooMuchWork):
            self._try_all(values, was)
            for value in compared:
                self.at(value)
            sure = self._look_for(values, _completes)
            self._look_for(values, _completes_certainly)
            for calls in calls_of(self.known.values()):
                self._begin_closer(calls)
                self._leave_a_margin(calls)
        tried = tuple(self.known.values())
        certain, likely = found_in(tried, _completes_certainly), found_in(tried, _completes)
        named = (value for found in (certain, likely) if found for value in (found.first, found.value))
        advised = recommended(self.known.values(), recorded, margin=margin_of(self.name))
        wanted = {*values, *named, *was, *(point.value for point in advised)} & self.known.keys()
        points = tuple(self.known[value] for value in sorted(wanted))
        left_out = sum(value not in self.known for value in values)
        least = likely.first if likely else 0
        unknown = sum(value < least and point.undecidable for value, point in self.known.items())
        apart = {*compared} & self.known.keys() - {*values, *was}
        found = Sweep(self.name, recorded, points, certain, likely, sure, len(tried) - len(apart), advised, left_out)
        return replace(found, unknown=unknown, known=tried)

    def _try_all(self, values: range, first: Iterable[int]) -> None:
        """Try these values, the first ones first and then from coarse to fine, so that what the work may not allow is
        missing evenly."""
        steps = (2**power for power in reversed(range(len(values).bit_length())))
        for value in (*first, values[-1], *chain.from_iterable(values[::step] for step in steps)):
            self.at(value)

    def _look_for(self, values: range, holds: Holds) -> bool:
        """Try what is needed to name the smallest at which it holds; whether every smaller one could be tried."""
        place = next((place for place, value in enumerate(values) if holds(self.at(value))), None)
        if place is None:
            return True
        first = values[place] if place == 0 else self.between(values[place - 1], values[place], holds)
        sure = self._all_before(range(values[0], first), holds)
        self._look_closer(holds)
        return sure

    def _look_closer(self, holds: Holds) -> None:
        """Try the values next to the last at which it does not hold."""
        found = found_in(self.known.values(), holds)
        since = found.since if found else None
        before = [value for value in self.known if since is not None and value < since]
        if since is not None and before:
            self.between(max(before), since, holds)

    def _begin_closer(self, calls: int) -> None:
        """Try the values before the stretch that completes in so many calls, for its very beginning."""
        tried = sorted(self.known.values(), key=lambda point: point.value)
        place = stretch_of(tried, calls)
        if place:
            self.between(tried[place - 1].value, tried[place].value, completes_within(calls))

    def _leave_a_margin(self, calls: int) -> None:
        """Try the values that the end of an answer may need beyond the first that completes in so many calls."""
        tried = sorted(self.known.values(), key=lambda point: point.value)
        surer(tried[stretch_of(tried, calls)], self.at, margin_of(self.name))

    def between(self, fails: int, completes: int, holds: Holds) -> int:
        """The smallest value at which it holds, by halves."""
        while completes - fails > 1:
            middle = (fails + completes) // 2
            fails, completes = (fails, middle) if holds(self.at(middle)) else (middle, completes)
        return completes

    def _all_before(self, values: Iterable[int], holds: Holds) -> bool:
        """Try these values until it holds at one. False where the work did not allow to try all before it."""
        for value in values:
            if value not in self.known and self.work >= THOROUGH_WORK:
                return False
            if holds(self.at(value)):
                return True
        return True

    def at(self, value: int) -> Point:
        """The turn at this value. Raises `TooMuchWork` where it would have to be imagined and the work is spent."""
        if value not in self.known:
            if self.work >= MOST_WORK:
                raise TooMuchWork
            self.known[value] = self._point(value)
        return self.known[value]

    def _point(self, value: int) -> Point:
        policy = overridden(self.policy, _at(self.name, value))
        imagined = what_if(self.recording, policy, trace=False, experience=self.experience)
        self.work += OF_A_POINT + imagined.work
        final = imagined.final
        assert final is not None, "a what-if knows where it ended"
        status = status_of(final)
        is_late = out_of_time(final)
        ended = "time_limit" if is_late else final.end.terminal_reason if final.end else status.value
        return Point(
            value,
            "undecidable" if imagined.undecidable else ended,
            not imagined.undecidable and status is TurnStatus.COMPLETED,
            imagined.spent.output_tokens,
            answered_calls(final) if imagined.undecidable else final.own.attempts,
            totals_price(imagined.spent, self.recording.base_snapshot.own, self.rate),
            imagined.certainty,
            round(imagined.seconds, 3),
            bool(imagined.stopped),
            imagined.why,
            imagined.output_tokens_range,
            resource_of(final) if is_late or status is TurnStatus.PARTIAL else None,
            self.at_cap and not imagined.undecidable and status is TurnStatus.COMPLETED,
        )
