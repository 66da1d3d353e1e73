"""The limit that a finished turn ran out of, and how much of it was used."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentcore.cuts import TOTAL
from agentcore.error_policy import ErrorHandlingDecision
from agentcore.reasons import NormalizedStopReason, TurnStatus
from agentcore.remedies import limits_spent, remedy_of, unapproved
from agentcore.resource import APPROVAL_SECONDS, no_retry_helps, out_of_time, resource_of
from agentcore.snapshot import Snapshot
from agentcore.values import replace
from dashboard.agents.approvals import LONGEST
from dashboard.agents.limit_fields import LIMIT_FIELDS
from dashboard.live.turn_loader import connection_of
from dashboard.policies.suggestions.limit_to_raise import limit_to_raise
from dashboard.policies.suggestions.repaired_calls import RepairedCalls, repaired_calls
from dashboard.policies.suggestions.suggestion import Goal, Number
from dashboard.policies.suggestions.used_amounts import (
    CALLS,
    CONTINUING,
    LARGER,
    USED,
    approval_seconds,
    goes_on_in_vain,
    is_at_least,
    is_cut_call,
    is_cut_envelope,
    is_short,
    is_total,
    larger,
    share,
    used_of,
    value_of,
    wider,
)
from dashboard.turns.end_summary import cut_sign, may_be_cut
from dashboard.turns.models import UNFINISHED, Turn

RETRIES = 3  #: failures running, to begin with
LEAST_TRY = 200  #: tokens of a call, to begin with: few answers are shorter, and one that is costs no more
SOME = 5  #: more of what is counted in ones
#: Kinds of the provider's errors that last until someone mends the connection.
OF_CONNECTION = frozenset({"auth", "quota", "not_found", "not_dialect"})
RETRIED = "schema_rounds"  #: the same of a structured answer, which is requested whole again
COUNTED = ("max_continuations", "max_tool_repair_attempts", "max_steps", "schema_rounds")
#: What more of a limit uses up as well, so that it would end a re-run first.
GROWING: Mapping[str, tuple[str, ...]] = {
    "max_seconds": (*CONTINUING, "max_total_output_chars", "max_steps"),
    "max_steps": ("max_total_tokens", "max_total_output_chars", "max_seconds"),
    "max_total_tokens": (*CONTINUING[:2], "max_total_output_chars", "max_steps", "max_seconds"),
    "max_total_completion_tokens": ("max_continuations", "max_total_tokens", "max_total_output_chars", "max_seconds"),
    "max_continuations": ("max_total_output_chars", "max_seconds"),
    "max_tool_repair_attempts": ("max_total_tokens", "max_seconds"),
    "schema_rounds": ("max_total_tokens", "max_seconds"),
}
SPARE = 2  #: times what a re-run is expected to use of those


@dataclass(frozen=True, slots=True)
class ExhaustedLimit:
    """A turn that one limit stopped, or made several calls of. `together`: further overrides that it needs."""

    turn: Turn
    last: Snapshot
    limit: str
    goal: Goal = Goal.FINISH
    together: Mapping[str, Any] | None = None
    in_vain: int = 0  #: the largest value of the limit under which a live re-run was not complete either
    allowed: int | None = None  #: the most that one call may ask for, as `ceiling_today` says
    refused: int | None = None  #: the least `max_tokens` that the provider refused as too large
    most: int | None = None  #: the most that it then said it allows
    full_at: int | None = None  #: the most that the connection lets one call request, where no larger cap is possible
    repaired: RepairedCalls | None = None  #: where a truncated tool call was requested again

    @property
    def used(self) -> int:
        return used_of(self.limit, self.last) if self.repaired is None else self.repaired.spent

    @property
    def counted(self) -> str:
        """What other turns are asked for: how much of the limit they used; of a cut tool call, how long theirs are."""
        return CALLS if self.limit == "max_tokens" and is_cut_call(self.last) else self.limit

    @property
    def recorded(self) -> Number | None:
        """The value that stood: as an operator may have changed it, for that is what ended the turn."""
        if self.limit == "max_tokens":
            return self.turn.max_tokens
        if self.limit == "max_retries":
            return self.last.error_policy.max_retries
        if self.limit == APPROVAL_SECONDS:
            return approval_seconds(self.last)
        return getattr(self.last.limits, self.limit)  # type: ignore[no-any-return]

    @property
    def ceiling(self) -> int | None:
        """The most that one call may ask for; None: not known, or not of this limit."""
        if self.limit != "max_tokens":
            return None
        below = None if self.refused is None else self.refused - 1
        known = (self.allowed, self.most, below)
        return min((number for number in known if number is not None), default=None)

    @property
    def is_full(self) -> bool:
        """Whether one call cannot ask for more than was not enough."""
        return self.ceiling is not None and self.ceiling <= max(self.turn.max_tokens or 0, self.in_vain, self._eaten)

    @property
    def _eaten(self) -> int:
        """The cap of the last call, where reasoning used up all of it; else 0."""
        return (self.last.sent_cap or 0) if self.goal is Goal.FINISH and self.last.eaten else 0

    @property
    def ample(self) -> int:
        """A value to begin with where nothing tells: clearly more than was used."""
        if self.limit == "max_retries":  # the same on the page of a turn and on that of its re-run that failed, too
            own = 0 if (self.together or {}).get("error_policy") else int(self.recorded or 0)
            return max(RETRIES, self.used + 1, 2 * max(own, self.in_vain))
        if self.limit == APPROVAL_SECONDS:
            return min(LARGER * self.used, LONGEST)
        stood = max(self.used, int(self.recorded or 0), self.in_vain)
        times = share(self.limit, LARGER) if self._continues else LARGER
        wanted = stood + SOME if self.limit in COUNTED else int(times * max(1, stood))
        return self.allowed_of(max(wanted, LEAST_TRY) if self.limit == "max_tokens" else wanted)

    def allowed_of(self, value: int) -> int:
        """No more than one call may ask for."""
        return value if self.ceiling is None else min(value, self.ceiling)

    @property
    def beside_ample(self) -> Mapping[str, Any] | None:
        """What has to be raised beside `ample`. It grows with that, or a second try would be ended by the rest."""
        times = math.ceil(self.ample / replace(self, in_vain=0).ample)
        if self.limit == "max_total_output_chars":
            return wider(_together(self.last, self.limit, times), self.together)
        limits = (self.together or {}).get("limits")
        if times == 1 or limits is None:
            return self.together
        more = {name: value and value * share(name, times) for name, value in limits.items()}
        return {**(self.together or {}), "limits": more}

    def beside(self, value: Number, together: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """What has to be raised beside a value that is to be tried, so that nothing else ends the re-run first."""
        limits = (together or {}).get("limits", {})
        wanted = {name: self._growing(name, value) for name in GROWING.get(self.limit, ()) if name not in limits}
        short = {name: more for name, more in wanted.items() if more is not None}
        return {**(together or {}), "limits": {**limits, **short}} if short else together

    def _growing(self, name: str, value: Number) -> Number | None:
        """A value with room for what a turn is expected to use that is given so much of the limit; None: it has it."""
        stands, used = value_of(self.last, name), USED[name](self.last)
        first = 1 if name == "max_continuations" else 0  # the first call of an answer is no continuation
        alone = name == "max_steps" and used == 1  # one step may be all that it takes
        if stands is None or not used + first or alone or (name in CONTINUING[:2] and not self._continues):
            return None
        expected = math.ceil((used + first) * share(name, self._times(value))) - first
        return min(SPARE * expected, int(LIMIT_FIELDS[name].maximum)) if stands < expected else None

    @property
    def _continues(self) -> bool:
        """Whether the answer was continued, or is to be."""
        return self.last.spent.continuations > 0 or self.last.model_stop_reason == NormalizedStopReason.MAX_TOKENS

    def _times(self, value: Number) -> float:
        """How many times as many calls as were made are expected under a value of the limit."""
        if self.limit in COUNTED:
            calls = max(1, self.last.own.attempts)
            return (calls + value - self.used) / calls
        times = float(value / max(USED[self.limit](self.last), 0.1))
        return math.sqrt(times) if self.limit == "max_total_tokens" else times

    def ended_by(self, limit: str, stood: Number) -> "ExhaustedLimit":
        """The same where a re-run was ended by another limit, of which it had so much: that is raised, too."""
        limits = (self.together or {}).get("limits", {})
        raised = stood + SOME if limit in COUNTED else LARGER * math.ceil(stood)
        more = max(min(raised, int(LIMIT_FIELDS[limit].maximum)), limits.get(limit) or 0)
        return replace(self, together={**(self.together or {}), "limits": {**limits, limit: more}})

    def is_alone(self, given: Mapping[str, Any]) -> bool:
        """Whether settings that a re-run was given beside the limit tell of no other one: none, or what has to be
        raised with it, as far at least."""
        asked = {name: value for group in (self.together or {}).values() for name, value in group.items()}
        further = CONTINUING if self.limit == "max_total_output_chars" else GROWING.get(self.limit, ())
        least = {name: value_of(self.last, name) for name in further} | asked
        if given and not asked.keys() <= given.keys() <= least.keys():
            return False
        return all(is_at_least(value, least[name]) for name, value in given.items())


def ceiling_today(turn: Turn, last: Snapshot) -> int | None:
    """The most that one call may ask for: as the connection says today, for that is what a re-run is held to; where it
    is gone, as it said then. None: not known."""
    connection = connection_of(turn)
    return last.asked.ceiling if connection is None else connection.ceiling


def of_cap(turn: Turn, last: Snapshot, goal: Goal = Goal.FINISH) -> ExhaustedLimit:
    """A turn that the cap of its calls stopped, or made several calls of."""
    return ExhaustedLimit(turn, last, "max_tokens", goal, allowed=ceiling_today(turn, last))


def exhausted_limit_of(turn: Turn, last: Snapshot) -> ExhaustedLimit | None:
    """None while the turn runs, and where no limit would have helped, or none is known to."""
    if turn.status in UNFINISHED or last.end is None or last.setup is None:
        return None
    if last.end.status is TurnStatus.COMPLETED:
        return _completed(turn, last)
    if unapproved(last) is not None:
        return ExhaustedLimit(turn, last, APPROVAL_SECONDS)
    if last.end.status is TurnStatus.CANCELLED:
        return None
    if out_of_time(last):
        return ExhaustedLimit(turn, last, "max_seconds", together=_together(last, "max_seconds"))
    if last.end.terminal_reason == "provider_error":
        return _retried(turn, last)
    limit = limit_to_raise(last)
    if limit is None:
        return None
    case = of_cap(turn, last) if limit == "max_tokens" else ExhaustedLimit(turn, last, limit)
    case = replace(case, together=_together_in_the_end(last, limit))
    if not case.is_full:
        return case
    return None if goes_on_in_vain(last) else replace(continued_instead(turn, last), full_at=case.ceiling)


def _completed(turn: Turn, last: Snapshot) -> ExhaustedLimit | None:
    """Where the answer may be cut, the cap that its last call used up; else a larger one, for fewer calls."""
    if cut_sign(turn) and may_be_cut(turn):
        total = CONTINUING[1]
        is_used_up = is_total(last, total) and last.spent.output_tokens >= (value_of(last, total) or 0)
        case = ExhaustedLimit(turn, last, total) if is_used_up else of_cap(turn, last)
        return None if case.is_full else case
    # A fork that began with a continuation cannot take one call: its text begins in its parent's.
    more = last.own.continuations + last.own.envelope_retries
    several = 0 < more < last.own.attempts and last.iteration <= 1
    return of_cap(turn, last, Goal.ONE_CALL) if several else _repaired(turn, last)


def _repaired(turn: Turn, last: Snapshot) -> ExhaustedLimit | None:
    """A larger cap would have made it unnecessary to request a truncated tool call again."""
    repaired = repaired_calls(turn)
    if repaired is None:
        return None
    case = replace(of_cap(turn, last, Goal.NO_REPAIR), repaired=repaired)
    return None if case.is_full else case


def continued_instead(turn: Turn, last: Snapshot) -> ExhaustedLimit:
    """A cut that no larger cap can mend: only more continuations can, and more of what bounds those. A structured
    answer is requested again instead."""
    if is_cut_envelope(last):
        return ExhaustedLimit(turn, last, RETRIED, together=_together(last, RETRIED))
    bounds = {name: larger(last, name) for name in CONTINUING[1:]}
    raised = {name: value for name, value in bounds.items() if value is not None}
    return ExhaustedLimit(turn, last, CONTINUING[0], together={"limits": raised} if raised else None)


def _together_in_the_end(last: Snapshot, limit: str) -> dict[str, Any] | None:
    """The same, and the continuations that were used up by an answer that a total cut."""
    together = _together(last, limit)
    if limit != TOTAL or "max_continuations" not in limits_spent(last):
        return together
    more = {"limits": {"max_continuations": larger(last, "max_continuations") or LARGER}}
    return wider(more, together)


def _together(last: Snapshot, limit: str, times: int = 1) -> dict[str, Any] | None:
    """The other limits that bound at the same moment; a first call is held back by none of them. `times` the value to
    begin with is tried."""
    if limit == "max_tokens":
        return None
    stood = {raised.limit for raised in remedy_of(last).raises if raised.limit != limit}
    if limit == "max_total_output_chars":  # so many more characters need as many more calls and tokens
        stood.update(name for name in CONTINUING if is_short(last, name, times))
    raised = {name: larger(last, name, times) or LARGER * times for name in stood}
    return {"limits": raised} if raised else None


def _retried(turn: Turn, last: Snapshot) -> ExhaustedLimit | None:
    """An error that may heal, which the policy did not retry, or not often enough. Of a call that was only observed,
    its program decides: no policy of ours was asked."""
    failure = last.failure
    if last.observed or failure is None or failure.provider is None or no_retry_helps(last):
        return None
    if failure.provider.kind in OF_CONNECTION:  # a policy may retry some of them, and would be answered the same
        return None
    handled = last.error_policy.configured(failure.type)
    if handled is ErrorHandlingDecision.IGNORE or resource_of(last) not in (None, "max_retries"):
        return None
    key = f"on_{failure.type}_error"
    retry = {"error_policy": {key: "retry"}} if handled is ErrorHandlingDecision.STOP else None
    return ExhaustedLimit(turn, last, "max_retries", together=retry)
